// SPDX-License-Identifier: MIT
// cvt from one number to one number. cvt of pairs is in packed_conversions.cpp.
#pragma once

#include <string>

#include "ptx/instruction.hpp"

namespace cordage_test::ptx {

/// How a float is rounded to an integer: an instruction's `variant`, 0 for not at all.
inline constexpr char to_nearest = 'n', to_zero = 'z', downwards = 'd', upwards = 'u';

/// cvt.to.from, types by PTX's names; null if there is none. Uses the instruction's widths, variant, saturates and
/// flushes.
action conversion(const std::string& to, const std::string& from);

}  // namespace cordage_test::ptx
