// SPDX-License-Identifier: MIT
#include "cordage/host/strict_json.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

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

TEST_CASE("host/strict_json: a name out of a file is cut and made printable in messages") {
    CHECK(in_quotes("model.layers") == "'model.layers'");
    CHECK(in_quotes(std::string("a\0b\nc", 5)) == "'a?b?c'");
    CHECK(in_quotes(std::string(1000, 'x')).size() == 80 + 5);
}

TEST_CASE("host/strict_json: values are counted, since each takes many times its bytes") {
    std::string many = "[0";
    for (std::size_t i = 2; i < most_json_values; ++i) many += ",0";  // and the array is one
    CHECK_NOTHROW(parse_strict_json("test", many + "]"));
    CHECK_THROWS_WITH_AS(parse_strict_json("test", many + ",0]"), "test: JSON must have at most 4194304 values",
                         value_error);
}

TEST_CASE("host/strict_json: the text of a file, and nothing of what is none") {
    const cordage_test::temporary_folder folder;
    const auto path = folder.write("a.json", "{}\n");
    CHECK(text_of_file(path, 3) == "{}\n");
    CHECK(!text_of_file(path, 2));
    CHECK(text_of_file(folder.write("empty", ""), 0) == "");
    CHECK(!text_of_file(folder.path(), 100));
    CHECK(!text_of_file(folder.path() / "absent", 100));
    CHECK(!text_of_file("/proc/self/maps", 100));  // says that it is empty, and is not
    // A pipe that nobody writes to kept its reader waiting.
    const auto pipe = folder.path() / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(!text_of_file(pipe, 100));
    const auto link = folder.path() / "link";  // a file by another name, as caches of models have them
    std::filesystem::create_symlink(path, link);
    CHECK(text_of_file(link, 3) == "{}\n");
}
