// SPDX-License-Identifier: MIT
#include "cordage/host/json_object.hpp"

#include <doctest/doctest.h>

using namespace cordage;

TEST_CASE("host/json_object: values are read by type, and null is not given") {
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

TEST_CASE("host/json_object: a wrong type is an error with the place, the key, the value and what it must be") {
    const auto json = nlohmann::json::parse(
        R"({"x": "four", "n": 2.5, "neg": -1, "huge": 1e300, "b": 1, "t": 7, "v": [1, "a"], "o": {"a": 1}})");
    const json_object object(json, "rope_scaling");
    CHECK_THROWS_WITH_AS(object.number("x"), "rope_scaling: x \"four\" must be a number", value_error);
    CHECK_THROWS_WITH_AS(object.flag("b"), "rope_scaling: b 1 must be true or false", value_error);
    CHECK_THROWS_WITH_AS(object.count("n"), "rope_scaling: n 2.5 must be a whole number of 1 ... 2^31", value_error);
    CHECK_THROWS_AS(object.count("neg"), value_error);
    CHECK_THROWS_AS(object.count("huge"), value_error);
    CHECK_THROWS_WITH_AS(object.text("t"), "rope_scaling: t 7 must be a text", value_error);
    CHECK_THROWS_WITH_AS(object.numbers("v"), "rope_scaling: v \"a\" must be a list of numbers only", value_error);
    CHECK_THROWS_WITH_AS(object.numbers("o"), "rope_scaling: o {...} must be a list of numbers", value_error);
    CHECK_THROWS_WITH_AS(object.required("absent", "type 'x'"), "rope_scaling: absent must be given for type 'x'",
                         value_error);
    CHECK_THROWS_WITH_AS(json_object(json["v"], "config"), "config: [...] must be an object", value_error);
}

TEST_CASE("host/json_object: long values are shortened in errors") {
    const nlohmann::json json{{"x", std::string(10'000, 'a')}};
    try {
        json_object(json, "config").number("x");
        FAIL("a text must not be a number");
    } catch (const value_error& why) {
        CHECK(std::string(why.what()).size() < 100);
    }
}

TEST_CASE("host/json_object: the nearest known key is suggested, and nothing where none is near") {
    CHECK(edit_distance("beta_fast", "beta_fst") == 1);
    CHECK(edit_distance("", "abc") == 3);
    CHECK(edit_distance("kitten", "sitting") == 3);
    constexpr std::string_view known[] = {"beta_fast", "beta_slow", "factor"};
    CHECK(nearest_known("beta_fst", known) == "; did you mean 'beta_fast'?");
    CHECK(nearest_known("betaslow", known) == "; did you mean 'beta_slow'?");
    CHECK(nearest_known("temperature", known).empty());
}

TEST_CASE("host/json_object: doubts are thrown, or kept by a lenient reader") {
    complaints strict(false), lenient(true);
    CHECK_THROWS_WITH_AS(strict.add("doubtful"), "doubtful", value_error);
    lenient.add("one");
    lenient.add("two");
    CHECK(lenient.warnings() == std::vector<std::string>{"one", "two"});
}
