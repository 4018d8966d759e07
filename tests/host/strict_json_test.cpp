// SPDX-License-Identifier: MIT
#include "cordage/host/strict_json.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace cordage;

namespace {

/// The error of a text, or "" if it is accepted.
std::string error_of(const std::string& text, const json_limits& limits = {}) {
    try {
        strict_json("test", text, limits);
    } catch (const value_error& why) {
        return why.what();
    }
    return "";
}

bool says(const std::string& text, const std::string& part) { return error_of(text).find(part) != std::string::npos; }

}  // namespace

TEST_CASE("host/strict_json: what is JSON is read, whole and exact") {
    CHECK(strict_json("test", R"({"a": [1, 2.5e-3, null, true], "b": {"a": "x"}})")["a"][1] == 2.5e-3);
    CHECK(strict_json("test", "1e308") == 1e308);
    CHECK(strict_json("test", "123456789012345678901234567890") == 123456789012345678901234567890.0);
    CHECK(error_of(R"([{"a": 1}, {"a": 1}])").empty());  // the same key in two objects
}

TEST_CASE("host/strict_json: a text that ends too early, or goes on, is no JSON") {
    const std::string whole = R"({"rope_scaling": {"type": "yarn", "factor": 4.0}, "x": [1, 2]})";
    CHECK(error_of(whole).empty());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        CHECK(error_of(whole.substr(0, size)).find("test: the text must be JSON; ") == 0);
    }
    CHECK(says(whole + "}", "the text must be JSON"));
    CHECK(says("{\"a\": 1,}", "line 1, column"));
}

TEST_CASE("host/strict_json: NaN, Infinity and numbers beyond double are no JSON") {
    for (const char* text : {"NaN", "[NaN]", "Infinity", "-Infinity", "nan", "1e999", "[-1e400]", "0x10", "+1", ".5"}) {
        CAPTURE(text);
        CHECK(says(text, "the text must be JSON"));
    }
}

TEST_CASE("host/strict_json: a key twice in one object is an error that names it, at any depth") {
    CHECK(error_of(R"({"a": 1, "b": 2, "a": 1})") == "test: key \"a\" must occur once in its object");
    CHECK(says(R"([{"x": {"factor": 1, "factor": 8}}])", "key \"factor\" must occur once"));
    CHECK(says("{\"a\": 1, \"\\u0061\": 2}", "key \"a\" must occur once"));
}

TEST_CASE("host/strict_json: nesting and size are bounded before they cost anything") {
    CHECK(error_of(std::string(64, '[') + std::string(64, ']')).empty());
    CHECK(error_of(std::string(65, '[') + std::string(65, ']')) == "test: JSON must be nested at most 64 deep");
    CHECK(says(std::string(10'000'000, '['), "nested at most 64 deep"));
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    CHECK(says(objects, "nested at most 64 deep"));
    CHECK(error_of("[1, 2, 3]", {.bytes = 8, .depth = 64}) == "test: 9 bytes of JSON must be at most 8");
}

TEST_CASE("host/strict_json: text that is no UTF-8 is no JSON") {
    CHECK(says("\"\xff\xfe\"", "the text must be JSON"));
    CHECK(says(std::string("\"a\0b\"", 5), "the text must be JSON"));
}
