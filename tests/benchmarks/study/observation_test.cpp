// SPDX-License-Identifier: MIT
#include "observation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using namespace demo;

namespace {

row_result example() {
    return {"L 128 seed 3",
            "frozen: by parts, log scaling",
            18446744073709551615u,
            737280,
            12.5,
            {0.1, -3e-300, 4.0},
            {{measure::match, 1024, 0, 512, 1.0},
             {measure::copy_loss, 1024, 0, 96, 1.0 / 3.0},
             {measure::value_loss, 2048, 39, 2048, std::numeric_limits<double>::infinity()},
             {measure::plain_loss, 128, 7, 0, 2.25},
             {measure::copy_hit, 256, 1, 40, 0.0625}}};
}

std::string written(const row_result& r) {
    std::ostringstream out;
    write(out, r);
    return out.str();
}

std::string refusal(const std::string& text) {
    std::istringstream in(text);
    try {
        read_row_result(in, "row.txt");
    } catch (const std::runtime_error& refused) {
        return refused.what();
    }
    return "read";
}

// The example's file with one text replaced.
std::string changed(const std::string& from, const std::string& to) {
    std::string text = written(example());
    const std::size_t at = text.find(from);
    REQUIRE(at != text.npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("benchmarks/study/observation: what is written is read back, to the last bit") {
    std::istringstream in(written(example()));
    CHECK(read_row_result(in, "row.txt") == example());
    row_result bare;
    std::istringstream nothing(written(bare));
    CHECK(read_row_result(nothing, "bare.txt") == bare);
}

TEST_CASE("benchmarks/study/observation: a file is there whole or not at all") {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "cordage_study_observation_test.row";
    save(example(), file);
    CHECK(load_row_result(file) == example());
    row_result bad = example();
    bad.observations[0].value = 0.5;
    CHECK_THROWS_WITH(save(bad, file), "row result:7: value '0.5' must be 0 or 1");
    CHECK(load_row_result(file) == example());
    std::filesystem::remove(file);
    CHECK_THROWS_WITH(load_row_result(file), ("row result: cannot read " + file.string()).c_str());
}

TEST_CASE("benchmarks/study/observation: what is not such a file is refused by line and field") {
    CHECK(refusal("") == "row.txt:1: the file ends where 'settings' must be; run this row again");
    CHECK(refusal(changed("row frozen", "now frozen")) == "row.txt:2: field 'now' must be 'row'");
    CHECK(refusal(changed("seed 1", "seed -1")) == "row.txt:3: seed '-18446744073709551615' must be an integer >= 0");
    CHECK(refusal(changed("737280", "7e5")) == "row.txt:4: token_forwards '7e5' must be an integer >= 0");
    CHECK(refusal(changed("737280", "737280 1")) == "row.txt:4: what follows '1' must be no part of this line");
    CHECK(refusal(changed("seconds 12.5", "seconds inf")) == "row.txt:5: seconds 'inf' must be finite and >= 0");
    CHECK(refusal(changed("0.1 ", "0.1  ")) == "row.txt:6: policy_parameters '' must be finite");
    CHECK(refusal(changed("0.1 ", "nan ")) == "row.txt:6: policy_parameters 'nan' must be finite");
    CHECK(refusal(changed("match 1024", "match 0")) == "row.txt:7: length '0' must be an integer >= 1");
    CHECK(refusal(changed("match 1024", "match 99999999999999999999")) ==
          "row.txt:7: length '99999999999999999999' must be an integer >= 1");
    CHECK(refusal(changed("match 1024 0 512", "match 1024 -3 512")) ==
          "row.txt:7: window '-3' must be an integer >= 0");
    CHECK(refusal(changed("match 1024 0 512", "match 1024 0 1025")) ==
          "row.txt:7: distance '1025' must be an integer, 0 ... length");
    CHECK(refusal(changed("512 1\n", "512 0.5\n")) == "row.txt:7: value '0.5' must be 0 or 1");
    CHECK(refusal(changed("512 1\n", "512\n")) == "row.txt:7: value '' must be 0 or 1");
    CHECK(refusal(changed("copy_loss", "lost\x1b[2J")) ==
          "row.txt:8: measure 'lost?[2J' must be match, copy_loss, value_loss, plain_loss, copy_hit or plain_hit, or "
          "'end' after "
          "the "
          "last line");
    CHECK(refusal(changed("2048 inf", "2048 -1")) == "row.txt:9: value '-1' must be nats, 0 ... inf");
    CHECK(refusal(changed("2048 inf", "2048 nan")) == "row.txt:9: value 'nan' must be nats, 0 ... inf");
    CHECK(refusal(changed("0.0625", "1.0625")) == "row.txt:11: value '1.0625' must be a share, 0 ... 1");
    CHECK(refusal(changed("end\n", "")) ==
          "row.txt:12: the file ends where an observation or 'end' must be; run this row again");
    CHECK(refusal(changed("end\n", "end of it\n")) == "row.txt:12: what follows 'of it' must be no part of this line");
    CHECK(refusal(changed("end\n", "end\nmatch 1 0 0 1\n")) == "row.txt:13: what follows 'end' must be nothing");
}

TEST_CASE("benchmarks/study/observation: what would not be read back is not written") {
    row_result two_lines = example();
    two_lines.row += "\nseed 2";
    CHECK_THROWS_WITH(written(two_lines), "row result:4: field 'seed' must be 'token_forwards'");
    row_result endless = example();
    endless.policy_parameters[1] = std::numeric_limits<double>::infinity();
    CHECK_THROWS_WITH(written(endless), "row result:6: policy_parameters 'inf' must be finite");
    row_result far = example();
    far.observations[1].distance = 1025;
    CHECK_THROWS_WITH(written(far), "row result:8: distance '1025' must be an integer, 0 ... length");
}

TEST_CASE("study/observation: a mean is over one measure, at one length or all") {
    const std::vector<observation> all{{measure::match, 128, 0, 5, 1.0},
                                       {measure::match, 128, 1, 5, 0.0},
                                       {measure::match, 256, 0, 9, 1.0},
                                       {measure::copy_loss, 128, 0, 5, 3.0}};
    CHECK(mean_of(all, measure::match, 128) == 0.5);
    CHECK(mean_of(all, measure::match) == doctest::Approx(2.0 / 3.0));
    CHECK(mean_of(all, measure::copy_loss, 128) == 3.0);
    CHECK(std::isnan(mean_of(all, measure::copy_loss, 256)));
}
