// SPDX-License-Identifier: MIT
// ld, st, atom and red; and mov between a register and several smaller ones.
#pragma once

#include <string>

#include "ptx/instruction.hpp"

namespace cordage_test::ptx {

/// Of elements of a type, as "f32" or "b64", in the operands 0 to 3.
action load_of(const std::string& type, int line);
action store_of(const std::string& type, int line);

/// Operands: old value, none, operand, second operand of "cas". Null if there is no such operation.
action atomic_of(const std::string& operation, const std::string& type);

/// Operands: the large register, then its parts, lowest first.
void pack(const instruction& i, warp& w, u32 lanes);
void unpack(const instruction& i, warp& w, u32 lanes);

}  // namespace cordage_test::ptx
