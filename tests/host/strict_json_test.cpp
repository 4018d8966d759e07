// SPDX-License-Identifier: MIT
#include "cordage/host/strict_json.hpp"

#include <doctest/doctest.h>

#include "host/written_files.hpp"

using namespace cordage;

TEST_CASE("host/strict_json: what is JSON is read, the same key in two objects included") {
    const auto json = parse_strict_json("test", R"({"a": {"x": 1, "y": [{"x": 2}, {"x": 3}]}, "x": null})");
    CHECK(json["a"]["y"][1]["x"] == 3);
    CHECK(parse_strict_json("test", "[]").empty());
}

TEST_CASE("host/strict_json: a key that occurs twice in its object is named") {
    CHECK_THROWS_WITH_AS(parse_strict_json("test", R"({"a": 1, "b": {"a": 2}, "a": 3})"),
                         "test: key 'a' must occur once in its object", value_error);
    CHECK_THROWS_AS(parse_strict_json("test", R"({"b": [{"a": 2, "a": 2}]})"), value_error);
    CHECK_THROWS_WITH_AS(parse_strict_json("test", "{\"\\u0001\xc3\xa4\": 1, \"\\u0001\xc3\xa4\": 1}"),
                         "test: key '?\?\?' must occur once in its object", value_error);
}

TEST_CASE("host/strict_json: nesting has a bottom, however deep the file is") {
    const auto nested = [](std::size_t depth, const char* open, const char* close) {
        std::string text;
        for (std::size_t i = 0; i < depth; ++i) text += open;
        for (std::size_t i = 0; i < depth; ++i) text += close;
        return text;
    };
    CHECK_NOTHROW(parse_strict_json("test", nested(deepest_json, "[", "]")));
    CHECK_THROWS_WITH_AS(parse_strict_json("test", nested(deepest_json + 1, "[", "]")),
                         "test: JSON nested 65 deep must be at most 64 deep", value_error);
    CHECK_THROWS_AS(parse_strict_json("test", nested(5'000'000, "[", "")), value_error);
    CHECK_THROWS_AS(parse_strict_json("test", nested(1'000'000, "{\"a\":", "}")), value_error);
}

TEST_CASE("host/strict_json: what is not JSON is refused with its place") {
    CHECK_THROWS_WITH_AS(parse_strict_json("test", R"({"a": NaN})"), "test: text must be JSON, and is not at byte 7",
                         value_error);
    for (const char* text : {"", "{", "{\"a\" 1}", "[1,]", "Infinity", "[1e999]", "{'a': 1}", "{} {}", "\"\xff\""}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_strict_json("test", text), value_error);
    }
}

TEST_CASE("host/strict_json: a file is read whole, up to the size that is allowed") {
    const cordage_test::temporary_folder folder;
    const auto path = folder.write("a.json", "[1, 2]");
    CHECK(text_of_file(path, 6) == "[1, 2]");
    CHECK_FALSE(text_of_file(path, 5));
    CHECK_FALSE(text_of_file(folder.path() / "absent.json", 6));
}

TEST_CASE("host/strict_json: a name out of a file is cut and made printable in messages") {
    CHECK(in_quotes("model.layers") == "'model.layers'");
    CHECK(in_quotes(std::string("a\0b\nc", 5)) == "'a?b?c'");
    CHECK(in_quotes(std::string(1000, 'x')).size() == 80 + 5);
}
