// SPDX-License-Identifier: MIT
// How a solve ended, and what it cost; serves the stage ode.
#pragma once

#include <string_view>

#include "cordage/core/index.hpp"

namespace cordage {

/// How a solve ended. Only after `success` can its trajectory be read.
enum class solve_status {
    success,            ///< the whole interval is solved
    max_steps_reached,  ///< as many steps were tried as allowed
    step_too_small,     ///< the tolerance needs steps below the resolution of t: the solution likely blows up here
    non_finite,         ///< the field or the state became infinite or NaN
};

/// The status by its name, for messages.
constexpr std::string_view name_of(solve_status status) {
    switch (status) {
        case solve_status::success:
            return "success";
        case solve_status::max_steps_reached:
            return "max_steps_reached";
        case solve_status::step_too_small:
            return "step_too_small";
        case solve_status::non_finite:
            return "non_finite";
    }
    return "unknown";
}

/// What a solve cost.
struct solve_statistics {
    index_t evaluations = 0;  ///< calls of the field
    index_t accepted = 0;     ///< steps kept
    index_t rejected = 0;     ///< steps tried and dropped

    friend bool operator==(const solve_statistics&, const solve_statistics&) = default;
};

}  // namespace cordage
