// SPDX-License-Identifier: MIT
// A decoded instruction, and the kernel that is made of them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ptx/types.hpp"

namespace cordage_test::ptx {

struct instruction;
struct warp;

/// Does what the instruction does, for the lanes whose bits are set.
using action = void (*)(const instruction&, warp&, u32 lanes);

/// How lanes go on behind an instruction: `together` only when all lanes of its mask are there.
enum class flow : u8 { plain, branch, exit, trap, barrier, together };
enum class space : u8 { generic, global, shared, param, local };

/// Addresses of these spaces have the window's number in their highest byte; those of global memory are the host's.
inline constexpr u64 shared_window = u64{1} << 56, param_window = u64{2} << 56, local_window = u64{3} << 56;

inline constexpr u32 no_operand = ~0u;  // "_", or none
/// Where operands with a meaning of their own stand; others are in the order of the text.
inline constexpr int address_operand = 4, members_operand = 4, second_result = 5;

struct instruction {
    action run = nullptr;
    flow kind = flow::plain;
    bool is_negated = false;                  // runs for lanes whose guard is false
    bool is_inverted = false;                 // a vote for the opposite
    u32 guard = no_operand;                   // a predicate
    u32 target = 0;                           // of a branch
    std::array<u32, 6> operands{};            // offsets of registers in a warp's file, or numbers of predicates
    std::array<u8, 6> widths{};               // bytes of the registers, where they may differ from the type's
    s64 offset = 0;                           // of an address
    ptx::space memory = space::generic;       // of an address
    u8 elements = 1;                          // of a vector
    u32 used_bytes = ~0u;                     // of a vector: a bit each
    char variant = 0;                         // of a shuffle, a vote or a rounding
    bool saturates = false, flushes = false;  // of a conversion
    bool may_contract = false;                // a product or a sum without .rn
    u32 number = 0;                           // in its kernel
    int line = 0;
};

struct parameter {
    u32 offset;
    u32 size;
};

/// A register that has one value: an operand that is a number. Of width 0 it is a predicate.
struct constant {
    u32 offset;
    u8 width;
    u64 value;
};

/// The registers of special names lie first in a warp's file, 128 bytes each.
inline constexpr std::array special_registers{
    "%tid.x",   "%tid.y",       "%tid.z",       "%ntid.x",      "%ntid.y",      "%ntid.z",     "%ctaid.x",
    "%ctaid.y", "%ctaid.z",     "%nctaid.x",    "%nctaid.y",    "%nctaid.z",    "%laneid",     "%warpid",
    "%nwarpid", "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge"};

inline constexpr u32 block_index = 6;  // where %ctaid.x is

struct kernel_code {
    std::string name;  // demangled
    std::vector<instruction> code;
    std::vector<std::string> text;  // of each instruction
    std::vector<parameter> parameters;
    std::vector<constant> constants;
    u32 parameter_bytes = 0;
    u32 register_bytes = 0;  // of a warp
    u32 predicates = 0;
    u32 shared_bytes = 0;  // without those of the launch, which begin behind
    u32 local_bytes = 0;   // of a thread
    u64 most_threads = 1024;
};

}  // namespace cordage_test::ptx
