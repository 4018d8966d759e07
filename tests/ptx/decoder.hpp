// SPDX-License-Identifier: MIT
// From the body of a kernel to instructions: registers become offsets in a warp's file, labels numbers.
#pragma once

#include "ptx/instruction_text.hpp"
#include "ptx/kernel_names.hpp"

namespace cordage_test::ptx {

/// Decodes the statements of a body, which begins at the reader's place, into `out`.
/// @throws error  naming the line of the first unknown instruction
void decode_body(statement_reader& body, kernel_names& names, kernel_code& out);

/// Decodes the instruction if it is one of memory_instructions.hpp or lane_instructions.hpp.
bool decode_memory(instruction& i, const instruction_text& p, kernel_names& names);
bool decode_between_lanes(instruction& i, const instruction_text& p, kernel_names& names);

}  // namespace cordage_test::ptx
