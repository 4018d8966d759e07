// SPDX-License-Identifier: MIT
// One backward pass of norm and rotation, by the scalar backend and the fastest one, compared with its formulas in
// double.
#pragma once

#include <numeric>
#include <tuple>

#include "cache_path/gradient_sums.hpp"
#include "cache_path/norm_and_rotation.hpp"
#include "cache_path/reference.hpp"
#include "cordage/rotate/backward.hpp"

namespace fuzz {

/// grad_y, x and grad_x of elements T with a norm of weights W; or of heads without a norm, with y instead of x.
template <class T, class W = void>
class gradient_case {
    using format = cordage::element_traits<T>;

 public:
    static constexpr bool has_norm = !std::is_void_v<W>;
    static constexpr bool is_double = std::is_same_v<T, double>;
    /// Roundings of cos, sin, r, the mean of a few thousand numbers, and some products.
    static constexpr double rounding = is_double ? 1e-12 : 1e-5;

    void make(run_tensors& run, const heads_shape& shape, index_t pairs) {
        input& in = run.in;
        const index_t last_lane = shape.head_dim - 2 * pairs;
        first_lane_ = in.coin() ? 0 : in.coin() ? last_lane : in.between(0, std::min<index_t>(last_lane, 255));
        is_rotated_ = !has_norm || !in.rarely(4);
        const auto where = in.between(0, 2);
        met(where == 0 ? "gradients apart" : where == 1 ? "gradients over grad_y" : "gradients over x");
        grad_y_ = run.place<T, format>(shape, where == 1, false);
        x_ = run.place<T, format>(shape, where == 2, false);
        grad_x_ = where == 1 ? grad_y_ : where == 2 ? x_ : run.place<T, format>(shape, true, false);
        if constexpr (has_norm) {
            norm_.make(run, shape, true);
            weights_.make(run, std::ssize(norm_.weights), in.coin());
        }
    }

    auto operand() const {
        const auto made = cordage::grad_through(grad_y_.view, x_.view, grad_x_.view, first_lane_);
        if constexpr (has_norm) {
            const auto normalized = made.normalized(norm_.norm, weights_.span());
            return is_rotated_ ? normalized : normalized.unrotated();
        } else {
            return made;
        }
    }

    /// Expected grad_x and increments of the sums.
    template <class Pairing>
    void expect(const run_tensors& run, const plain_rotation& rotation, const random_source& angles, angle_sums& sums) {
        expected_.clear();
        if constexpr (has_norm) weights_.clear();
        for (index_t i = 0; i < run.batch * run.tokens && grad_y_.view.shape.heads > 0; ++i) {
            const index_t row = i / run.tokens, token = i % run.tokens;
            const head_place g = grad_y_.place(row, token), x = x_.place(row, token), to = grad_x_.place(row, token);
            if (g.row < 0 || x.row < 0 || to.row < 0) continue;
            expect_token<Pairing>(i, g, x, to, rotation, angles, sums);
        }
    }
    void check() const {
        for (const auto& [to, head] : expected_) {
            grad_x_.mark(to);
            for (std::size_t lane = 0; lane < head.lanes.size(); ++lane) {
                const auto at = grad_x_.element_of(to, static_cast<index_t>(lane));
                const auto found = static_cast<double>(format::load(grad_x_.elements->data[at]));
                if (std::fabs(found - head.lanes[lane]) <= head.allowed[lane]) continue;
                std::fprintf(stderr, "fuzz: grad_x [%ld, %ld, %ld, %zu] is %.17g, must be %.17g within %.3g\n", to.row,
                             to.token, to.head, lane, found, head.lanes[lane], head.allowed[lane]);
                fuzz::expect(false, "every lane of grad_x is as the formulas have it");
            }
        }
        if constexpr (has_norm) weights_.check(2.0 * rounding, "dL/dweight is the plain sum");
    }

 private:
    // A lane's numbers, and the magnitudes to which their errors are relative.
    struct lane_numbers {
        double z = 0.0, t = 0.0, z_size = 0.0, t_size = 0.0, w = 1.0;
    };

    // Rotates two numbers and their magnitudes, forward or back.
    static void turn(const plain_turn& by, double direction, double& a, double& b, double& a_size, double& b_size) {
        const double sin = direction * by.sin, first = by.cos * a - sin * b, second = sin * a + by.cos * b;
        a_size = b_size = std::hypot(by.cos, by.sin) * (a_size + b_size);
        a = first, b = second;
    }

    // As documented: with z the input of the norm and t the gradient of its output, r = 1 / sqrt(mean of z^2 +
    // epsilon), grad_z = r (t w - z r^2 mean of t w z), grad_w = t z r.
    template <class Pairing>
    void expect_token(index_t i, head_place g, head_place x, head_place to, const plain_rotation& rotation,
                      const random_source& angles, angle_sums& sums) {
        const heads_shape& s = grad_y_.view.shape;
        const auto head_dim = static_cast<std::size_t>(s.head_dim);
        bool is_after = false, is_over_all = false;
        if constexpr (has_norm) is_after = norm_.norm.is_after_rotation, is_over_all = norm_.norm.is_over_all_heads;
        const auto for_each_pair = [&](const auto& f) {
            for (index_t pair = 0; is_rotated_ && pair < rotation.pairs; ++pair) {
                f(pair, static_cast<std::size_t>(first_lane_ + Pairing::first(pair, rotation.pairs)),
                  static_cast<std::size_t>(first_lane_ + Pairing::second(pair, rotation.pairs)));
            }
        };
        std::vector<std::vector<lane_numbers>> heads;
        std::vector<double> squares, products, product_sizes;
        for (index_t h = 0; h < s.heads; ++h, ++g.head, ++x.head) {
            std::vector<lane_numbers>& head = heads.emplace_back(head_dim);
            for (std::size_t lane = 0; lane < head_dim; ++lane) {
                lane_numbers& n = head[lane];
                const auto element = static_cast<index_t>(lane);
                n.z = number(x_, x_.element_of(x, element)), n.z_size = std::fabs(n.z);
                n.t = number(grad_y_, grad_y_.element_of(g, element)), n.t_size = std::fabs(n.t);
                if constexpr (has_norm) n.w = norm_.factor(h, lane, head_dim);
            }
            for_each_pair([&](index_t pair, std::size_t lane0, std::size_t lane1) {
                lane_numbers &a = head[lane0], &b = head[lane1];
                const plain_turn& by = rotation.at(i, pair);
                if (is_after) {
                    turn(by, 1.0, a.z, b.z, a.z_size, b.z_size);
                } else {
                    turn(by, -1.0, a.t, b.t, a.t_size, b.t_size);
                }
            });
            double square = 0.0, product = 0.0, size = 0.0;
            for (const lane_numbers& n : head) {
                square += n.z * n.z, product += n.t * n.w * n.z, size += n.t_size * std::fabs(n.w) * n.z_size;
            }
            squares.push_back(square), products.push_back(product), product_sizes.push_back(size);
        }
        const auto of = [&](const std::vector<double>& all, std::size_t h) {  // mean of a head
            if (!is_over_all) return all[h] / static_cast<double>(head_dim);
            return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size() * head_dim);
        };
        for (std::size_t h = 0; h < heads.size(); ++h, ++to.head) {
            std::vector<lane_numbers>& head = heads[h];
            head_numbers gx;
            double r = 1.0;
            if constexpr (has_norm) r = 1.0 / std::sqrt(of(squares, h) + norm_.norm.epsilon);
            for (std::size_t lane = 0; lane < head_dim; ++lane) {
                const lane_numbers& n = head[lane];
                const double mean = has_norm ? of(products, h) : 0.0, mean_size = has_norm ? of(product_sizes, h) : 0.0;
                gx.lanes.push_back(r * (n.t * n.w - n.z * r * r * mean));
                gx.allowed.push_back(rounding * r * (n.t_size * std::fabs(n.w) + 2.0 * n.z_size * r * r * mean_size));
                if constexpr (has_norm) {
                    const std::size_t first = is_over_all ? h * head_dim : 0;
                    weights_.add(static_cast<index_t>(first + lane), n.t * n.z * r, n.t_size * n.z_size * r);
                }
            }
            for_each_pair([&](index_t pair, std::size_t lane0, std::size_t lane1) {
                const lane_numbers &a = head[lane0], &b = head[lane1];
                // The rotation's input or output, and the gradient there.
                double n0 = a.z * r * a.w, n1 = b.z * r * b.w, g0 = a.t, g1 = b.t;
                double g0_size = a.t_size, g1_size = b.t_size;
                const double n_size = r * (a.z_size * std::fabs(a.w) + b.z_size * std::fabs(b.w));
                double z_size = n_size;
                if (!has_norm) {  // y, which is already rotated, with grad_y
                    turn(rotation.at(i, pair), 1.0, g0, g1, g0_size, g1_size);
                    const double m = angles.factor(i);
                    g0 /= m * m, g1 /= m * m, g0_size /= m * m, g1_size /= m * m;
                } else if (is_after) {
                    n0 = a.z, n1 = b.z, z_size = a.z_size + b.z_size;
                    g0 = gx.lanes[lane0], g1 = gx.lanes[lane1];
                    g0_size = gx.allowed[lane0] / rounding, g1_size = gx.allowed[lane1] / rounding;
                    turn(rotation.at(i, pair), -1.0, gx.lanes[lane0], gx.lanes[lane1], gx.allowed[lane0],
                         gx.allowed[lane1]);
                }
                add_to(sums, angles, i, pair, g1 * n0 - g0 * n1, g0 * n0 + g1 * n1, (g0_size + g1_size) * z_size);
            });
            plain_format<format>::widen({}, gx, nullptr);
            expected_.emplace_back(to, std::move(gx));
        }
    }
    static void add_to(angle_sums& sums, const random_source& angles, index_t i, index_t pair, double of_angle,
                       double of_factor, double size) {
        const index_t axis = angles.axis(pair);
        const double id = angles.id(i, axis), theta = angles.theta(i, pair), m = angles.factor(i);
        const index_t pairs = angles.pairs(), tokens = angles.tokens();
        sums.inv_freq.add(angles.basis_of(i) * pairs + pair, id * of_angle, std::fabs(id) * size);
        sums.position.add(axis * tokens + i, theta * of_angle, theta * size);
        sums.factor.add(angles.basis_of(i), of_factor / m, size / m);
    }
    static double number(const placed<T, format>& p, index_t i) {
        return static_cast<double>(format::load(p.elements->before[static_cast<std::size_t>(i)]));
    }

    placed<T, format> grad_y_, x_, grad_x_;
    index_t first_lane_ = 0;
    bool is_rotated_ = true;
    [[no_unique_address]] norm_numbers<W> norm_;
    gradient_sums weights_;
    std::vector<std::pair<head_place, head_numbers>> expected_;
};

/// Runs a backward pass of these operands. True if the kernels ran.
template <class... Operands>
class gradient_run {
 public:
    explicit gradient_run(input& in) : in_(in), random_(in.generator()) {}

    bool run() {
        const index_t batch = in_.between(1, 2), pairs = in_.between(1, in_.rarely(16) ? 200 : 40);
        const bool is_long = in_.rarely(8);
        const index_t tokens = is_long ? in_.between(60, 100) : in_.between(0, 9), axes = in_.between(1, 3);
        run_tensors all(in_, random_, batch, tokens);
        random_source angles(in_, random_, batch, tokens, pairs, axes, in_.coin() ? 1.0 : 1.25);
        for (double& id : angles.ids) id = static_cast<double>(random_() % 20'000) - 1000.0;
        try {
            for_each([&]<class O>(O& o) {
                const index_t heads = is_long ? in_.between(1, 2) : in_.between(in_.rarely(32) ? 0 : 1, 19);
                o.make(all, {batch, tokens, heads, 2 * pairs + in_.between(0, 40)}, pairs);
            });
            sums_.inv_freq.make(all, angles.bases() * pairs, in_.coin());
            sums_.position.make(all, axes * batch * tokens, in_.coin());
            sums_.factor.make(all, angles.bases(), in_.coin());
        } catch (const too_large&) {
            met("too large");
            return false;
        }
        met("backward");
        // Both sources have the same angles if there is one axis.
        const auto with = [&](const auto& source) {
            in_.coin() ? call<cordage::half_split>(all, angles, source)
                       : call<cordage::interleaved>(all, angles, source);
        };
        axes == 1 ? with(angles.exact()) : with(angles.of_axes());
        return true;
    }

 private:
    template <class F>
    void for_each(const F& f) {
        std::apply([&](auto&... o) { (f(o), ...); }, operands_);
    }

    template <class Pairing, class Source>
    void call(const run_tensors& all, const random_source& angles, const Source& source) {
        for (gradient_sums* s : {&sums_.inv_freq, &sums_.position, &sums_.factor}) s->clear();
        const plain_rotation rotation(angles, verb::forward, all.batch * all.tokens, angles.pairs());
        for_each([&](auto& o) { o.template expect<Pairing>(all, rotation, angles, sums_); });
        const auto by = [&]<class Backend>(Backend, index_t hands) {
            all.restore();
            const cordage::loop_executor how{[](index_t n, const auto& body) {
                                                 while (n-- > 0) body(n);
                                             },
                                             hands, 1};
            const cordage::rotation_gradients wanted{.inv_freq = sums_.inv_freq.span(),
                                                     .position_ids = sums_.position.span(),
                                                     .attention_factor = sums_.factor.span()};
            std::apply(
                [&](const auto&... o) {
                    cordage::rotate_backward<Pairing, Backend>(how, source, wanted, o.operand()...);
                },
                operands_);
        };
        const auto both = [&]<class Backend>(Backend backend) {
            by(backend, 1);
            const auto alone = all.bytes();
            by(backend, in_.between(2, 4));
            expect(all.bytes() == alone, "the bits are the same whatever the number of hands");
            for_each([](const auto& o) { o.check(); });
            constexpr double rounding = 4.0 * std::max({Operands::rounding...});
            sums_.inv_freq.check(rounding, "dL/dinv_freq is the plain sum");
            sums_.position.check(rounding, "dL/dposition is the plain sum");
            sums_.factor.check(rounding, "dL/dm is the plain sum");
            expect(all.is_untouched(), "nothing beside grad_x and the sums is written");
        };
        both(cordage::backend::scalar{});
        if constexpr (!std::is_same_v<cordage::backend::fastest, cordage::backend::scalar>) {
            both(cordage::backend::fastest{});
        }
    }

    input& in_;
    std::mt19937_64 random_;
    std::tuple<Operands...> operands_;
    angle_sums sums_;
};

}  // namespace fuzz
