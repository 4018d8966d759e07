// SPDX-License-Identifier: MIT
// One operand of a run, from any view to any other with any norm, and its result by a plain reference in double.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "cache_path/norm_and_rotation.hpp"
#include "cache_path/reference.hpp"
#include "cordage/tensors/operand.hpp"

namespace fuzz {

/// Error of reading a format; a transform of 256 lanes accumulates their roundings.
template <class Format>
inline constexpr double rounding_of_reading = 1e-3;
template <>
inline constexpr double rounding_of_reading<cordage::nvfp4> = 0.2;  // two factors, rounded as floats
template <class Format>
inline constexpr double rounding_of_reading<cordage::lane_groups<Format>> = rounding_of_reading<Format>;
template <class Format>
inline constexpr double rounding_of_reading<cordage::hadamard<Format>> = 8.0;

/// From elements X in a format to elements Y in another, with a norm of weights W or none.
template <class X, class XFormat, class Y, class YFormat, class W = void>
class operand_case {
 public:
    static constexpr bool is_one_type = std::is_same_v<X, Y> && std::is_same_v<XFormat, YFormat>;
    static constexpr bool has_norm = !std::is_void_v<W>;
    static constexpr index_t step = std::max(lanes_step<XFormat>, lanes_step<YFormat>);

    placed<X, XFormat> x;
    placed<Y, YFormat> y;
    index_t first_lane = 0;
    bool is_move = false, is_rotated = true;
    [[no_unique_address]] norm_numbers<W> norm;

    /// @param other  null, or an operand whose heads are followed by this one's
    /// @param room   lanes reserved after each head for another operand
    void make(run_tensors& run, const heads_shape& shape, index_t pairs, const operand_case* other, index_t room) {
        input& in = run.in;
        const index_t last_lane = shape.head_dim - 2 * pairs;
        first_lane = in.coin() ? 0 : in.coin() ? last_lane : in.between(0, std::min<index_t>(last_lane, 255));
        is_rotated = !in.rarely(4);
        where_ = other != nullptr ? other->where_ : is_one_type ? in.between(0, 2) : 0;
        is_move = where_ == 2;
        met(where_ == 0 ? "operands apart" : where_ == 1 ? "operands in place" : "operands within one cache");
        if (other != nullptr) met("operands beside others");
        x = tensor<X, XFormat>(run, shape, where_ == 1, other == nullptr ? nullptr : &other->x, room);
        if constexpr (is_one_type) {
            if (where_ != 0) y = x;
            if (is_move) run.choose_slots(y, shape, true);
        }
        if (where_ == 0) y = tensor<Y, YFormat>(run, shape, true, other == nullptr ? nullptr : &other->y, room);
        if constexpr (has_norm) norm.make(run, shape, !cordage::operand<X, Y, XFormat, YFormat>::has_head_format);
    }

    auto operand() const {
        auto made = cordage::from_to(x.view, y.view, first_lane);
        if constexpr (has_norm) {
            auto normalized = made.normalized(norm.norm);
            return is_rotated ? normalized : normalized.unrotated();
        } else {
            return is_rotated ? made : made.unrotated();
        }
    }

    /// Whether a slot is read after it was written: the documented rule.
    bool loses_a_token(const run_tensors& run) const {
        const index_t count = run.batch * run.tokens;
        std::vector<std::array<index_t, 2>> moves;
        for (index_t i = 0; is_move && i < count; ++i) {
            const head_place from = x.place(i / run.tokens, i % run.tokens),
                             to = y.place(i / run.tokens, i % run.tokens);
            if (from.row < 0 || to.row < 0) continue;
            moves.push_back({from.row * x.all.tokens + from.token, to.row * x.all.tokens + to.token});
        }
        for (std::size_t i = 0; i < moves.size(); ++i) {
            for (std::size_t j = i + 1; j < moves.size(); ++j) {
                if (moves[j][0] == moves[i][1]) return true;
            }
        }
        return false;
    }

    /// Makes something invalid that a call must reject; returns false if that is not possible.
    bool break_something(run_tensors& run) {
        input& in = run.in;
        if (run.batch * run.tokens == 0 || x.view.shape.heads == 0) return false;
        switch (in.between(0, 7)) {
            case 0:
                return break_slot(run, x);
            case 1:
                return break_slot(run, y);
            case 2:
                return repeat_slot(run, y);
            case 3:
                return break_scale(run, x);
            case 4:
                return break_scale(run, y);
            case 5:
                first_lane = in.coin() ? -1 : x.view.shape.head_dim;
                return is_rotated;
            case 6:
                if constexpr (has_norm) norm.norm.epsilon = in.coin() ? -1.0 : std::numeric_limits<double>::quiet_NaN();
                return has_norm;
            default:
                return break_format(y.view.format);
        }
    }

    /// The expected heads, for the checks of each call.
    template <class Pairing>
    void expect(const run_tensors& run, const plain_rotation& rotation, const random_angles& angles) {
        expected_.clear();
        const heads_shape& s = x.view.shape;
        for (index_t i = 0; i < run.batch * run.tokens && s.heads > 0; ++i) {
            head_place from = x.place(i / run.tokens, i % run.tokens), to = y.place(i / run.tokens, i % run.tokens);
            if (from.row < 0 || to.row < 0) continue;
            const bool is_unchanged = !has_norm && (!is_rotated || angles.is_identity(i));
            for (head_numbers& head : heads_of_token<Pairing>(i, from, rotation)) {
                const bool is_kept = is_unchanged && keeps_bytes(from, to);
                if (is_kept) {
                    head = read_head(from);  // a turn by 0 would spread a NaN to its pair
                } else {
                    plain_format<YFormat>::widen(y.view.format, head, y.scales_before(to));
                }
                expected_.push_back({from, to, is_kept, std::move(head)});
                ++from.head, ++to.head;
            }
        }
    }

    /// Marks the memory that the call may write, and checks it.
    void check() const {
        for (const expected_head& e : expected_) {
            y.mark(e.to);
            if (e.is_kept) check_kept(e.from, e.to);
            const auto found = plain_format<YFormat>::read(y.view.format, y.head(y.elements->data, e.to).data(),
                                                           y.scales_now(e.to), y.view.shape.head_dim);
            for (std::size_t lane = 0; lane < found.size(); ++lane) {
                if (std::fabs(found[lane] - e.head.lanes[lane]) <= e.head.allowed[lane]) continue;
                if (std::isnan(found[lane]) && std::isnan(e.head.lanes[lane])) continue;
                std::fprintf(stderr, "fuzz: place [%ld, %ld] head %ld lane %zu is %.9g, must be %.9g within %.3g\n",
                             e.to.row, e.to.token, e.to.head, lane, found[lane], e.head.lanes[lane],
                             e.head.allowed[lane]);
                fuzz::expect(false, "every lane is as the plain reference has it");
            }
        }
    }

 private:
    struct expected_head {
        head_place from, to;
        bool is_kept;  ///< quantised heads of one format keep their bytes
        head_numbers head;
    };

    template <class T, class Format>
    placed<T, Format> tensor(run_tensors& run, const heads_shape& shape, bool is_written,
                             const placed<T, Format>* other, index_t room) const {
        if constexpr (!is_in_groups<Format>) {
            if (other != nullptr) return run.place_beside(*other, shape, is_written);
        }
        return run.place<T, Format>(shape, is_written, is_move, cordage::elements_of_head<Format>(room));
    }

    template <class P>
    static bool break_slot(run_tensors& run, P& p) {
        if (!p.slots.is_used) return false;
        const auto i = static_cast<index_t>(run.random() % p.slots.entries.size());
        if (i % p.slots.row_stride >= p.slots.used) return false;
        const index_t end = p.all.batch * (p.slots.is_by_block ? 1 : p.all.tokens), beyond = run.in.between(0, 3);
        p.slots.put(i, run.in.coin() ? end + beyond : -2 - beyond);
        return true;
    }
    template <class P>
    static bool repeat_slot(run_tensors& run, P& p) {
        if (!p.slots.is_used) return false;
        const auto some = [&] { return static_cast<index_t>(run.random() % p.slots.entries.size()); };
        const index_t from = some(), to = some(), entry = p.slots.entries[static_cast<std::size_t>(from)];
        const auto is_read = [&](index_t i) { return i % p.slots.row_stride < p.slots.used; };
        if (from == to || entry < 0 || !is_read(from) || !is_read(to)) return false;
        p.slots.put(to, entry);
        return true;
    }
    template <class P>
    static bool break_scale(run_tensors& run, P& p) {
        using scaled = std::remove_cvref_t<decltype(scaled_part(p.view.format))>;
        if constexpr (cordage::may_have_given_scales<scaled>) {
            const auto i = static_cast<index_t>(run.random() % static_cast<std::size_t>(run.batch * run.tokens));
            head_place at = p.place(i / run.tokens, i % run.tokens);
            if (scaled_part(p.view.format).makes_scales || at.row < 0) return false;
            at.head = p.view.shape.heads - 1;
            static constexpr float wrong[] = {0.0f, -0.0f, HUGE_VALF, std::numeric_limits<float>::quiet_NaN()};
            p.scales->put(p.scale_of(at) + p.scales_of_head() - 1, run.in.one_of(wrong));
            return true;
        }
        return false;
    }
    template <class Format>
    static bool break_format(Format& f) {
        if constexpr (requires { f.lanes_of_scale = 0; }) return f.lanes_of_scale = 1'000'001, true;
        if constexpr (requires { f.tensor_scale; }) return f.tensor_scale = 0.0f, true;
        if constexpr (requires { f.size; }) return f.size = 3, true;
        if constexpr (requires { f.elements_of_group; }) return f.elements_of_group = 0, true;
        return false;
    }

    head_numbers read_head(const head_place& at) const {
        head_numbers head;
        head.lanes = plain_format<XFormat>::read(x.view.format, x.head(x.elements->before.data(), at).data(),
                                                 x.scales_before(at), x.view.shape.head_dim);
        const double largest = largest_of(head.lanes, 0, head.lanes.size());
        head.allowed.assign(head.lanes.size(), 1e-6 * largest * rounding_of_reading<XFormat>);
        return head;
    }
    // A token's heads before they are stored.
    template <class Pairing>
    std::vector<head_numbers> heads_of_token(index_t i, head_place at, const plain_rotation& rotation) const {
        std::vector<head_numbers> all;
        for (; at.head < x.view.shape.heads; ++at.head) all.push_back(read_head(at));
        const auto rotate = [&] {
            for (index_t pair = 0; is_rotated && pair < rotation.pairs; ++pair) {
                const auto lane0 = static_cast<std::size_t>(first_lane + Pairing::first(pair, rotation.pairs));
                const auto lane1 = static_cast<std::size_t>(first_lane + Pairing::second(pair, rotation.pairs));
                const plain_turn turn = rotation.at(i, pair);
                const double m = std::hypot(turn.cos, turn.sin);
                for (head_numbers& head : all) {
                    const double x0 = head.lanes[lane0], x1 = head.lanes[lane1];
                    head.allowed[lane0] = head.allowed[lane1] =
                        m * (head.allowed[lane0] + head.allowed[lane1] + 4e-7 * (std::fabs(x0) + std::fabs(x1)));
                    head.lanes[lane0] = turn.cos * x0 - turn.sin * x1;
                    head.lanes[lane1] = turn.sin * x0 + turn.cos * x1;
                }
            }
        };
        if constexpr (!has_norm) {
            rotate();
        } else if (norm.norm.is_after_rotation) {
            rotate(), round(all), normalize(all);
        } else {
            normalize(all), round(all), rotate();
        }
        return all;
    }

    void normalize(std::vector<head_numbers>& all) const {
        const auto head_dim = static_cast<std::size_t>(x.view.shape.head_dim);
        const auto squares_of = [](const head_numbers& head) {
            double sum = 0.0;
            for (const double number : head.lanes) sum += number * number;
            return sum;
        };
        double of_all = 0.0;
        for (const head_numbers& head : all) of_all += squares_of(head);
        for (std::size_t h = 0; h < all.size(); ++h) {
            head_numbers& head = all[h];
            const double mean = norm.norm.is_over_all_heads ? of_all / static_cast<double>(all.size() * head_dim)
                                                            : squares_of(head) / static_cast<double>(head_dim);
            const double r = 1.0 / std::sqrt(mean + norm.norm.epsilon);
            // Errors of the lanes change their mean.
            const double off = *std::max_element(head.allowed.begin(), head.allowed.end());
            for (std::size_t lane = 0; lane < head_dim; ++lane) {
                const double factor = r * norm.factor(static_cast<index_t>(h), lane, head_dim);
                head.allowed[lane] =
                    std::fabs(factor) * (head.allowed[lane] + std::fabs(head.lanes[lane]) * (4e-6 + 2.0 * off * r));
                head.lanes[lane] *= factor;
            }
        }
    }
    // Rounded to the elements of x; formats of whole heads use floats in between.
    void round(std::vector<head_numbers>& all) const {
        if constexpr (cordage::format_of<XFormat, X>) {
            for (head_numbers& head : all) {
                if (norm.norm.is_rounded_between) plain_format<XFormat>::widen(x.view.format, head, nullptr);
            }
        }
    }

    // Whether a head that nothing changes keeps its bytes and scales: those of quantised heads of one format, unless
    // scales are given and differ.
    bool keeps_bytes(const head_place& from, const head_place& to) const {
        if constexpr (is_one_type && !cordage::format_of<XFormat, X>) {
            if constexpr (requires { x.view.format.elements_of_group; }) {
                if (x.view.format.elements_of_group != y.view.format.elements_of_group) return false;
            }
            if (!is_one_transform(x.view.format, y.view.format)) return false;
            if constexpr (has_scales<XFormat>) {
                const auto &source = scaled_part(x.view.format), &target = scaled_part(y.view.format);
                if (source.lanes_of_scale != target.lanes_of_scale) return false;
                if constexpr (requires { source.tensor_scale; }) {
                    if (source.tensor_scale != target.tensor_scale) return false;
                }
                const auto* const given = x.scales_before(from);
                return target.makes_scales || std::equal(given, given + x.scales_of_head(), y.scales_before(to));
            }
            return true;
        }
        return false;
    }
    void check_kept(const head_place& from, const head_place& to) const {
        const auto was = x.head(x.elements->before.data(), from);
        const auto is = y.head(y.elements->data, to);
        fuzz::expect(std::memcmp(was.data(), is.data(), was.size() * sizeof(X)) == 0,
                     "quantised heads that nothing changes keep their bytes");
        if constexpr (is_one_type && has_scales<XFormat>) {
            const auto* const scales = x.scales_before(from);
            fuzz::expect(std::equal(scales, scales + x.scales_of_head(), y.scales_now(to)), "scales are copied");
        }
    }
    template <class Format>
    static bool is_one_transform(const Format& a, const Format& b) {
        if constexpr (requires { a.size; }) {
            return a.size == b.size;
        } else if constexpr (requires { a.inner; }) {
            return is_one_transform(a.inner, b.inner);
        } else {
            return true;
        }
    }

    index_t where_ = 0;  // separate, in place, within one cache
    std::vector<expected_head> expected_;
};

}  // namespace fuzz
