// SPDX-License-Identifier: MIT
// The known kinds of golden cases and their checks; one list for each golden file.
#pragma once

#include <span>

#include "report.hpp"

namespace conformance {

/// A kind of cases and its check.
struct kind {
    const char* name;
    void (*check)(const value& one_case, report& result) = nullptr;  ///< null: not supported by cordage
    const char* marked_by = nullptr;                                 ///< a field that distinguishes kinds of one name
};

std::span<const kind> angles_kinds();
std::span<const kind> baselines_kinds();
std::span<const kind> clex_paper_kinds();
std::span<const kind> clex_released_kinds();
std::span<const kind> diffusers_kinds();
std::span<const kind> lerope_kinds();
std::span<const kind> multimodal_kinds();
std::span<const kind> policies_kinds();
std::span<const kind> released_kinds();
std::span<const kind> rope_apply_kinds();
std::span<const kind> tower_kinds();

}  // namespace conformance
