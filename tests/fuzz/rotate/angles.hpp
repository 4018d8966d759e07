// SPDX-License-Identifier: MIT
// Every angle source with random numbers, and its expected angles.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/exact_angles.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "exact_turn.hpp"
#include "input.hpp"

namespace fuzz {

using cordage::index_t;

/// The properties of a source that the naive rotation needs.
struct expected_angles {
    std::function<turn(index_t row, index_t token, index_t pair)> at;  ///< without the attention factor
    std::function<double(index_t row, index_t token)> attention_factor = [](auto...) { return 1.0; };
    std::function<double(index_t row, index_t token, index_t axis)> position = [](auto...) { return 0.0; };
    std::function<double(index_t row, index_t token, index_t pair)> theta = [](auto...) { return 0.0; };
    std::function<index_t(index_t row, index_t token)> basis = [](auto...) { return 0; };  ///< of the gradients
};

/// Frequencies of models, or any.
inline std::vector<double> random_thetas(input& in, index_t pairs, bool& doubtful) {
    std::vector<double> theta;
    const double base = in.coin() ? 10000.0 : 1.0 + 5000.0 * static_cast<double>(in.between(1, 200));
    for (index_t i = 0; i < pairs; ++i) {
        theta.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs)));
    }
    const bool is_wild = in.rarely(8);
    for (double& t : theta) {
        if (is_wild && in.coin()) t *= std::ldexp(in.coin() ? 1.0 : -1.0, static_cast<int>(in.between(0, 122)) - 60);
    }
    if (in.rarely()) theta[static_cast<std::size_t>(in.between(0, pairs - 1))] = in.hostile_number(), doubtful = true;
    return theta;
}

inline cordage::basis random_basis(input& in, index_t pairs, bool& doubtful) {
    static constexpr double factors[] = {1.0, 1.1386, 0.75, -1.25, 0x1p-12, 0x1p12};
    double factor = in.one_of(factors);
    if (in.rarely()) factor = in.hostile_number(), doubtful = true;
    return cordage::basis(random_thetas(in, pairs, doubtful), factor);
}

/// [count] positions near and far, integer and fractional, in a block of their own.
template <class P>
std::unique_ptr<P[]> random_positions(input& in, std::mt19937_64& random, index_t count, bool& doubtful) {
    auto all = std::make_unique<P[]>(static_cast<std::size_t>(count));
    static constexpr double reaches[] = {10.0, 4096.0, 0x1p24, 0x1p31 - 1.0};
    const double reach = in.one_of(reaches);
    const bool is_whole = in.coin();
    for (index_t i = 0; i < count; ++i) {
        const double p = uniform(random, -reach, reach);
        all[static_cast<std::size_t>(i)] = static_cast<P>(is_whole ? std::round(p) : p);
    }
    if (count > 0 && in.rarely(16)) {
        P& one = all[static_cast<std::size_t>(in.between(0, std::min<index_t>(count, 200) - 1))];
        if constexpr (std::is_integral_v<P>) {
            one = static_cast<P>(in.hostile_integer());
        } else {
            one = static_cast<P>(in.hostile_number());
        }
        doubtful = true;
    }
    return all;
}

/// Error from truncated fractional positions and the 64 bits of a turn, radians.
inline turn with_loss(turn exact, double position, double theta) {
    exact.lost += 1.8e-19 * std::fabs(position) + std::fabs(theta) * 0x1p-63;
    return exact;
}

/// The rows of a batch: a basis and positions for each, [axes, rows, tokens] with gaps between rows.
template <class P>
struct random_angles {
    index_t batch, tokens, pairs, axes, rows;
    bool doubtful = false;
    index_t row_stride, axis_stride;
    std::vector<cordage::basis> bases;
    std::unique_ptr<P[]> ids;

    random_angles(input& in, std::mt19937_64& random, index_t axis_count, index_t base_count)
        : batch(in.rarely(32) ? 0 : in.between(1, 3)),
          tokens(in.rarely(8) ? in.between(0, 200) : in.between(0, 12)),
          pairs(in.rarely(4) ? in.between(1, 70) : in.between(1, 20)),
          axes(axis_count),
          rows(in.coin() ? 1 : std::max<index_t>(batch, 1)),
          row_stride(tokens + (in.coin() ? in.between(0, 5) : 0)),
          axis_stride(rows * row_stride) {
        for (index_t i = 0; i < base_count; ++i) bases.push_back(random_basis(in, pairs, doubtful));
        const index_t count = axes * axis_stride - (row_stride - tokens);  // no gap after the last
        ids = random_positions<P>(in, random, count, doubtful);
    }

    const P* first() const { return ids.get(); }
    const cordage::basis& basis_of(index_t i) const { return bases[static_cast<std::size_t>(i) % bases.size()]; }
    cordage::position_view<P> view() const {
        cordage::position_view<P> v(first(), rows, tokens, row_stride);
        v.axes = axes;
        v.axis_stride = axis_stride;
        return v;
    }
    P id(index_t row, index_t token, index_t axis) const {
        return ids[static_cast<std::size_t>(axis * axis_stride + (rows == 1 ? 0 : row) * row_stride + token)];
    }

    /// @param axis_of  (pair) -> axis    @param basis_of_token  (row, token) -> one of `bases`
    template <class Axis, class Basis>
    expected_angles expected(const Axis& axis_of, const Basis& basis_of_token) const {
        expected_angles e;
        e.basis = basis_of_token;
        e.position = [this](index_t r, index_t t, index_t axis) { return static_cast<double>(id(r, t, axis)); };
        e.theta = [this, basis_of_token](index_t r, index_t t, index_t pair) {
            return basis_of(basis_of_token(r, t)).inv_freq()[static_cast<std::size_t>(pair)];
        };
        e.attention_factor = [this, basis_of_token](index_t r, index_t t) {
            return basis_of(basis_of_token(r, t)).attention_factor();
        };
        e.at = [e, axis_of](index_t r, index_t t, index_t pair) {
            const double p = e.position(r, t, axis_of(pair)), theta = e.theta(r, t, pair);
            return with_loss(turn_of(p, theta), p, theta);
        };
        return e;
    }
    expected_angles expected() const {
        return expected([](index_t) { return index_t{0}; }, [](index_t, index_t) { return index_t{0}; });
    }
};

/// Calls f(source, expected angles, batch, whether it is valid) for exact_angles or float32_angles.
template <class Angles, class P, class F>
void with_angles(input& in, std::mt19937_64& random, const F& f) {
    const random_angles<P> all(in, random, 1, 1);
    const Angles angles(all.bases[0], all.view());
    expected_angles e = all.expected();
    bool is_sound = !all.doubtful;
    if constexpr (requires { angles.angle(0, 0, 0); }) {
        double fastest = 0.0, farthest = 0.0;  // float32 angles go to 2^62
        for (const double theta : all.bases[0].inv_freq()) fastest = std::max(fastest, std::fabs(theta));
        for (index_t r = 0; r < all.rows; ++r) {
            for (index_t t = 0; t < all.tokens; ++t) {
                farthest = std::max(farthest, std::fabs(static_cast<double>(all.id(r, t, 0))));
            }
        }
        is_sound = is_sound && fastest * farthest < 0x1p61;
        e.at = [&all](index_t r, index_t t, index_t pair) {
            const double theta = all.bases[0].inv_freq()[static_cast<std::size_t>(pair)];
            const float angle = static_cast<float>(all.id(r, t, 0)) * static_cast<float>(theta);
            return turn_of(static_cast<double>(angle), 1.0);
        };
    }
    f(angles, e, all.batch, is_sound);
}

template <class P, class F>
void with_axis_angles(input& in, std::mt19937_64& random, const F& f) {
    const index_t axes = in.rarely(32) ? in.between(240, 400) : in.between(1, 4);
    const random_angles<P> all(in, random, axes, 1);
    std::vector<std::uint8_t> axis_of_pair;
    for (index_t i = 0; i < all.pairs; ++i) {
        axis_of_pair.push_back(static_cast<std::uint8_t>(in.between(0, std::min<index_t>(axes, 256) - 1)));
    }
    bool doubtful = all.doubtful || axes > 256;
    if (in.rarely()) axis_of_pair[0] = in.bits<std::uint8_t>(), doubtful = true;
    const cordage::axis_angles<P> angles(all.bases[0], axis_of_pair, all.view());
    f(angles,
      all.expected([&](index_t pair) { return index_t{axis_of_pair[static_cast<std::size_t>(pair)]}; },
                   [](index_t, index_t) { return index_t{0}; }),
      all.batch, !doubtful);
}

/// A basis for every row, or one for every token by an index of a row or of all.
template <class P, class F>
void with_bases(input& in, std::mt19937_64& random, const F& f) {
    const random_angles<P> all(in, random, 1, 3);
    const bool by_token = in.coin();
    const auto axis = [](index_t) { return index_t{0}; };
    if (!by_token) {
        std::vector<const cordage::basis*> chosen;
        for (index_t row = 0; row < std::max<index_t>(all.batch, 1); ++row) chosen.push_back(&all.basis_of(row));
        cordage::position_view<P> ids = all.view();
        bool doubtful = all.doubtful || all.batch == 0;
        if (in.rarely()) ids.batch_stride = -ids.batch_stride - 1, doubtful = true;
        const cordage::basis_list list(chosen);
        const cordage::exact_angles<P> angles(list.of_rows(), ids);
        return f(angles, all.expected(axis, [](index_t r, index_t) { return r; }), all.batch, !doubtful);
    }
    const cordage::basis_list list({&all.bases[0], &all.bases[1], &all.bases[2]});
    const index_t index_rows = in.coin() || all.batch == 0 ? 1 : all.batch;
    // In a separate block, so that a sanitizer detects reads beyond it.
    const auto count = static_cast<std::size_t>(index_rows * all.tokens);
    const auto of_token = std::make_unique<std::int32_t[]>(count);
    for (std::size_t i = 0; i < count; ++i) of_token[i] = static_cast<std::int32_t>(random() % 3);
    bool doubtful = all.doubtful || all.batch == 0;
    if (count > 0 && in.rarely(16)) {
        of_token[random() % count] = static_cast<std::int32_t>(in.hostile_integer()), doubtful = true;
    }
    const cordage::exact_angles<P> angles(list.of(std::span<const std::int32_t>(of_token.get(), count), index_rows),
                                          all.view());
    f(angles,
      all.expected(axis,
                   [&, index_rows, tokens = all.tokens](index_t r, index_t t) {
                       return index_t{of_token[static_cast<std::size_t>((index_rows == 1 ? 0 : r) * tokens + t)]};
                   }),
      all.batch, !doubtful);
}

/// A table made elsewhere, of any numbers up to 1, or the library's.
template <class T, class F>
void with_table(input& in, std::mt19937_64& random, const F& f) {
    const random_angles<std::int32_t> all(in, random, 1, 1);
    expected_angles e = all.expected();
    if (in.coin()) {
        const cordage::cos_sin_table<T> table(cordage::exact_angles(all.bases[0], all.view()));
        return f(table.view(), e, all.batch, !all.doubtful);
    }
    const auto count = static_cast<std::size_t>(all.rows * all.tokens * all.pairs);
    const auto cos = std::make_unique<T[]>(count), sin = std::make_unique<T[]>(count);
    for (std::size_t i = 0; i < count; ++i) {
        cos[i] = static_cast<T>(uniform(random, -1.0, 1.0)), sin[i] = static_cast<T>(uniform(random, -1.0, 1.0));
    }
    cordage::cos_sin_view<T> view{cos.get(), sin.get(), all.rows, all.tokens, all.pairs};
    bool doubtful = all.doubtful;
    if (in.rarely()) view.carried_attention_factor = in.hostile_number(), doubtful = true;
    if (in.rarely()) {
        index_t* const sizes[] = {&view.rows, &view.token_count, &view.pair_count};
        const index_t broken = in.hostile_integer();
        if (broken < 1 || broken > (index_t{1} << 50)) *in.one_of(sizes) = broken, doubtful = true;
    }
    const index_t rows = all.rows, tokens = all.tokens, pairs = all.pairs;
    const double m = view.carried_attention_factor;
    e.attention_factor = [m](index_t, index_t) { return m; };
    e.at = [&, rows, tokens, pairs, m](index_t r, index_t t, index_t pair) {
        const auto i = static_cast<std::size_t>(((rows == 1 ? 0 : r) * tokens + t) * pairs + pair);
        return turn{static_cast<long double>(cos[i]) / m, static_cast<long double>(sin[i]) / m, 0.0};
    };
    f(view, e, all.batch, !doubtful);
}

}  // namespace fuzz
