// SPDX-License-Identifier: MIT
// The names that a kernel's body knows, and where they are in a warp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/instruction.hpp"
#include "ptx/module.hpp"
#include "ptx/text.hpp"

namespace cordage_test::ptx {

class kernel_names {
 public:
    kernel_names(kernel_code& out, symbol_table symbols);

    void open_scope();
    void close_scope();
    /// A statement that begins with ".reg", ".shared" or ".local".
    void declare(const statement& s);
    /// A variable of shared memory. Those without a size are the launch's memory, behind all others.
    void add_shared(const declaration& d);

    struct found_register {
        u32 offset;
        u8 width;  // 0: a predicate
    };
    const found_register* find_register(const std::string& name);
    /// A register, special register, symbol or number, of this width. @throws error
    u32 operand(const std::string& name, u8 width, int line);
    /// As operand, a register of any width.
    u32 operand_of_any_width(const std::string& name, u8& width, u8 width_of_number, int line);
    u32 predicate(const std::string& name, int line);

 private:
    struct declared {
        u8 width;
        u32 count;  // of numbered registers
    };
    struct scope {
        u32 number;
        std::unordered_map<std::string, declared> one, numbered;
    };
    u32 constant_of(u8 width, u64 value);

    kernel_code& out_;
    symbol_table symbols_;
    std::set<std::string> of_launch_;
    bool is_shared_complete_ = false;  // the address of the launch's memory was used
    std::vector<scope> scopes_;
    u32 scopes_so_far_ = 0;
    std::unordered_map<std::string, found_register> registers_;
    std::map<std::pair<u8, u64>, u32> constants_;
};

}  // namespace cordage_test::ptx
