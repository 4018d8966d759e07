// SPDX-License-Identifier: MIT
// The kinds of golden cases that are known, and who checks each; one list for each golden file.
#pragma once

#include <span>

#include "report.hpp"

namespace conformance {

/// What cases of one kind are and how to check one.
struct kind {
    const char* name;
    void (*check)(const value& one_case, report& result) = nullptr;  ///< absent: cordage cannot do this yet
    const char* marked_by = nullptr;                                 ///< a field that tells kinds of one name apart
};

std::span<const kind> angles_kinds();
std::span<const kind> baselines_kinds();
std::span<const kind> clex_paper_kinds();
std::span<const kind> clex_released_kinds();
std::span<const kind> diffusers_kinds();
std::span<const kind> lerope_kinds();
std::span<const kind> multimodal_kinds();
std::span<const kind> policies_kinds();
std::span<const kind> rope_apply_kinds();
std::span<const kind> tower_kinds();

}  // namespace conformance
