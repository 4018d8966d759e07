// SPDX-License-Identifier: MIT
// Random rotations in guarded memory, any backend against the scalar one.
#pragma once

#include <array>
#include <cstdlib>
#include <random>
#include <utility>

#include "cordage/rotate/backward.hpp"
#include "rotate/dense.hpp"
#include "rotate/guarded_memory.hpp"

namespace cordage_test {

/// Random draws from a fixed seed.
class draw {
 public:
    explicit draw(unsigned seed) : random_(seed) {}

    index_t between(index_t low, index_t high) {
        return low + static_cast<index_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool coin() { return between(0, 1) == 1; }
    border side() { return coin() ? border::first : border::last; }

    /// Of magnitude 1/16 to 2.
    template <cordage::element T>
    T element() {
        const double size = 0.0625 + 1.9375e-5 * static_cast<double>(between(0, 100'000));
        return stored<T>(coin() ? size : -size);
    }
    /// Near or far, before or after 0, integer or fractional.
    template <cordage::position_type P>
    P position() {
        constexpr index_t farthest = std::is_same_v<P, float> ? (1 << 24) - 1 : (index_t{1} << 31) - 1;
        const index_t reach = coin() ? 100 : farthest;
        const auto p = static_cast<P>(between(-reach, reach)) + (std::is_integral_v<P> ? P(0) : P(between(0, 3)) / 4);
        farthest_ = std::max(farthest_, std::fabs(static_cast<double>(p)));
        return static_cast<P>(p);
    }
    /// Magnitude of the farthest position so far.
    double farthest() const { return farthest_; }

    /// Common sizes of a head, and any other, even or odd.
    index_t head_dim(index_t smallest) {
        constexpr index_t common[] = {64, 80, 96, 128, 192, 256};
        const index_t any = between(smallest, smallest + 70);
        return coin() ? any : std::max(smallest, common[between(0, 5)]);
    }

 private:
    std::mt19937_64 random_;
    double farthest_ = 1.0;
};

/// One block of memory for each role in a case, reused.
inline const guarded_memory& memory_of(std::size_t role) {
    static const std::array<guarded_memory, 11> all;
    return all[role];
}

/// Numbers at a border, initially zero.
template <class T>
std::span<T> guarded_numbers(draw& d, std::size_t role, index_t count) {
    T* first = memory_of(role).block<T>(count, d.side());
    std::fill_n(first, count, T{});
    return {first, static_cast<std::size_t>(count)};
}

/// A tensor of random numbers, its first or last element at a border, with axes in any order and gaps.
template <cordage::element T>
struct random_tensor {
    cordage::heads_view<T> view;
    std::vector<T> before;  // the gaps too

    random_tensor(draw& d, std::size_t role, const heads_shape& shape) : view{nullptr, shape} {
        std::array<std::pair<index_t, index_t*>, 3> axes{
            {{shape.batch, &view.batch_stride}, {shape.tokens, &view.token_stride}, {shape.heads, &view.head_stride}}};
        for (std::size_t i = 3; i > 1; --i) std::swap(axes[i - 1], axes[static_cast<std::size_t>(d.between(0, 2)) % i]);
        index_t inside = shape.head_dim;
        for (const auto& [count, stride] : axes) {
            *stride = inside + (d.coin() ? d.between(0, 9) : 0);
            inside = *stride * std::max<index_t>(count, 1);
        }
        const index_t bytes = cordage::tensors_detail::bytes_of(view, shape);
        const index_t elements = cordage::tensors_detail::is_empty(shape) ? 0 : bytes / index_t{sizeof(T)};
        view.data = memory_of(role).block<T>(elements, d.side());
        for (index_t i = 0; i < elements; ++i) view.data[i] = d.element<T>();
        before.assign(view.data, view.data + elements);
    }

    /// Checks that the gaps between heads are unchanged.
    bool gaps_are_untouched() const {
        std::vector<T> now(view.data, view.data + before.size()), then = before;
        cordage::heads_view<T> inside_now = view, inside_then = view;
        inside_now.data = now.data();
        inside_then.data = then.data();
        scatter(gather(inside_then), inside_now);
        return same_bits(now, then);
    }
};

/// Checks that `found` is `expected`, up to the rounding of two backends; lanes that are not rotated exactly.
template <class T>
void check_tensor(const draw& d, const random_tensor<T>& found, const std::vector<T>& expected, index_t first_lane,
                  index_t rotary_dim) {
    const std::vector<T> dense = gather(found.view);
    const index_t head_dim = found.view.shape.head_dim;
    std::size_t wrong = 0, example = 0;
    for (std::size_t i = 0; i < dense.size(); ++i) {
        const double wanted = value(expected[i]);
        const index_t lane = static_cast<index_t>(i) % head_dim - first_lane;
        const bool is_rotated = lane >= 0 && lane < rotary_dim;
        const double allowed = is_rotated ? 2.0 * allowed_error<T>(5.0, d.farthest(), wanted) : 0.0;
        if (!(std::fabs(value(dense[i]) - wanted) <= allowed)) ++wrong, example = i;
    }
    CAPTURE(example);
    CAPTURE(head_dim);
    CAPTURE(first_lane);
    CAPTURE(rotary_dim);
    REQUIRE(wrong == 0);
    REQUIRE(found.gaps_are_untouched());
}

/// The first rotated lane: 0, that of the last lanes, or any.
inline index_t random_first_lane(draw& d, const heads_shape& shape, index_t rotary_dim) {
    return d.coin() ? 0 : d.coin() ? shape.head_dim - rotary_dim : d.between(0, shape.head_dim - rotary_dim);
}

template <class Source>
heads_shape random_shape(draw& d, const Source& angles, index_t batch) {
    return {batch, angles.tokens(), d.between(0, 4), d.head_dim(2 * angles.pairs())};
}

/// Forward, inverse or transpose of two tensors, each in place or into another.
template <class Pairing, class Backend, class T, class Source>
void check_one_map(draw& d, const Source& angles, index_t batch) {
    using namespace cordage;
    const heads_shape q_shape = random_shape(d, angles, batch), k_shape = random_shape(d, angles, batch);
    const random_tensor<T> q(d, 0, q_shape), k(d, 1, k_shape);
    const random_tensor<T> q_to = d.coin() ? q : random_tensor<T>(d, 2, q_shape);
    const random_tensor<T> k_to = d.coin() ? k : random_tensor<T>(d, 3, k_shape);
    const index_t rotary_dim = 2 * angles.pairs();
    const index_t q_lane = random_first_lane(d, q_shape, rotary_dim);
    const index_t k_lane = random_first_lane(d, k_shape, rotary_dim);
    const index_t map = d.between(0, 2);
    const auto run = [&]<class B>(B, const operand<T>& first, const operand<T>& second) {
        if (map == 0) rotate_forward<Pairing, B>(angles, first, second);
        if (map == 1) rotate_inverse<Pairing, B>(angles, first, second);
        if (map == 2) rotate_backward<Pairing, B>(angles, first, second);
    };
    std::vector<T> q_expected = gather(q.view), k_expected = gather(k.view);
    run(backend::scalar{}, in_place(token_major(q_expected.data(), q_shape), q_lane),
        in_place(token_major(k_expected.data(), k_shape), k_lane));
    run(Backend{}, from_to(q.view, q_to.view, q_lane), from_to(k.view, k_to.view, k_lane));
    CAPTURE(map);
    check_tensor(d, q_to, q_expected, q_lane, rotary_dim);
    check_tensor(d, k_to, k_expected, k_lane, rotary_dim);
}

/// The backward pass with some of the gradients to frequencies, positions and factor, grad_x separate, over grad_y or
/// over y.
template <class Pairing, class Backend, class T, class Source>
void check_backward(draw& d, const Source& angles, index_t batch) {
    using namespace cordage;
    const heads_shape shape = random_shape(d, angles, batch);
    const random_tensor<T> g(d, 4, shape), y(d, 5, shape);
    const index_t where = d.between(0, 2), first_lane = random_first_lane(d, shape, 2 * angles.pairs());
    const random_tensor<T> g_x = where == 0 ? g : where == 1 ? y : random_tensor<T>(d, 6, shape);
    constexpr bool has_bases = differentiable_angle_source<Source>;
    const index_t bases = has_bases ? angle_detail::bases_of(angles) : 0, axes = angle_detail::axes_of(angles);
    const index_t to_inv_freq = d.coin() ? bases * angles.pairs() : 0;
    const index_t to_position = has_bases && d.coin() ? axes * batch * angles.tokens() : 0;
    const index_t to_factor = d.coin() ? bases : 0, to_angles = d.coin() ? batch * angles.tokens() * angles.pairs() : 0;
    const auto run = [&]<class B>(B, std::span<double> all, const heads_view<T>& from_g, const heads_view<T>& from_y,
                                  const heads_view<T>& to) {
        const auto take = [&](index_t count) {
            const auto taken = all.first(static_cast<std::size_t>(count));
            all = all.subspan(static_cast<std::size_t>(count));
            return taken;
        };
        const rotation_gradients grads{.inv_freq = take(to_inv_freq),
                                       .position_ids = take(to_position),
                                       .attention_factor = take(to_factor),
                                       .angles = take(to_angles)};
        rotate_backward<Pairing, B>(angles, grads, grad_through(from_g, from_y, to, first_lane));
    };
    const index_t count = to_inv_freq + to_position + to_factor + to_angles;
    const std::span<double> found = guarded_numbers<double>(d, 7, count);
    std::vector<double> expected(found.begin(), found.end());
    std::vector<T> expected_x = gather(g.view), dense_y = gather(y.view);
    const heads_view<T> dense_x = token_major(expected_x.data(), shape);
    run(backend::scalar{}, expected, dense_x, token_major(dense_y.data(), shape), dense_x);
    run(Backend{}, found, g.view, y.view, g_x.view);
    CAPTURE(where);
    check_tensor(d, g_x, expected_x, first_lane, 2 * angles.pairs());
    const auto terms = static_cast<double>(shape.batch * shape.tokens * shape.heads * angles.pairs());
    for (std::size_t i = 0; i < found.size(); ++i) {
        REQUIRE(std::fabs(found[i] - expected[i]) <= gradient_sum<T> * 8.0 * terms * d.farthest());
    }
}

/// Passes a basis and the positions of a case, [rows, tokens] at a border, to `f`; rows is 1 or the tensors' batch.
template <cordage::position_type P, class F>
void with_positions(draw& d, index_t axes, const F& f) {
    const index_t batch = d.between(1, 3), rows = d.coin() ? 1 : batch, tokens = d.between(0, 5);
    const cordage::basis b(frequencies(2 * (d.coin() ? d.between(1, 70) : 8 * d.between(1, 16))), 1.25);
    const std::span<P> ids = guarded_numbers<P>(d, 8, axes * rows * tokens);
    for (P& p : ids) p = d.position<P>();
    f(b, ids.data(), batch, rows, tokens);
}

/// Sources of angles by name: with(d, f) calls f(angles, batch of the tensors).
template <class Angles, cordage::position_type P>
struct angles_of_positions {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(d, 1,
                          [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                              f(Angles(b, cordage::position_view<P>(ids, rows, tokens, tokens)), batch);
                          });
    }
};
template <cordage::position_type P>
using exact = angles_of_positions<cordage::exact_angles<P>, P>;

/// Calls f(draw, angles, batch of the tensors) for `cases` cases of one source of angles, of a seed.
template <class Kind, class F>
void for_random_cases(unsigned seed, int cases, const F& f) {
    for (int i = 0; i < cases; ++i) {
        draw d(seed * 1'000'003u + static_cast<unsigned>(i));
        CAPTURE(i);
        Kind::with(d, [&](const auto& angles, index_t batch) { f(d, angles, batch); });
    }
}

/// `cases` cases of one source, type, pairing and backend, of a seed.
template <class Pairing, class Backend, class T, class Kind>
void check_cases(unsigned seed, int cases) {
    for_random_cases<Kind>(seed, cases, []<class Source>(draw& d, const Source& angles, index_t batch) {
        if constexpr (cordage::differentiable_angle_source<Source> || cordage::has_free_angles<Source>) {
            if (d.coin()) return check_backward<Pairing, Backend, T>(d, angles, batch);
        }
        check_one_map<Pairing, Backend, T>(d, angles, batch);
    });
}

}  // namespace cordage_test
