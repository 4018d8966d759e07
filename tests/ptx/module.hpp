// SPDX-License-Identifier: MIT
// A text of PTX: its kernels, decoded when they are first asked for, and its variables.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/global_memory.hpp"
#include "ptx/instruction.hpp"
#include "ptx/text.hpp"

namespace cordage_test::ptx {

/// Addresses of variables and parameters by name, in the window of their memory.
using symbol_table = std::unordered_map<std::string, u64>;

/// A name as C++ writes it; others unchanged.
std::string demangled(const std::string& name);

class module {
 public:
    /// @throws error  if a variable's initialiser is not a list of numbers
    explicit module(std::string text);

    static module of_file(const std::string& path);

    /// Full name of the only kernel whose demangled name begins with `name`; "" if there is none.
    /// @throws error  if there are several
    std::string find(const std::string& name) const;
    /// @param name    full, or as find takes it
    /// @throws error  naming the kernels, if not one has the name; naming the line, if it has an unknown instruction
    const kernel_code& kernel(const std::string& name);
    /// Memory of the variables.
    const std::vector<memory_block>& variables() const { return variables_; }
    /// Sets a variable of 4 bytes, if there is one of this name.
    void set(const std::string& variable, u32 value);

 private:
    struct entry {
        std::string demangled;
        std::vector<statement> parameters;
        u64 most_threads;
        std::size_t at;  // of its body
        int line;
    };
    void add_entry(const statement& header, const statement_reader& reader);
    void add_variable(const statement& s);

    std::string text_;
    std::map<std::string, entry> entries_;
    symbol_table globals_;
    std::vector<declaration> shared_;
    std::vector<memory_block> variables_;
    std::vector<std::unique_ptr<std::byte, void (*)(void*)>> owned_;
    std::map<std::string, kernel_code> decoded_;
};

}  // namespace cordage_test::ptx
