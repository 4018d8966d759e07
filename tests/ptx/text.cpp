// SPDX-License-Identifier: MIT
#include "ptx/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace cordage_test::ptx {

namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; }
bool is_name(const std::string& text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_in_name); }

// These end with their line.
bool is_line(const std::string& text) {
    constexpr std::array<std::string_view, 5> all{".version", ".target", ".address_size", ".loc ", ".file "};
    return std::ranges::any_of(all, [&](std::string_view first) { return text.starts_with(first); });
}

}  // namespace

void fail_at(int line, const std::string& what, std::string_view text) {
    throw error("PTX, line " + std::to_string(line) + ": " + what + ": " + std::string(text));
}

bool statement_reader::skip_comment() {
    const std::string_view rest = text_.substr(at_, 2);
    if (rest != "//" && rest != "/*") return false;
    const char* const end = rest == "//" ? "\n" : "*/";
    const std::size_t found = std::min(text_.find(end, at_ + 2), text_.size());
    line_ += static_cast<int>(std::count(text_.begin() + at_, text_.begin() + found, '\n'));
    at_ = rest == "//" ? found : std::min(found + 2, text_.size());
    return true;
}

bool statement_reader::next(statement& out) {
    std::string text;
    const auto end = [&](std::size_t next) {
        at_ = next;
        out.text = trimmed(text);
        return true;
    };
    int depth = 0;
    while (at_ < text_.size()) {
        if (skip_comment()) continue;
        const char c = text_[at_];
        if (text.empty() && !is_space(c)) out.line = line_;
        if (text.empty() && (c == '{' || c == '}')) {
            text = c;
            return end(at_ + 1);
        }
        if (c == '\n' && is_line(text)) return end(at_);
        if (c == '\n') ++line_;
        if (c == '{' && depth == 0 && text.starts_with('.') && text.find('=') == text.npos) return end(at_);
        if (c == '{' || c == '(') ++depth;
        if (c == '}' || c == ')') --depth;
        if (c == ';' && depth == 0) return end(at_ + 1);
        if (!text.empty() || !is_space(c)) text += is_space(c) ? ' ' : c;
        ++at_;
        if (c == ':' && is_name(text.substr(0, text.size() - 1))) return end(at_);
    }
    return false;
}

void statement_reader::skip_block() {
    int depth = 0;
    while (at_ < text_.size()) {
        if (skip_comment()) continue;
        const char c = text_[at_];
        if (depth == 0 && c != '{' && !is_space(c)) return;
        ++at_;
        if (c == '\n') ++line_;
        if (c == '{') ++depth;
        if (c == '}' && --depth == 0) return;
    }
}

std::string trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return std::string(text);
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    int depth = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '{' || c == '[' || c == '(') ++depth;
        if (c == '}' || c == ']' || c == ')') --depth;
        if (c != separator || depth != 0) continue;
        parts.push_back(trimmed(text.substr(first, i - first)));
        first = i + 1;
    }
    if (const std::string last = trimmed(text.substr(first)); !last.empty() || !parts.empty()) parts.push_back(last);
    return parts;
}

u64 number_of(const std::string& text, int line) {
    if (text.size() > 2 && text[0] == '0' && std::string_view("fFdD").find(text[1]) != std::string_view::npos) {
        return std::strtoull(text.c_str() + 2, nullptr, 16);
    }
    char* end = nullptr;
    const bool is_negative = text.starts_with('-');
    const u64 number =
        is_negative ? static_cast<u64>(std::strtoll(text.c_str(), &end, 0)) : std::strtoull(text.c_str(), &end, 0);
    if (text.empty() || end == text.c_str() || (*end != '\0' && *end != 'U')) fail_at(line, "not a number", text);
    return number;
}

u32 bytes_of(std::string_view type, int line) {
    const std::string bits(type.substr(std::min(type.find_first_of("0123456789"), type.size())));
    for (const u32 bytes : {1u, 2u, 4u, 8u}) {
        if (bits == std::to_string(8 * bytes)) return bytes;
    }
    fail_at(line, "unknown type", type);
}

declaration declaration_of(const statement& s) {
    declaration d;
    const std::size_t equals = std::min(s.text.find('='), s.text.size());
    if (equals < s.text.size()) d.values = trimmed(s.text.substr(equals + 1));
    std::istringstream words(s.text.substr(0, equals));
    std::string word, name;
    while (words >> word) {
        if (word == ".align") {
            words >> d.align;
        } else if (word == ".global" || word == ".const" || word == ".shared" || word == ".local" || word == ".param") {
            if (d.space.empty()) d.space = word.substr(1);  // a parameter may say which memory it points to
        } else if (word[0] != '.') {
            name += word;
        } else if (word.find_first_of("0123456789") != word.npos) {
            d.type = word.substr(1);
        }
    }
    u32 count = 1;
    const std::size_t bracket = std::min(name.find('['), name.size());
    for (std::size_t at = bracket; at < name.size(); at = std::min(name.find('[', at + 1), name.size())) {
        count *= static_cast<u32>(std::strtoul(name.c_str() + at + 1, nullptr, 0));
    }
    d.name = name.substr(0, bracket);
    d.size = count * bytes_of(d.type, s.line);
    d.align = std::max(d.align, bytes_of(d.type, s.line));
    return d;
}

}  // namespace cordage_test::ptx
