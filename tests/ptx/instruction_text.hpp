// SPDX-License-Identifier: MIT
// One instruction's text, taken apart.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/text.hpp"

namespace cordage_test::ptx {

/// "ld.global.v2.f32 {%f1, %f2}, [%rd1+8]", without its guard.
struct instruction_text {
    std::string opcode;              // "ld.global.v2.f32"
    std::vector<std::string> words;  // of the opcode
    std::vector<std::string> operands;
    std::string text;  // with the guard
    int line;

    const std::string& kind() const { return words.front(); }
    const std::string& type() const { return words.back(); }
    bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
    bool has_any(std::initializer_list<const char*> all) const {
        return std::ranges::any_of(all, [&](const char* word) { return has(word); });
    }
    /// The first of these words that the opcode has, or "".
    std::string one_of(std::initializer_list<const char*> all) const {
        const auto found = std::ranges::find_if(all, [&](const char* word) { return has(word); });
        return found == all.end() ? "" : *found;
    }
    [[noreturn]] void unknown() const { fail_at(line, "unknown instruction", text); }
    void need_operands(std::size_t least, std::size_t most) const {
        if (operands.size() < least || operands.size() > most) fail_at(line, "wrong number of operands", text);
    }
};

/// Elements of "{%f1, %f2}"; others alone.
inline std::vector<std::string> elements_of(const std::string& vector) {
    if (!vector.starts_with('{')) return {vector};
    return split(std::string_view(vector).substr(1, vector.size() - 2), ',');
}

}  // namespace cordage_test::ptx
