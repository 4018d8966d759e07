// SPDX-License-Identifier: MIT
// The errors that entry points throw, and their messages; serves all stages.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cordage/core/bits.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// Base class of all errors that the library throws. The text reads "function: field value must be what was expected".
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A number, name or setting outside its range.
struct value_error : error {
    using error::error;
};

/// Sizes, strides or views that do not fit each other.
struct shape_error : error {
    using error::error;
};

/// The decimal text of a number with the fewest significant digits, from `digits` on, that reads back as the same
/// number: 0.1, not 0.10000000000000001.
template <std::floating_point T>
std::string digits_of(T number, int digits = 15) {
    char text[32];
    for (;; ++digits) {
        char* const end = std::to_chars(text, text + 32, number, std::chars_format::general, digits).ptr;
        T read = 0;
        std::from_chars(text, end, read);
        if (digits == 17 || read == number) return std::string(text, end);
    }
}

/// A view of one part of a message: a text, a number or an address. One type for all parts, because a template
/// instantiated for every combination of parts would dominate the compile time of the library (docs/performance.md).
class message_part {
 public:
    message_part(const char* text) : text_(text) {}
    message_part(const char& letter) : text_(&letter, 1) {}
    message_part(std::string_view text) : text_(text) {}
    message_part(const std::string& text) : text_(text) {}
    message_part(const void* address) : kind_(kind::address), natural_(reinterpret_cast<std::uintptr_t>(address)) {}
    message_part(double number) : kind_(kind::real), real_(number) {}
    message_part(float number) : kind_(kind::single), real_(number) {}
    message_part(std::signed_integral auto number) : kind_(kind::whole), whole_(number) {}
    message_part(std::unsigned_integral auto number) : kind_(kind::natural), natural_(number) {}

    /// The part as text, independent of the host's locale: 4096, 0.1, 0x7ffe10.
    std::string text() const {
        if (kind_ == kind::text) return std::string(text_);
        if (kind_ == kind::real) return digits_of(real_);
        if (kind_ == kind::single) return digits_of(static_cast<float>(real_), 6);
        if (kind_ == kind::whole) return std::to_string(whole_);
        if (kind_ == kind::natural || natural_ == 0) return std::to_string(natural_);
        char digits[16];
        return "0x" + std::string(digits, std::to_chars(digits, digits + 16, natural_, 16).ptr);
    }

 private:
    enum class kind { text, address, real, single, whole, natural } kind_ = kind::text;
    union {
        std::string_view text_;
        double real_;
        long long whole_;
        unsigned long long natural_;
    };
};

/// Joins the parts into one message.
inline std::string joined(std::initializer_list<message_part> parts) {
    std::string all;
    for (const message_part& part : parts) all += part.text();
    return all;
}
/// joined of any number of arguments: message("t ", t).
template <class... Parts>
std::string message(const Parts&... parts) {
    return joined({message_part(parts)...});
}

/// A name from a file, safe to print: at most 80 bytes, with '?' in place of bytes that are not printable ASCII.
inline std::string printable(std::string_view name) {
    constexpr std::size_t longest = 80;
    std::string text;
    for (const char c : name.substr(0, longest)) text += c >= ' ' && c <= '~' ? c : '?';
    return text + (name.size() > longest ? "..." : "");
}
/// printable(name) in single quotes.
inline std::string in_quotes(std::string_view name) { return "'" + printable(name) + "'"; }

/// Throws e. Without exceptions (-fno-exceptions) prints its message to stderr and aborts.
template <class Error>
[[noreturn]] void throw_error(const Error& e) {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    throw e;
#else
    std::fprintf(stderr, "cordage: %s\n", e.what());
    std::abort();
#endif
}
/// throw_error of an Error whose message is the joined parts.
///
///   fail<value_error>({"linear: t ", t, " must be finite and >= 1"});
template <class Error>
[[noreturn]] void fail(std::initializer_list<message_part> parts) {
    throw_error(Error(joined(parts)));
}

/// Throws value_error, "name x must be finite and expected". Not inlined, which keeps checks cheap to compile.
[[noreturn]] CORDAGE_ONE_BODY inline void fail_number(std::initializer_list<message_part> name, double x,
                                                      std::initializer_list<message_part> expected) {
    fail<value_error>({joined(name), " ", x, " must be finite", expected.size() == 0 ? "" : " and ", joined(expected)});
}

/// Throws value_error, "name x must be finite", unless x is finite.
inline void validate_finite(std::initializer_list<message_part> name, double x) {
    if (!is_finite(x)) fail_number(name, x, {});
}
/// Throws value_error, "name x must be finite and expected", unless x is finite and `holds`:
/// validate_number({"learned_table: knots[", k, "]"}, x, x > below, {"> ", below}).
inline void validate_number(std::initializer_list<message_part> name, double x, bool holds,
                            std::initializer_list<message_part> expected) {
    if (!is_finite(x) || !holds) fail_number(name, x, expected);
}
/// validate_number for a number that must be > 0.
inline void validate_positive(std::initializer_list<message_part> name, double x) {
    validate_number(name, x, x > 0.0, {"> 0"});
}

}  // namespace cordage
