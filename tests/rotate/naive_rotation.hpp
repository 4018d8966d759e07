// SPDX-License-Identifier: MIT
// The rotation implemented plainly in long double with exact angles: the reference for every backend.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cordage/backend/backend.hpp"
#include "cordage/core/config.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/tensors/operand.hpp"
#include "pair/exact_phase.hpp"
#include "tolerances.hpp"

namespace cordage_test {

using cordage::heads_shape;
using cordage::index_t;

/// Calls f with the scalar backend and with the default one, once if they are the same.
template <class F>
void for_each_backend(const F& f) {
    f(cordage::backend::scalar{});
    if constexpr (!std::same_as<cordage::backend::fastest, cordage::backend::scalar>) f(cordage::backend::fastest{});
}
/// As above, for both pairings.
template <class F>
void for_each_kernel(const F& f) {
    for_each_backend([&](auto backend) {
        f(cordage::half_split{}, backend);
        f(cordage::interleaved{}, backend);
    });
}

/// Calls f with both pairings and the default vectors, and with AVX2's if those are wider.
template <class F>
void for_each_vector_kernel([[maybe_unused]] const F& f) {
#if defined(CORDAGE_HAS_SIMD)
    const auto both_pairings = [&](auto backend) {
        f(cordage::half_split{}, backend);
        f(cordage::interleaved{}, backend);
    };
    both_pairings(cordage::backend::fastest{});
#if XSIMD_WITH_AVX512F
    both_pairings(cordage::backend::simd<xsimd::fma3<xsimd::avx2>>{});
#endif
#endif
}

/// for_each_kernel, and AVX2's kernels if the default is a wider vector.
template <class F>
void for_each_kernel_and_avx2(const F& f) {
    f(cordage::half_split{}, cordage::backend::scalar{});
    f(cordage::interleaved{}, cordage::backend::scalar{});
    for_each_vector_kernel(f);
}

template <cordage::pairing Pairing>
inline constexpr bool is_interleaved = std::same_as<Pairing, cordage::interleaved>;

/// A number rounded to the storage type and back.
template <cordage::element T>
T stored(double x) {
    return cordage::element_traits<T>::store(static_cast<cordage::compute_of<T>>(x));
}
template <cordage::element T>
double value(T x) {
    return static_cast<double>(cordage::element_traits<T>::load(x));
}
template <cordage::element T>
std::vector<double> values(const std::vector<T>& x) {
    std::vector<double> all(x.size());
    std::transform(x.begin(), x.end(), all.begin(), [](T one) { return value(one); });
    return all;
}

/// True if two buffers have the same bits.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// True if two kernels computed the same for numbers up to 4, up to some units in the last place: one for products that
/// each may contract otherwise, more for sums in another order.
template <cordage::element T>
bool nearly_same(const T& a, const T& b, double units = 1.0) {
    return std::fabs(value(a) - value(b)) <= units * unit_in_last_place<T>(4.0);
}
template <cordage::element T>
bool nearly_same(const std::vector<T>& a, const std::vector<T>& b, double units = 1.0) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [=](T x, T y) { return nearly_same(x, y, units); });
}

inline index_t count(const heads_shape& s) { return s.batch * s.tokens * s.heads * s.head_dim; }

/// Numbers of magnitude 1/16 to 2, either sign, of a fixed seed, for a dense tensor.
template <cordage::element T>
std::vector<T> random_elements(const heads_shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<T> all;
    for (index_t i = 0; i < count(shape); ++i) {
        const double size = 0.0625 + static_cast<double>(random() % 100'000u) * (1.9375 / 100'000.0);
        all.push_back(stored<T>(random() % 2 == 0 ? size : -size));
    }
    return all;
}

inline std::vector<double> frequencies(index_t rotary_dim) {
    const cordage::rope_config config{.head_dim = rotary_dim, .rotary_dim = rotary_dim, .original_length = 64};
    std::vector<double> theta;
    for (index_t pair = 0; pair < config.pairs(); ++pair) theta.push_back(config.inv_freq(pair));
    return theta;
}

/// A rotation as plain numbers; tensors are dense [batch, tokens, heads, head_dim].
struct naive_rotation {
    heads_shape shape;
    std::vector<double> theta;
    double attention_factor = 1.0;
    std::vector<exact_number> positions;  ///< [batch, tokens]
    bool pairs_neighbours = false;

    template <class Position>
    naive_rotation(const heads_shape& s, std::vector<double> inv_freq, double m, const std::vector<Position>& p,
                   bool interleaved)
        : shape(s), theta(std::move(inv_freq)), attention_factor(m), pairs_neighbours(interleaved) {
        for (index_t i = 0; i < s.batch * s.tokens; ++i) positions.push_back(p[static_cast<std::size_t>(i) % p.size()]);
    }

    /// Calls f(index of lane 0, index of lane 1, token of the batch, pair) for every pair of every head.
    template <class F>
    void for_each_pair(const F& f) const {
        const auto pairs = static_cast<index_t>(theta.size()), heads = shape.batch * shape.tokens * shape.heads;
        for (index_t head = 0; head < heads; ++head) {
            for (index_t pair = 0; pair < pairs; ++pair) {
                const index_t first = head * shape.head_dim;
                const index_t lane0 = pairs_neighbours ? 2 * pair : pair;
                const index_t lane1 = pairs_neighbours ? 2 * pair + 1 : pair + pairs;
                f(static_cast<std::size_t>(first + lane0), static_cast<std::size_t>(first + lane1),
                  static_cast<std::size_t>(head / shape.heads), static_cast<std::size_t>(pair));
            }
        }
    }

    /// y = m R(angle) x, lanes past the last pair unchanged.
    std::vector<double> rotated(const std::vector<double>& x) const { return rotated(x, attention_factor, 1.0L); }
    /// m R(-angle) x, the transpose.
    std::vector<double> rotated_back(const std::vector<double>& x) const { return rotated(x, attention_factor, -1.0L); }
    /// R(-angle) x / m, the inverse.
    std::vector<double> undone(const std::vector<double>& x) const {
        return rotated(x, 1.0L / attention_factor, -1.0L);
    }

    /// Checks that every element of `found` is `expected` within its type's tolerance; lanes past the last pair
    /// exactly.
    template <class T>
    void check(const std::vector<double>& x, const std::vector<T>& found, const std::vector<double>& expected) const {
        std::vector<double> allowed(x.size(), 0.0);
        for_each_pair([&](std::size_t i0, std::size_t i1, std::size_t token, std::size_t) {
            const double factor = std::max(std::fabs(attention_factor), 1.0 / std::fabs(attention_factor));
            const double size = (std::fabs(x[i0]) + std::fabs(x[i1])) * factor;
            allowed[i0] = allowed_error<T>(size, positions[token].rounded, expected[i0]);
            allowed[i1] = allowed_error<T>(size, positions[token].rounded, expected[i1]);
        });
        REQUIRE(found.size() == expected.size());
        std::size_t wrong = 0, example = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (!(std::fabs(value(found[i]) - expected[i]) <= allowed[i])) ++wrong, example = i;
        }
        CAPTURE(example);
        CAPTURE(expected[example]);
        CAPTURE(value(found[example]));
        CAPTURE(shape.head_dim);
        CAPTURE(theta.size());
        CAPTURE(pairs_neighbours);
        REQUIRE(wrong == 0);
    }

 private:
    std::vector<double> rotated(const std::vector<double>& x, long double factor, long double direction) const {
        std::vector<double> y = x;
        for_each_pair([&](std::size_t i0, std::size_t i1, std::size_t token, std::size_t pair) {
            const long double angle = direction * exact_angle(positions[token], theta[pair]);
            const long double c = factor * std::cos(angle), s = factor * std::sin(angle), x0 = x[i0], x1 = x[i1];
            y[i0] = static_cast<double>(c * x0 - s * x1);
            y[i1] = static_cast<double>(s * x0 + c * x1);
        });
        return y;
    }
};

}  // namespace cordage_test
