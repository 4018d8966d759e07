// SPDX-License-Identifier: MIT
#include "../../benchmarks/cuda/results.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

using cordage::benchmarks::results;

TEST_CASE("benchmarks/cuda/results: the description and every row are in the JSON") {
    results found;
    found.describe("device", "a \"quoted\" name\\\n");
    CHECK(nlohmann::json::parse(found.json()).at("rows").empty());
    found.add("first", {{"seconds", 1.25e-6}, {"bytes", 335544320.0}});
    found.add("second", {{"share", std::numeric_limits<double>::infinity()}});
    const auto json = nlohmann::json::parse(found.json());
    CHECK(json.at("device") == "a \"quoted\" name\\ ");
    CHECK(json.at("rows").size() == 2);
    CHECK(json.at("rows")[0].at("name") == "first");
    CHECK(json.at("rows")[0].at("seconds") == 1.25e-6);
    CHECK(json.at("rows")[0].at("bytes") == 335544320.0);
    CHECK(json.at("rows")[1].at("share").is_null());
}
