// SPDX-License-Identifier: MIT
#include "cordage/models/config/json.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>

#include "models/checkpoint/written_files.hpp"

using namespace cordage;
using namespace cordage::json_detail;

// Text -> JSON ----------------------------------------------------------------------------------------------------

TEST_CASE("models/config/json: JSON is read, also with the same key in two objects") {
    const auto json = parse_strict_json("test", R"({"a": {"x": 1, "y": [{"x": 2}, {"x": 3}]}, "x": null})");
    CHECK(json["a"]["y"][1]["x"] == 3);
    CHECK(parse_strict_json("test", "[]").empty());
}

TEST_CASE("models/config/json: a key that occurs twice in its object is named") {
    CHECK_THROWS_WITH_AS(parse_strict_json("test", R"({"a": 1, "b": {"a": 2}, "a": 3})"),
                         "test: key 'a' must occur once in its object", value_error);
    CHECK_THROWS_AS(parse_strict_json("test", R"({"b": [{"a": 2, "a": 2}]})"), value_error);
    CHECK_THROWS_WITH_AS(parse_strict_json("test", "{\"\\u0001\xc3\xa4\": 1, \"\\u0001\xc3\xa4\": 1}"),
                         "test: key '?\?\?' must occur once in its object", value_error);
}

TEST_CASE("models/config/json: nesting has a bottom, however deep the file is") {
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

TEST_CASE("models/config/json: invalid JSON is rejected with its place") {
    CHECK_THROWS_WITH_AS(parse_strict_json("test", R"({"a": NaN})"),
                         "test: text must be JSON; it is invalid at "
                         "byte 7",
                         value_error);
    for (const char* text : {"", "{", "{\"a\" 1}", "[1,]", "Infinity", "[1e999]", "{'a': 1}", "{} {}", "\"\xff\""}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_strict_json("test", text), value_error);
    }
}

TEST_CASE("models/config/json: values are counted, since each takes many times its bytes") {
    std::string many = "[0";
    for (std::size_t i = 2; i < most_json_values; ++i) many += ",0";  // the array is one more
    CHECK_NOTHROW(parse_strict_json("test", many + "]"));
    CHECK_THROWS_WITH_AS(parse_strict_json("test", many + ",0]"), "test: JSON must have at most 4194304 values",
                         value_error);
}

TEST_CASE("models/config/json: the time to read a text is linear in it") {
    const auto seconds_of = [](int count, char open, char close) {
        std::string text{open};
        for (int i = 0; i < count; ++i) {
            if (i > 0) text += ',';
            if (open == '{') text += '"' + std::to_string(i) + "\":";
            text += "{}";
        }
        text += close;
        const std::clock_t begin = std::clock();
        CHECK(json_detail::parse_strict_json("test", text).size() == static_cast<std::size_t>(count));
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    // 8 times the members take some 8 times as long, where nlohmann's callback parser takes 64 times.
    for (const auto& [open, close] : {std::pair{'{', '}'}, std::pair{'[', ']'}}) {
        double few = 1.0;
        for (int round = 0; round < 3; ++round) few = std::min(few, seconds_of(10000, open, close));
        CHECK(seconds_of(80000, open, close) < 24.0 * few + 0.1);
    }
}

TEST_CASE("models/config/json: the text of a file, and nothing if it is not a regular file") {
    const cordage_test::temporary_folder folder;
    const auto path = folder.write("a.json", "{}\n");
    CHECK(text_of_file(path, 3) == "{}\n");
    CHECK(!text_of_file(path, 2));
    CHECK(text_of_file(folder.write("empty", ""), 0) == "");
    CHECK(!text_of_file(folder.path(), 100));
    CHECK(!text_of_file(folder.path() / "absent", 100));
    CHECK(!text_of_file("/proc/self/maps", 100));  // reports size 0, but is not empty
    // Opening a pipe without a writer once blocked.
    const auto pipe = folder.path() / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(!text_of_file(pipe, 100));
    const auto link = folder.path() / "link";  // a link, as in caches of models
    std::filesystem::create_symlink(path, link);
    CHECK(text_of_file(link, 3) == "{}\n");
}

// Objects of settings ---------------------------------------------------------------------------------------------

TEST_CASE("models/config/json: values are read by type, and null is not given") {
    const auto json = nlohmann::json::parse(
        R"({"x": 1.5, "n": 3, "m": 4096.0, "b": false, "t": "yarn", "v": [1, 2.5], "z": null, "e": []})");
    const json_object object(json, "place");
    CHECK(object.number("x") == 1.5);
    CHECK(object.number("n") == 3.0);
    CHECK(object.count("n") == 3);
    CHECK(object.count("m") == 4096);
    CHECK(object.flag("b") == false);
    CHECK(object.text("t") == "yarn");
    CHECK(object.numbers("v") == std::vector<double>{1.0, 2.5});
    CHECK(object.numbers("e")->empty());
    CHECK(!object.number("z"));
    CHECK(!object.text("absent"));
    CHECK(object.required("x", "something") == 1.5);
}

TEST_CASE("models/config/json: a wrong type is an error with the place, the key, the value and the expected type") {
    const auto json = nlohmann::json::parse(
        R"({"x": "four", "n": 2.5, "neg": -1, "huge": 1e300, "b": 1, "t": 7, "v": [1, "a"], "o": {"a": 1}})");
    const json_object object(json, "rope_scaling");
    CHECK_THROWS_WITH_AS(object.number("x"), "rope_scaling: x \"four\" must be a number", value_error);
    CHECK_THROWS_WITH_AS(object.flag("b"), "rope_scaling: b 1 must be true or false", value_error);
    CHECK_THROWS_WITH_AS(object.count("n"), "rope_scaling: n 2.5 must be an integer in 1 ... 2^31", value_error);
    CHECK_THROWS_AS(object.count("neg"), value_error);
    CHECK_THROWS_AS(object.count("huge"), value_error);
    CHECK_THROWS_WITH_AS(object.text("t"), "rope_scaling: t 7 must be a string", value_error);
    CHECK_THROWS_WITH_AS(object.numbers("v"), "rope_scaling: v \"a\" must be a list of numbers only", value_error);
    CHECK_THROWS_WITH_AS(object.numbers("o"), "rope_scaling: o {...} must be a list of numbers", value_error);
    CHECK_THROWS_WITH_AS(object.required("absent", "type 'x'"), "rope_scaling: absent must be given for type 'x'",
                         value_error);
    CHECK_THROWS_WITH_AS(json_object(json["v"], "config"), "config: [...] must be an object", value_error);
}

TEST_CASE("models/config/json: long values are shortened in errors") {
    const nlohmann::json json{{"x", std::string(10'000, 'a')}};
    try {
        json_object(json, "config").number("x");
        FAIL("a text must not be a number");
    } catch (const value_error& why) {
        CHECK(std::string(why.what()).size() < 100);
    }
}

TEST_CASE("models/config/json: the nearest known key is suggested, and nothing where none is near") {
    CHECK(edit_distance_up_to(2, "beta_fast", "beta_fst") == 1);
    CHECK(edit_distance_up_to(3, "", "abc") == 3);
    CHECK(edit_distance_up_to(3, "kitten", "sitting") == 3);
    CHECK(edit_distance_up_to(2, "kitten", "sitting") > 2);
    CHECK(edit_distance_up_to(2, "xxxxxx", "sitting") > 2);
    constexpr std::string_view known[] = {"beta_fast", "beta_slow", "factor"};
    CHECK(nearest_known("beta_fst", known) == "; did you mean 'beta_fast'?");
    CHECK(nearest_known("betaslow", known) == "; did you mean 'beta_slow'?");
    CHECK(nearest_known("temperature", known).empty());
    CHECK(nearest_known(std::string(1 << 24, 'b'), known).empty());  // no time is spent on it
}

TEST_CASE("models/config/json: doubts are thrown, or kept by a lenient reader, other objects' too") {
    const auto json = nlohmann::json::parse(R"({"x": {"a": 1}})");
    CHECK_THROWS_WITH_AS(json_object(json, "config").doubt({"x ", 1, " is doubtful"}), "config: x 1 is doubtful",
                         value_error);
    std::vector<std::string> warnings;
    const json_object lenient(json, "config", &warnings);
    lenient.doubt({"one"});
    lenient.part("x").doubt({"two"});
    lenient.other(json["x"], "there").doubt({"three"});
    CHECK(warnings == std::vector<std::string>{"config: one", "x: two", "there: three"});
    warnings.resize(most_warnings - 1);
    lenient.doubt({"one"});
    CHECK_THROWS_WITH_AS(lenient.doubt({"one more"}), "config: the file must have at most 1000 doubtful settings",
                         value_error);
}

TEST_CASE("models/config/json: the part of a key is an object, or empty where there is none") {
    const nlohmann::json root = {{"object", {{"a", 1}}}, {"nothing", nullptr}, {"number", 7}, {"list", {1, 2}}};
    const json_detail::json_object object(root, "config");
    CHECK(object.part("object").number("a") == 1.0);
    CHECK(object.part("nothing").json().empty());
    CHECK(object.part("absent").json().empty());
    CHECK_THROWS_WITH_AS(object.part("number"), "number: 7 must be an object", value_error);
    CHECK_THROWS_WITH_AS(object.part("list"), "list: [...] must be an object", value_error);
}
