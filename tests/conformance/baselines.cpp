// SPDX-License-Identifier: MIT
// baselines.json: log scaling, xPos magnitudes, the choice of a cached t, the positions of training, positions of
// several axes, ALiBi and DeepSeek's softmax scale.
//
// Random positions have no numbers to reproduce: many draws with a fixed seed must have the listed properties, and
// means and counts are compared in their standard deviations (6 of them: exceeded by fewer than one of 10^8 such
// numbers).
#include <algorithm>
#include <cmath>
#include <random>

#include "../../examples/own_methods/alibi.hpp"
#include "../../examples/own_methods/xpos.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/attention/score_factors.hpp"
#include "cordage/basis/axial.hpp"
#include "cordage/positions/sampler.hpp"
#include "cordage/positions/sections.hpp"
#include "cordage/rotate/forward.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/schedule/schedules.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

constexpr double relative = 1e-13;
constexpr double deviations = 6.0;

void check_log_scaling(const value& one_case, report& result) {
    const double train_length = one_case["train_length"].number();
    const auto n = one_case["n"].numbers();
    const auto count = static_cast<index_t>(n.size());
    std::vector<double> clamped, unclamped;
    for (const double seq_len : n) {
        clamped.push_back(log_scaling(seq_len, train_length));
        unclamped.push_back(unclamped_log_scaling(seq_len, train_length));
    }
    result.near_relative("scale", clamped, one_case["scale"].numbers(count), relative);
    result.near_relative("unclamped_released", unclamped, one_case["unclamped_released"].numbers(count), relative);
}

void check_t_selection(const value& one_case, report& result) {
    const auto cached_t = one_case["cached_t"].numbers();
    const nearest_upper_bound schedule(cached_t);
    const rope_config config{.head_dim = 2, .rotary_dim = 2, .original_length = one_case["original_length"].number()};
    for (const value& row : one_case["rows"].items()) {
        const double seq_len = row["seq_len"].number();
        const std::size_t index = schedule.index(config, seq_len);
        const double t = ratio_at(schedule, config, seq_len);
        result.require(row.where() + ".index", static_cast<index_t>(index) == row["index"].integer());
        result.near(row.where() + ".t", t, row["t"].number(), 0.0);
        const bool is_beyond = seq_len > t * config.original_length;
        result.require(row.where() + ".beyond_cap", is_beyond == row["beyond_cap"].flag());
        const double exact_t = std::max(1.0, row["exact_t"].number());
        result.near(row.where() + ".exact_t", ratio_at(continuous{}, config, seq_len), exact_t, relative * exact_t);
        // The released code's rule is the same one over the cache 1, 2 ... K, which such a case has.
        if (row.has("released_code_t")) {
            result.near(row.where() + ".released_code_t", t, row["released_code_t"].number(), 0.0);
        }
    }
}

void check_uniform_positions(const value& one_case, report& result) {
    const sampled_range range{.train_length = one_case["train_length"].size(),
                              .original_length = one_case["original_length"].number(),
                              .t = one_case["t"].number()};
    const auto positions = uniform_positions(range);
    const auto indices = one_case["index_1_based"].items();
    std::vector<double> got;
    for (const value& entry : indices) {
        const index_t index = entry.size();
        if (index > range.train_length) throw malformed(entry.where() + " must be <= train_length");
        got.push_back(positions[static_cast<std::size_t>(index - 1)]);
    }
    result.near_relative("position", got, one_case["position"].numbers(static_cast<index_t>(indices.size())), relative);
    result.require("train_length positions", static_cast<index_t>(positions.size()) == range.train_length);
    const double step = one_case["step"].number();
    result.near("step", positions.front(), step, relative * step);
}

/// Sums over many draws of `count` out of 1 ... last.
struct draws {
    explicit draws(const sampled_range& range)
        : count(range.train_length),
          last(static_cast<index_t>(range.t * range.original_length)),
          number(std::clamp<index_t>(4'000'000 / count, 20, 20'000)),  // for good means within seconds
          bins(std::clamp<index_t>(number * count / 100, 1, last)),    // of 100 positions each, or more
          sums(static_cast<std::size_t>(count)),
          in_bin(static_cast<std::size_t>(bins)) {
        std::mt19937_64 generator(20240116);
        for (index_t i = 0; i < number; ++i) add(sorted_random_positions(generator, range));
    }

    void add(const std::vector<double>& positions) {
        right_count = right_count && static_cast<index_t>(positions.size()) == count;
        increasing = increasing && std::ranges::adjacent_find(positions, std::greater_equal<>{}) == positions.end();
        for (std::size_t r = 0; r < std::min(positions.size(), sums.size()); ++r) {
            const double x = positions[r];
            const bool is_inside = x >= 1.0 && x <= static_cast<double>(last) && x == std::floor(x);
            inside = inside && is_inside;
            sums[r] += x;
            if (is_inside) in_bin[static_cast<std::size_t>((static_cast<index_t>(x) - 1) * bins / last)] += 1.0;
        }
    }

    /// Integers x of 1 ... last with (x-1) * bins / last == bin.
    index_t bin_size(index_t bin) const {
        const auto begin = [&](index_t b) { return (b * last + bins - 1) / bins; };
        return begin(bin + 1) - begin(bin);
    }

    index_t count, last, number, bins;
    std::vector<double> sums, in_bin;
    bool right_count = true, increasing = true, inside = true;
};

/// A deviation in standard deviations.
double deviation(double off, double variance) {
    return variance > 0.0 ? std::abs(off) / std::sqrt(variance) : std::abs(off);
}

void check_random_positions(const value& one_case, report& result) {
    const index_t n = one_case["train_length"].size(), last = one_case["range_last"].size();
    if (one_case["range_first"].number() != 1.0) throw unsupported("cordage draws from 1 on");
    if (last < n) throw malformed(one_case.where() + ".range_last must be >= train_length");
    if (last > 10'000'000) throw unsupported("too many positions to draw them often");
    const value mean = one_case["sorted_mean"];
    if (mean["N"].integer() != last || mean["n"].integer() != n) {
        throw malformed(mean.where() + " must have N = range_last and n = train_length");
    }

    const draws drawn({.train_length = n, .original_length = static_cast<double>(last), .t = 1.0});
    result.require("exactly train_length positions", drawn.right_count);
    result.require("strictly increasing", drawn.increasing);
    result.require("integers of 1 ... range_last", drawn.inside);

    // The r-th of n sorted draws from 1 ... N has variance r (n-r+1) (N+1) (N-n) / ((n+1)^2 (n+2)).
    const auto size = static_cast<double>(n), range = static_cast<double>(last);
    const auto number = static_cast<double>(drawn.number);
    const auto ranks = mean["r"].items();
    const auto means = mean["mean"].numbers(static_cast<index_t>(ranks.size()));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const auto r = static_cast<double>(ranks[i].size());
        if (r > size) throw malformed(ranks[i].where() + " must be <= n");
        const double variance = r * (size - r + 1.0) * (range + 1.0) * (range - size) /
                                ((size + 1.0) * (size + 1.0) * (size + 2.0) * number);
        const double got = drawn.sums[static_cast<std::size_t>(r) - 1] / number;
        result.error(ranks[i].where() + " mean", deviation(got - means[i], variance), deviations);
    }

    // Every integer equally likely: of m integers each draw takes a hypergeometric number, n m/N on average.
    for (index_t bin = 0; bin < drawn.bins; ++bin) {
        const double share = static_cast<double>(drawn.bin_size(bin)) / range;
        const double variance = number * size * share * (1.0 - share) * (range - size) / std::max(1.0, range - 1.0);
        const double off = drawn.in_bin[static_cast<std::size_t>(bin)] - number * size * share;
        result.error(message("every integer equally likely, bin ", bin), deviation(off, variance), deviations);
    }

    std::mt19937_64 generator(1);
    const auto all = sorted_random_positions(generator, {n, static_cast<double>(n), 1.0});
    bool identity = static_cast<index_t>(all.size()) == n;
    for (std::size_t i = 0; identity && i < all.size(); ++i) identity = all[i] == static_cast<double>(i + 1);
    result.require("the identity when train_length = range_last", identity);
}

void check_alibi_slopes(const value& one_case, report& result) {
    const index_t heads = one_case["num_heads"].size();
    result.near_relative("slopes", own::alibi_slopes(heads), one_case["slopes"].numbers(heads), relative);
}

void check_alibi_bias(const value& one_case, report& result) {
    const index_t heads = one_case["num_heads"].size(), tokens = one_case["seq_len"].size();
    const auto expected = one_case["bias"].array({heads, tokens, tokens});
    result.near_relative("bias", own::alibi_bias(own::alibi_slopes(heads), tokens, tokens), expected, relative);
    const auto last =
        own::alibi_bias(own::alibi_slopes(heads), 1, tokens);  // as with a cache of keys: only the last query
    for (index_t head = 0; head < heads; ++head) {
        const auto row = [&](const std::vector<double>& all, index_t first) {
            return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(tokens));
        };
        result.near_relative("bias of the last query", row(last, head * tokens),
                             row(expected, ((head + 1) * tokens - 1) * tokens), relative);
    }
}

// The recorded cos_sin_factor is a matter of the yarn policy's attention factor (policies.json).
void check_deepseek_softmax_scale(const value& one_case, report& result) {
    const double t = one_case["factor"].number(), mscale_all_dim = one_case["mscale_all_dim"].number();
    const auto near = [&](const char* field, double got) {
        const double expected = one_case[field].number();
        result.near(field, got, expected, relative * expected);
    };
    near("mscale_value", std::sqrt(deepseek_score_factor(t, one_case["mscale"].number())));
    near("mscale_all_dim_value", std::sqrt(deepseek_score_factor(t, mscale_all_dim)));
    near("softmax_multiplier", deepseek_score_factor(t, mscale_all_dim));
    near("softmax_scale", deepseek_softmax_scale(one_case["qk_head_dim"].size(), t, mscale_all_dim));
}

/// cos and sin of [tokens, pairs] as in a rotation: rotating (1, 0) gives (cos, sin).
template <class T, class Backend, class Source>
void compare_rotation(report& result, const char* what, const value& one_case, const Source& angles, double tolerance) {
    const index_t tokens = angles.tokens(), pairs = angles.pairs();
    std::vector<T> x(static_cast<std::size_t>(2 * tokens * pairs));
    for (index_t token = 0; token < tokens; ++token) std::fill_n(x.begin() + 2 * token * pairs, pairs, T{1});
    rotate_forward<half_split, Backend>(angles, in_place(token_major(x.data(), {1, tokens, 1, 2 * pairs})));
    std::vector<double> cos, sin;
    for (index_t token = 0; token < tokens; ++token) {
        const auto row = x.begin() + 2 * token * pairs;
        cos.insert(cos.end(), row, row + pairs);
        sin.insert(sin.end(), row + pairs, row + 2 * pairs);
    }
    result.near(message(what, " cos"), cos, one_case["cos"].array({tokens, pairs}), tolerance);
    result.near(message(what, " sin"), sin, one_case["sin"].array({tokens, pairs}), tolerance);
}

// Positions are below 10 and theta is exact to a rounding, so only the tolerances of cos and sin remain.
template <class P>
void compare_axes(report& result, const char* positions, const value& one_case, const basis& b,
                  const std::vector<std::uint8_t>& axis_of_pair, const position_view<P>& position_ids) {
    const axis_angles angles(b, axis_of_pair, position_ids);
    const auto name = [&](const char* kernel) { return message(positions, " positions, ", kernel); };
    compare_rotation<double, backend::scalar>(result, name("double").c_str(), one_case, angles, 1e-13);
    compare_rotation<float, backend::scalar>(result, name("float scalar").c_str(), one_case, angles, 8e-8);
    compare_rotation<float, backend::fastest>(result, name("float fastest").c_str(), one_case, angles, 8e-8);
}

void compare_axes(report& result, const value& one_case, const basis& b, const std::vector<std::uint8_t>& axis_of_pair,
                  const position_view<double>& position_ids, std::span<const double> positions) {
    compare_axes(result, "double", one_case, b, axis_of_pair, position_ids);
    std::vector<std::int64_t> whole;
    for (const double position : positions) {
        if (position != std::floor(position) || std::abs(position) > 0x1p53) return;
        whole.push_back(static_cast<std::int64_t>(position));
    }
    position_view<std::int64_t> whole_ids(whole.data(), position_ids.batch, position_ids.tokens,
                                          position_ids.batch_stride);
    whole_ids.token_stride = position_ids.token_stride;
    whole_ids.axes = position_ids.axes;
    whole_ids.axis_stride = position_ids.axis_stride;
    compare_axes(result, "int64", one_case, b, axis_of_pair, whole_ids);
}

tensor positions_of(const value& one_case, std::size_t axis_of_axes, index_t axes) {
    tensor positions = one_case["positions"].as_tensor();
    if (positions.shape.size() != 2 || positions.shape[axis_of_axes] != axes) {
        throw malformed(one_case["positions"].where() + message(" must have ", axes, " axes and some tokens"));
    }
    return positions;
}

void check_mrope(const value& one_case, report& result) {
    const index_t head_dim = one_case["head_dim"].size();
    const rope_config config{.head_dim = head_dim,
                             .rotary_dim = head_dim,
                             .theta_base = one_case["rope_theta"].number(),
                             .original_length = 1.0};
    std::vector<index_t> sections;
    for (const value& section : one_case["sections"].items()) sections.push_back(section.integer());
    const auto axis_of_pair = one_case["interleaved"].flag() ? interleaved_axes(sections) : contiguous_axes(sections);
    const auto expected_axes = one_case["axis_of_frequency"].numbers(config.pairs());
    result.require("axis_of_frequency",
                   std::ranges::equal(axis_of_pair, expected_axes, [](double a, double b) { return a == b; }));
    const auto axes = static_cast<index_t>(sections.size());
    const tensor positions = positions_of(one_case, 0, axes);
    compare_axes(result, one_case, make_basis(config, unscaled{}, 1.0), axis_of_pair,
                 axis_major(positions.data.data(), axes, 1, positions.shape[1]), positions.data);
}

void check_axial_2d(const value& one_case, report& result) {
    const index_t head_dim = one_case["head_dim"].size();
    const rope_config of_an_axis{.head_dim = head_dim,
                                 .rotary_dim = head_dim / 2,
                                 .theta_base = one_case["rope_theta"].number(),
                                 .original_length = 1.0};
    const basis per_axis = make_basis(of_an_axis, unscaled{}, 1.0);
    result.near_relative("inv_freq", per_axis.inv_freq(), one_case["inv_freq"].numbers(per_axis.pairs()), relative);
    const tensor positions = positions_of(one_case, 1, 2);
    compare_axes(result, one_case, axial_basis(per_axis, 2), contiguous_axes({per_axis.pairs(), per_axis.pairs()}),
                 axis_minor(positions.data.data(), 2, 1, positions.shape[0]), positions.data);
}

void check_xpos(const value& one_case, report& result) {
    const index_t d = one_case["dim"].size();
    const rope_config config{.head_dim = d, .rotary_dim = d, .original_length = 1.0};
    const own::xpos magnitudes{one_case["gamma"].number(), one_case["scale_base"].number()};
    magnitudes.validate(config);
    const auto positions = one_case["positions"].numbers();
    std::vector<double> zeta, query, unit;
    for (index_t pair = 0; pair < config.pairs(); ++pair) zeta.push_back(magnitudes.zeta(config, pair));
    for (const double position : positions) {
        for (index_t pair = 0; pair < config.pairs(); ++pair) {
            query.push_back(magnitudes.query_scale(config, pair, position));
            unit.push_back(query.back() * magnitudes.key_scale(config, pair, position));
        }
    }
    result.near_relative("zeta", zeta, one_case["zeta"].numbers(config.pairs()), relative);
    result.near_relative("query_scale", query,
                         one_case["query_scale"].array({static_cast<index_t>(positions.size()), config.pairs()}),
                         relative);
    result.near_relative("key_scale is the reciprocal", unit, std::vector<double>(unit.size(), 1.0), relative);
}

}  // namespace

std::span<const kind> baselines_kinds() {
    static constexpr kind kinds[] = {
        {"log_scaling", check_log_scaling},
        {"t_selection", check_t_selection},
        {"uniform_positions", check_uniform_positions},
        {"random_positions_properties", check_random_positions},
        {"alibi_slopes", check_alibi_slopes},
        {"alibi_bias", check_alibi_bias},
        {"xpos", check_xpos},
        {"deepseek_softmax_scale", check_deepseek_softmax_scale},
        {"mrope", check_mrope},
        {"axial_2d", check_axial_2d},
    };
    return kinds;
}

}  // namespace conformance
