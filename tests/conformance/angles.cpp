// SPDX-License-Identifier: MIT
// angles.json: cos and sin of position * theta, exact ones and those of common float32 code.
//
// Tolerances: for the given double theta 8e-8 in float and 1e-13 + 2e-19 |position| in double; where theta is a real
// number, rounding it to double adds 1.2e-16 |position|. The float32 error must be the recorded one within a factor
// of 1.5: its maximum over a few positions depends on the last bits of each theta.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cordage/angles/exact_angles.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "cordage/rotate/forward.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

struct tolerances {
    double float32;
    double float64;
};

tolerances given_theta(double position) { return {8e-8, 1e-13 + 2e-19 * std::abs(position)}; }
tolerances real_theta(double position) {
    const auto [float32, float64] = given_theta(position);
    const double rounding = 1.2e-16 * std::abs(position);
    return {float32 + rounding, float64 + rounding};
}

/// cos and sin of one position, one number for each pair.
struct row {
    double position;
    std::vector<double> cos, sin;
};

template <class T>
row table_row(const exact_angles<double>& angles, double position) {
    const cos_sin_table<T> table(angles);
    row got{position, {}, {}};
    for (index_t pair = 0; pair < angles.pairs(); ++pair) {
        const auto entry = table.view().template at<double>(0, 0, pair);
        got.cos.push_back(entry.cos);
        got.sin.push_back(entry.sin);
    }
    return got;
}

/// As in a rotation without a table: rotating (1, 0) gives (cos, sin).
template <class T, class Source>
row rotated_row(const Source& angles, double position) {
    const index_t pairs = angles.pairs();
    std::vector<T> x(static_cast<std::size_t>(2 * pairs));
    std::fill_n(x.begin(), pairs, T{1});
    rotate_forward<half_split>(angles, in_place(token_major(x.data(), {1, 1, 1, 2 * pairs})));
    return {position, {x.begin(), x.begin() + pairs}, {x.begin() + pairs, x.end()}};
}

void compare(report& result, const std::string& what, const row& got, const row& expected, double tolerance) {
    result.near(what + " cos", got.cos, expected.cos, tolerance);
    result.near(what + " sin", got.sin, expected.sin, tolerance);
}

template <class P>
void compare_position_type(report& result, const std::string& what, const basis& b, const row& expected,
                           tolerances within) {
    const std::vector<P> position{static_cast<P>(expected.position)};
    if (static_cast<double>(position[0]) != expected.position) return;  // not representable in this type
    const exact_angles<P> angles(b, position_view<P>(position));
    compare(result, what + " float", rotated_row<float>(angles, expected.position), expected, within.float32);
    compare(result, what + " double", rotated_row<double>(angles, expected.position), expected, within.float64);
}

/// By tables and by rotation, with the position in every type that represents it.
void compare_row(report& result, const value& place, const basis& b, const row& expected, tolerances within) {
    const std::vector<double> position{expected.position};
    const exact_angles<double> angles(b, position_view<double>(position));
    const std::string& where = place.where();
    compare(result, where + " float table", table_row<float>(angles, expected.position), expected, within.float32);
    compare(result, where + " double table", table_row<double>(angles, expected.position), expected, within.float64);
    compare_position_type<double>(result, where + " double position", b, expected, within);
    compare_position_type<float>(result, where + " float position", b, expected, within);
    if (std::abs(expected.position) <= 0x1p53) {
        compare_position_type<std::int64_t>(result, where + " int64 position", b, expected, within);
    }
    if (std::abs(expected.position) <= std::numeric_limits<std::int32_t>::max()) {
        compare_position_type<std::int32_t>(result, where + " int32 position", b, expected, within);
    }
}

row expected_row(const value& place, index_t count) {
    const double position = place["position"].number();
    if (!(std::abs(position) < 0x1p63)) throw malformed(place.where() + ".position must be below 2^63");
    return {position, place["cos"].numbers(count), place["sin"].numbers(count)};
}

rope_config config_of(const value& one_case) {
    const index_t rotary_dim = one_case["rotary_dim"].size();
    const rope_config config{.head_dim = rotary_dim,
                             .rotary_dim = rotary_dim,
                             .theta_base = one_case["rope_theta"].number(),
                             .original_length = 1.0};
    validate(config);
    return config;
}

/// cordage's theta of the pairs that the case lists.
std::vector<double> own_theta(const value& one_case, const rope_config& config) {
    std::vector<double> theta;
    for (const value& entry : one_case["index"].items()) {
        const index_t pair = entry.integer();
        if (pair < 0 || pair >= config.pairs()) throw malformed(entry.where() + " must be a pair");
        theta.push_back(config.inv_freq(pair));
    }
    return theta;
}

void check_angles(const value& one_case, report& result) {
    const rope_config config = config_of(one_case);
    auto own = own_theta(one_case, config);
    const auto count = static_cast<index_t>(own.size());
    const auto theta = one_case["theta"].numbers(count);
    const std::string form = one_case["theta_form"].text();
    if (form != "float64" && form != "float32_rounded") throw unsupported("no theta_form '" + form + "' is known");
    result.near_relative("theta", own, theta, form == "float64" ? 1e-15 : 1e-7);

    const basis b(theta);
    for (const value& place : one_case["rows"].items()) {
        const row expected = expected_row(place, count);
        compare_row(result, place, b, expected, given_theta(expected.position));
    }
}

void check_angles_real_theta(const value& one_case, report& result) {
    const basis b(own_theta(one_case, config_of(one_case)));
    for (const value& place : one_case["rows"].items()) {
        const row expected = expected_row(place, b.pairs());
        compare_row(result, place, b, expected, real_theta(expected.position));
    }
}

/// Within 1e-9 up to 2^31: the product in 64 bits of mantissa, reduced by the C library.
struct extended_angles {
    static_assert(std::numeric_limits<long double>::digits >= 64, "the reference needs more than double");

    std::vector<long double> theta;

    row at(double position) const {
        row exact{position, {}, {}};
        for (const long double frequency : theta) {
            exact.cos.push_back(static_cast<double>(std::cos(position * frequency)));
            exact.sin.push_back(static_cast<double>(std::sin(position * frequency)));
        }
        return exact;
    }
};

double largest_difference(const row& a, const row& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.cos.size(); ++i) {
        largest = std::max({largest, std::abs(a.cos[i] - b.cos[i]), std::abs(a.sin[i] - b.sin[i])});
    }
    return largest;
}

void check_hf_float32_error(const value& one_case, report& result) {
    const rope_config config = config_of(one_case);
    // The float32 theta as that code forms it: a power in float32 and its reciprocal.
    std::vector<double> theta, float32_theta;
    extended_angles real, rounded;
    for (index_t pair = 0; pair < config.pairs(); ++pair) {
        const auto channel = static_cast<long double>(2 * pair), channels = static_cast<long double>(config.rotary_dim);
        theta.push_back(config.inv_freq(pair));
        real.theta.push_back(std::pow(static_cast<long double>(config.theta_base), -channel / channels));
        const float exponent = static_cast<float>(channel) / static_cast<float>(channels);
        float32_theta.push_back(double{1.0F / std::pow(static_cast<float>(config.theta_base), exponent)});
        rounded.theta.push_back(float32_theta.back());
    }
    const basis exact_basis(theta), float32_basis(float32_theta);

    for (const value& place : one_case["rows"].items()) {
        const index_t last = place["position"].integer(), window = place["window"].size();
        if (window > 100'000 || last < window || last > std::numeric_limits<std::int32_t>::max()) {
            throw malformed(place.where() + " must have window <= position < 2^31, window <= 10^5");
        }
        double ours = 0.0, common = 0.0, common_own = 0.0;
        for (index_t position = last - window + 1; position <= last; ++position) {
            const std::vector<std::int64_t> ids{position};
            const auto at = static_cast<double>(position);
            const row exact = real.at(at);
            const row float32_way = rotated_row<float>(float32_angles(float32_basis, ids), at);
            ours = std::max(ours, largest_difference(rotated_row<float>(exact_angles(exact_basis, ids), at), exact));
            common = std::max(common, largest_difference(float32_way, exact));
            common_own = std::max(common_own, largest_difference(float32_way, rounded.at(at)));
        }
        result.error(place.where() + " exact angles", ours, real_theta(static_cast<double>(last)).float32);
        const auto same_size = [&](const char* field, double got) {
            const double recorded = place[field].number();
            result.error(place.where() + "." + field + ", as a factor", std::max(got / recorded, recorded / got), 1.5);
        };
        same_size("max_abs_error_vs_real_theta", common);
        same_size("max_abs_error_vs_own_float32_theta", common_own);
    }
}

}  // namespace

std::span<const kind> angles_kinds() {
    static constexpr kind kinds[] = {
        {"angles", check_angles},
        {"angles_real_theta", check_angles_real_theta},
        {"hf_float32_error", check_hf_float32_error},
    };
    return kinds;
}

}  // namespace conformance
