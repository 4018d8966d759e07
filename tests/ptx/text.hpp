// SPDX-License-Identifier: MIT
// The text of PTX: its statements, and what they are made of.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/types.hpp"

namespace cordage_test::ptx {

/// The text or a launch is none that this interpreter runs.
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
[[noreturn]] void fail_at(int line, const std::string& what, std::string_view text);

/// Ends before ';'. A brace alone and a label with its colon are statements; the header of an entry ends before '{'.
struct statement {
    std::string text;
    int line = 0;
};

/// Reads the statements of a text, from `at` on, which lies in `line`.
class statement_reader {
 public:
    explicit statement_reader(std::string_view text, std::size_t at = 0, int line = 1)
        : text_(text), at_(at), line_(line) {}

    bool next(statement& out);
    /// Goes behind the block that begins here, or stays if none does.
    void skip_block();
    std::size_t at() const { return at_; }
    int line() const { return line_; }

 private:
    bool skip_comment();

    std::string_view text_;
    std::size_t at_;
    int line_;
};

std::string trimmed(std::string_view text);
/// Parts between `separator`, trimmed; what is in brackets stays in one part.
std::vector<std::string> split(std::string_view text, char separator);

/// A number as PTX writes it: 12, -1, 0x1F, 0f3F800000 and 0d3FF0000000000000 (the bits).
/// @throws error
u64 number_of(const std::string& text, int line);
/// Bytes of a type, as of "f32" or "b8".
/// @throws error
u32 bytes_of(std::string_view type, int line);

/// A variable or a parameter, as in ".shared .align 8 .b8 name[64]".
struct declaration {
    std::string space;
    std::string type;
    std::string name;
    std::string values;  // behind '='
    u32 align = 1;
    u32 size = 0;  // in bytes; 0: of the launch
};
/// @throws error
declaration declaration_of(const statement& s);

}  // namespace cordage_test::ptx
