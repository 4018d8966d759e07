// SPDX-License-Identifier: MIT
#include "cordage/core/error.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <locale>
#include <string_view>
#include <type_traits>

using namespace cordage;

namespace {
struct thousands : std::numpunct<char> {
    char do_thousands_sep() const override { return ','; }
    char do_decimal_point() const override { return '!'; }
    std::string do_grouping() const override { return "\3"; }
};
}  // namespace

TEST_CASE("core/error: value and shape errors are errors, and errors are runtime errors") {
    static_assert(std::is_base_of_v<std::runtime_error, error>);
    static_assert(std::is_base_of_v<error, value_error> && std::is_base_of_v<error, shape_error>);
    CHECK_THROWS_WITH_AS(throw shape_error("x"), "x", error);
}

TEST_CASE("core/error: a message shows numbers so that they can be typed back") {
    CHECK(message("t ", 0.1, " of ", 7) == "t 0.1 of 7");
    CHECK(message(1000000.0, " ", 1e300, " ", -0.0) == "1000000 1e+300 -0");
    CHECK(message(1.0 / 3.0, " ", 1.0 - 0x1p-53) == "0.3333333333333333 0.9999999999999999");
    CHECK(message(0.1 + 0.2) == "0.30000000000000004");
    CHECK(message(0.1f, " ", 1.0f / 3.0f, " ", 1e30f) == "0.1 0.33333334 1e+30");
    for (const double x : {1.0 / 3.0, 0.1 + 0.2, std::numeric_limits<double>::max(), 5e-324, 0x1p-1022}) {
        CHECK(std::strtod(message(x).c_str(), nullptr) == x);
    }
}

TEST_CASE("core/error: a message takes texts, whole numbers of any width, real ones and addresses") {
    const std::string text = "text";
    CHECK(message("a ", text, std::string_view(", view "), std::uint8_t{200}, " ", -1, " ", 1.5f, '!') ==
          "a text, view 200 -1 1.5!");
    CHECK(message(std::numeric_limits<std::int64_t>::min(), " ", std::numeric_limits<std::uint64_t>::max()) ==
          "-9223372036854775808 18446744073709551615");
    const void* const nowhere = nullptr;
    CHECK(message("address ", nowhere) == "address 0");
}

TEST_CASE("core/error: a name out of a file is cut and made printable in messages") {
    CHECK(in_quotes("model.layers") == "'model.layers'");
    CHECK(in_quotes(std::string("a\0b\nc", 5)) == "'a?b?c'");
    CHECK(in_quotes(std::string(1000, 'x')).size() == 80 + 5);
}

TEST_CASE("core/error: an address that is there is hexadecimal") {
    CHECK(message(reinterpret_cast<const void*>(std::uintptr_t{0x7ffe10})) == "0x7ffe10");
}

TEST_CASE("core/error: fail throws the given error type, with its parts as the message") {
    CHECK_THROWS_WITH_AS(fail<value_error>({"linear: t ", 0.5, " must be >= ", 1}), "linear: t 0.5 must be >= 1",
                         value_error);
    CHECK_THROWS_AS(fail<shape_error>({"x"}), shape_error);
}

// Once, a host with another locale printed "head_dim 4,096".
TEST_CASE("core/error: a message does not depend on the locale of the host") {
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new thousands));
    const std::string text = message("head_dim ", 4096, ", t ", 1.5);
    std::locale::global(before);
    CHECK(text == "head_dim 4096, t 1.5");
}
