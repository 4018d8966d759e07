// SPDX-License-Identifier: MIT
#include "conformance/runner.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

namespace {

namespace fs = std::filesystem;

/// A temporary folder for one test.
class scratch_folder {
 public:
    explicit scratch_folder(const std::string& name) : path_(fs::temp_directory_path() / ("cordage_" + name)) {
        fs::remove_all(path_);
        fs::create_directories(path_);
    }
    ~scratch_folder() { fs::remove_all(path_); }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    void write(const std::string& file, const std::string& text) const { std::ofstream(path_ / file) << text; }
    const fs::path& path() const { return path_; }

 private:
    fs::path path_;
};

struct ran {
    bool passed;
    std::string lines, reasons;
};

ran run(const fs::path& folder) {
    std::ostringstream lines, reasons;
    const bool passed = conformance::run(folder, lines, reasons);
    return {passed, lines.str(), reasons.str()};
}

/// Runs one file "x.json" that holds these cases.
ran run_cases(const std::string& name, const std::string& cases) {
    const scratch_folder folder(name);
    folder.write("x.json", R"({"description": "", "source": "", "convention": {}, "cases": [)" + cases + "]}");
    return run(folder.path());
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string right =
    R"({"kind": "log_scaling", "name": "a", "train_length": 16, "n": [4, 256], "scale": [1, 2],
        "unclamped_released": [0.5, 2]})";
const std::string wrong =
    R"({"kind": "log_scaling", "name": "b", "train_length": 16, "n": [256], "scale": [2.0001],
        "unclamped_released": [2]})";
const std::string without_scale =
    R"({"kind": "log_scaling", "name": "c", "train_length": 16, "n": [256], "unclamped_released": [2]})";
const std::string policy_of_the_future =
    R"({"kind": "alpha_table", "name": "d", "policy": "unheard_of", "rotary_dim": 4, "rope_theta": 100, "params": {},
        "theta": [1, 0.1], "tables": []})";
const std::string linear_at_two =
    R"({"kind": "alpha_table", "name": "e", "policy": "pi", "rotary_dim": 4, "rope_theta": 100, "params": {},
        "theta": [1, 0.1], "tables": [{"t": 2, "alpha": [0.5, 0.5], "dlog_alpha_dt": [-0.5, -0.5],
        "log_alpha": [-0.69314718055994531, -0.69314718055994531]}]})";

}  // namespace

TEST_CASE("conformance: the golden kinds that pass are exactly those of expected.txt") {
    const ran golden = run(CORDAGE_GOLDEN_DIR);
    CAPTURE(golden.reasons);
    std::istringstream lines(golden.lines);
    std::string found;
    for (std::string verdict, kind, rest; lines >> verdict >> kind && std::getline(lines, rest);) {
        found.append(verdict).append(" ").append(kind).append("\n");
    }
    std::ifstream file(fs::path(CORDAGE_GOLDEN_DIR).parent_path() / "conformance" / "expected.txt");
    std::ostringstream expected;
    expected << file.rdbuf();
    CHECK(found == expected.str());
    CHECK(golden.passed == !contains(expected.str(), "unsupported"));
}

TEST_CASE("conformance: right numbers pass, with the worst error and its tolerance") {
    const ran one = run_cases("right", right);
    CHECK(one.passed);
    CHECK(one.lines == "pass x/log_scaling cases=1 worst=0 tolerance=1e-13\n");
    CHECK(one.reasons.empty());
    CHECK(run_cases("linear", linear_at_two).passed);
}

TEST_CASE("conformance: one wrong number fails its kind") {
    const ran one = run_cases("wrong", right + "," + wrong);
    CHECK_FALSE(one.passed);
    CHECK(contains(one.lines, "fail x/log_scaling cases=2 worst=4.9"));
    CHECK(contains(one.reasons, "b: scale: error"));
}

TEST_CASE("conformance: a case that lacks a field fails and the field is named") {
    const ran one = run_cases("lacking", without_scale);
    CHECK_FALSE(one.passed);
    CHECK(contains(one.lines, "fail x/log_scaling cases=1"));
    CHECK(contains(one.reasons, "must have the field 'scale'"));
}

TEST_CASE("conformance: cases that cordage does not support are unsupported, beside cases that pass") {
    const ran one = run_cases("future", linear_at_two + "," + policy_of_the_future);
    CHECK_FALSE(one.passed);
    CHECK(contains(one.lines, "unsupported x/alpha_table cases=2"));
    CHECK(contains(one.reasons, "d: cordage has no policy 'unheard_of'"));
}

TEST_CASE("conformance: an unknown kind fails under its name") {
    const ran one = run_cases("unknown_kind", R"({"kind": "rumour", "name": "a"})");
    CHECK_FALSE(one.passed);
    CHECK(contains(one.lines, "fail x/rumour cases=1"));
}

TEST_CASE("conformance: files that do not follow the schema fail") {
    for (const char* text : {"", "{", "[]", "{}", R"({"cases": []})", R"({"cases": 3})", R"({"cases": [{"kind": 1}]})",
                             R"({"cases": [{"kind": "log_scaling"}]})", R"({"cases": [{"name": "a"}]})"}) {
        CAPTURE(text);
        const scratch_folder folder("malformed");
        folder.write("x.json", text);
        const ran one = run(folder.path());
        CHECK_FALSE(one.passed);
        CHECK(contains(one.lines, "fail x/file"));
        CHECK_FALSE(one.reasons.empty());
    }
}

TEST_CASE("conformance: two cases of one kind and name fail") {
    const ran one = run_cases("duplicate", right + "," + right);
    CHECK_FALSE(one.passed);
    CHECK(contains(one.reasons, "must be unique within its kind"));
}

TEST_CASE("conformance: an array of the wrong length or type fails") {
    for (const char* scale :
         {"[1]", "[1, 2, 3]", "1", R"(["1", "2"])", "[null, 2]", R"({"shape": [2, 2], "data": [1, 2]})",
          R"({"shape": [-2], "data": [1, 2]})", R"({"shape": [99999999999, 99999999999], "data": []})"}) {
        CAPTURE(scale);
        std::string cases = right;
        cases.replace(cases.find("[1, 2]"), 6, scale);
        const ran one = run_cases("shapes", cases);
        CHECK_FALSE(one.passed);
        CHECK(contains(one.lines, "fail x/log_scaling"));
    }
}

TEST_CASE("conformance: a folder without golden files, or no folder, fails") {
    const scratch_folder folder("empty");
    folder.write("README.md", "nothing here");
    CHECK_FALSE(run(folder.path()).passed);
    CHECK_FALSE(run(folder.path() / "absent").passed);
}
