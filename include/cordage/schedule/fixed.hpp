// SPDX-License-Identifier: MIT
// One t for every length; a schedule of the stage sequence length -> t.
#pragma once

#include "cordage/schedule/schedule.hpp"

namespace cordage {

/// The same t whatever the length: what "factor" means in most config files.
struct fixed {
    double t = 1.0;

    double ratio(const rope_config&, double) const { return t; }
    void validate() const { validate_ratio("fixed: t", t); }
};
static_assert(length_schedule<fixed>);

}  // namespace cordage
