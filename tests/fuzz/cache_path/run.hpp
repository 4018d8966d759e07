// SPDX-License-Identifier: MIT
// One call from the projection to the cache, or of keys that move within it, and what a plain reference makes of it.
// Every tensor ends or begins at a page that nobody may touch.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "cache_path/reference.hpp"
#include "cordage/rotate/forward.hpp"
#include "input.hpp"
#include "rotate/guarded_memory.hpp"
#include "run_counter.hpp"

namespace fuzz {

using cordage::heads_shape;
using cordage::heads_view;

/// One run of elements X in a format to elements Y in another. True if the kernels ran, false if the call was refused.
template <class X, class XFormat, class Y, class YFormat, bool HasNorm>
bool run_cache_path(input& in);

/// Memory by its role in a run; of 512 KB each.
inline const cordage_test::guarded_memory& guarded(std::size_t role) {
    static const std::array<cordage_test::guarded_memory, 24> all;
    return all[role];
}
inline constexpr index_t guarded_bytes = index_t{1} << 19;

/// `count` numbers at a border, and what they were.
template <class T>
struct numbers {
    T* data = nullptr;
    std::vector<T> before;

    numbers() = default;
    template <class Make>
    numbers(input& in, std::size_t role, index_t count, const Make& make)
        : data(guarded(role).block<T>(count, in.coin() ? cordage_test::border::first : cordage_test::border::last)) {
        for (index_t i = 0; i < count; ++i) before.push_back(data[i] = make(i));
    }
    void restore() const { std::copy(before.begin(), before.end(), data); }
    bool is_untouched(std::size_t i) const { return std::memcmp(data + i, &before[i], sizeof(T)) == 0; }
};

/// How many lanes a head may have in a format, in steps.
template <class Format>
inline constexpr index_t lanes_step = cordage::lanes_of_element<Format>;
template <class Format>
inline constexpr index_t lanes_step<cordage::hadamard<Format>> = 64;
template <class Format>
inline constexpr index_t lanes_step<cordage::lane_groups<Format>> =
    std::max<index_t>(lanes_step<Format>, 16 * cordage::lanes_of_element<Format>);

/// A format's numbers, at random; scales are pointed to later.
template <class Format>
Format random_format(input&, index_t) {
    return {};
}
template <class Format>
requires requires(Format f) { f.scales; }
Format random_format(input& in, index_t head_dim) {
    Format f;
    if (in.coin() && head_dim % 2 == 0) f.lanes_of_scale = head_dim / 2;
    return f;
}
template <class Format>
requires requires(Format f) { f.inner; }
Format random_format(input& in, index_t) {
    Format f;
    if constexpr (requires { f.size; }) f.size = in.coin() ? 64 : in.coin() ? 1 : 32;
    return f;
}

/// Slots or blocks of a cache for the tokens of a call.
struct table {
    bool is_used = false, is_by_block = false, is_wide = false;
    index_t row_stride = 0;
    std::vector<index_t> entries;
    numbers<std::int32_t> narrow;
    numbers<std::int64_t> wide;
};

/// A tensor of a run, dense or in a cache.
template <class T, class Format>
struct placed {
    heads_view<T, Format> view;  // of the tokens
    numbers<T> elements;
    numbers<float> scales;
    table slots;
    index_t block_size = 1, blocks = 0;

    // Block and slot, or row and token; a row of -1 is left out. The documented rule once more.
    head_place place(index_t row, index_t token) const {
        if (!slots.is_used) return {row, token, 0};
        const index_t i = row * slots.row_stride + (slots.is_by_block ? token / block_size : token);
        const index_t entry = slots.entries[static_cast<std::size_t>(i)];
        if (entry < 0) return {-1, 0, 0};
        return slots.is_by_block ? head_place{entry, token % block_size, 0}
                                 : head_place{entry / block_size, entry % block_size, 0};
    }
    index_t element_of(const head_place& at) const {
        return at.row * view.batch_stride + at.token * view.token_stride + at.head * view.head_stride;
    }
    Format format_of(const std::vector<float>& its_scales) const {
        Format f = view.format;
        if constexpr (requires { f.scales; }) f.scales.data = const_cast<float*>(its_scales.data());
        return f;
    }
};

template <class X, class XFormat, class Y, class YFormat, bool HasNorm>
class cache_path_run {
 public:
    explicit cache_path_run(input& in) : in_(in), random_(in.generator()) {}

    bool run() {
        batch_ = in_.between(1, 2);
        const bool is_long = in_.rarely(16);
        tokens_ = is_long ? in_.between(100, 150) : in_.between(0, 9);
        const index_t most_pairs = is_long ? 32 : in_.rarely(4) ? 128 : 40;
        pairs_ = in_.between(1, most_pairs);
        from_ = random_basis(in_.coin() ? 1.0 : 1.25);
        to_ = random_basis(in_.coin() ? 1.0 : 0.8);
        const auto kind = in_.between(0, 3);  // from raw keys; to another position; to another basis too; no change
        if (kind == 1 || kind == 3) to_ = from_;
        if (kind == 0) from_ = random_basis(1.0);
        for (index_t i = 0; i < batch_ * tokens_; ++i) {
            const auto some = [&] { return static_cast<std::int32_t>(random_() % 1'000'000) - 1000; };
            old_ids_.push_back(kind == 0 ? 0 : some());
            new_ids_.push_back(kind == 3 || random_() % 8 == 0 ? old_ids_.back() : some());
        }
        const std::size_t count = in_.coin() ? 2 : 1;
        for (std::size_t i = 0; i < count; ++i) {
            if (!make_operand(i, is_long)) return false;
        }
        const bool done = call<cordage::half_split>(in_.coin());
        return done;
    }

 private:
    struct one_operand {
        placed<X, XFormat> x;
        placed<Y, YFormat> y;
        bool is_in_place = false, is_move = false, is_rotated = true;
        index_t first_lane = 0;
        norm_numbers norm;
        numbers<float> weights;
    };

    std::optional<cordage::basis> random_basis(double factor) {
        std::vector<double> theta;
        const double base = 100.0 + 1000.0 * static_cast<double>(in_.between(0, 200));
        for (index_t i = 0; i < pairs_; ++i) {
            theta.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs_)));
        }
        return cordage::basis(theta, factor);
    }

    template <class T, class Format>
    bool place(placed<T, Format>& p, std::size_t role, const heads_shape& shape, bool is_written, bool must_be_cache) {
        constexpr bool in_groups = requires(Format f) { f.elements_of_group; };
        heads_shape all = shape;
        p.slots.is_used = must_be_cache || in_.coin();
        if (p.slots.is_used) {
            p.block_size = in_.between(1, 5);
            p.slots.is_by_block = in_.coin();
            const index_t used = p.slots.is_by_block ? (tokens_ + p.block_size - 1) / p.block_size : tokens_;
            const index_t needed = batch_ * used;
            p.blocks = (p.slots.is_by_block ? needed : (needed + p.block_size - 1) / p.block_size) + in_.between(1, 3);
            all.batch = p.blocks, all.tokens = p.block_size;
            p.slots.row_stride = used + (p.slots.is_by_block ? in_.between(0, 2) : 0);
            fill_table(p, role, is_written);
        }
        const index_t head = cordage::elements_of_head<Format>(shape.head_dim);
        Format format = random_format<Format>(in_, shape.head_dim);
        index_t count = 0;
        if constexpr (in_groups) {
            static constexpr index_t sizes[] = {1, 2, 4, 8, 16};
            const auto view = cordage::group_major(static_cast<T*>(nullptr), all, in_.one_of(sizes), format.inner);
            p.view = view;
            count = all.batch * view.batch_stride;
        } else {
            p.view = {nullptr, all, 0, 0, 0, {}, format};
            std::pair<index_t, index_t*> axes[] = {{all.heads, &p.view.head_stride},
                                                   {all.tokens, &p.view.token_stride},
                                                   {all.batch, &p.view.batch_stride}};
            for (int i = 2; i > 0; --i) std::swap(axes[i], axes[in_.between(0, i)]);
            count = head;
            for (const auto& [size, stride] : axes) {
                *stride = count + (in_.coin() ? in_.between(0, 3) : 0);
                count += std::max<index_t>(size - 1, 0) * *stride;
            }
        }
        if (tokens_ == 0 || shape.heads == 0) count = 0;
        if (count * index_t{sizeof(T)} > guarded_bytes) return false;
        p.elements = numbers<T>(in_, role, count, [&](index_t) { return random_element<T>(); });
        p.view.data = p.elements.data;
        if constexpr (requires { format.scales; }) {
            const index_t each = format.lanes_of_scale == 0 ? 1 : 2;
            cordage::scale_table& s = p.view.format.scales;
            s = {nullptr, all.tokens * shape.heads * each, shape.heads * each, each};
            p.scales = numbers<float>(in_, role + 4, all.batch * s.row_stride,
                                      [&](index_t) { return static_cast<float>(uniform(random_, 0.001, 0.01)); });
            s.data = p.scales.data;
        }
        if (p.slots.is_used) with_table(p, shape);
        return true;
    }

    template <class P>
    void with_table(P& p, const heads_shape& shape) {
        const auto view_of = [&](const auto* entries) {
            return p.slots.is_by_block
                       ? cordage::in_blocks(p.view, entries, shape.batch, shape.tokens, p.slots.row_stride)
                       : cordage::in_slots(p.view, entries, shape.batch, shape.tokens);
        };
        p.view = p.slots.is_wide ? view_of(p.slots.wide.data) : view_of(p.slots.narrow.data);
    }

    // Entries in any order, in order, or as they come from the back; each once where they are written.
    template <class P>
    void fill_table(P& p, std::size_t role, bool is_written) {
        table& t = p.slots;
        const index_t room = t.is_by_block ? p.blocks : p.blocks * p.block_size, count = batch_ * t.row_stride;
        std::vector<index_t> free(static_cast<std::size_t>(room));
        for (std::size_t i = 0; i < free.size(); ++i) free[i] = static_cast<index_t>(i);
        std::shuffle(free.begin(), free.end(), random_);
        const index_t used = t.is_by_block ? (tokens_ + p.block_size - 1) / p.block_size : tokens_;
        const auto order = in_.between(0, 3);
        const auto taken = free.begin() + std::min(batch_ * used, room);
        if (order == 0) std::sort(free.begin(), taken);
        if (order == 1) std::sort(free.begin(), taken, std::greater<>());
        if (order == 2) std::sort(free.begin(), free.end());
        t.entries.clear();
        std::size_t next = 0;
        for (index_t i = 0; i < count; ++i) {
            if (i % t.row_stride >= used) {
                t.entries.push_back(1'000'000);  // past the tokens, and not read
            } else if (random_() % 10 == 0) {
                t.entries.push_back(-1 - static_cast<index_t>(random_() % 3));
            } else {
                const bool again = !is_written && random_() % 8 == 0;
                t.entries.push_back(again ? free[random_() % free.size()] : free[next++]);
            }
        }
        t.is_wide = in_.coin();
        const auto entry = [&](index_t i) { return t.entries[static_cast<std::size_t>(i)]; };
        if (t.is_wide) {
            t.wide = numbers<std::int64_t>(in_, role + 8, count, entry);
        } else {
            t.narrow = numbers<std::int32_t>(in_, role + 8, count,
                                             [&](index_t i) { return static_cast<std::int32_t>(entry(i)); });
        }
    }

    template <class T>
    T random_element() {
        const double number = uniform(random_, -2.0, 2.0);
        if constexpr (requires(T x) { x.codes; }) {
            T block;
            block.d = cordage::to_float16(static_cast<float>(number / 100.0));
            for (auto& code : block.codes)
                code = static_cast<std::remove_reference_t<decltype(code)>>(random_() % 251 - 125);
            return block;
        } else if constexpr (requires { cordage::element_traits<T>::store(0.0f); }) {
            return cordage::element_traits<T>::store(static_cast<float>(number));
        } else if constexpr (std::is_same_v<T, std::int8_t>) {
            return static_cast<T>(static_cast<int>(random_() % 255) - 127);
        } else {
            return std::bit_cast<T>(static_cast<std::uint8_t>(random_() % 0x7b | (random_() % 2) << 7));  // no NaN
        }
    }

    bool make_operand(std::size_t i, bool is_long) {
        constexpr index_t step = std::max(lanes_step<XFormat>, lanes_step<YFormat>);
        constexpr bool is_one_type = std::is_same_v<X, Y> && std::is_same_v<XFormat, YFormat>;
        one_operand& o = operands_[i];
        const index_t least = (2 * pairs_ + step - 1) / step;
        const heads_shape shape{batch_, tokens_, is_long ? in_.between(1, 2) : in_.between(in_.rarely(32) ? 0 : 1, 10),
                                step * in_.between(least, least + (step == 1 ? 40 : 1))};
        const index_t last_lane = shape.head_dim - 2 * pairs_;
        o.first_lane = in_.coin() ? 0 : in_.coin() ? last_lane : in_.between(0, std::min<index_t>(last_lane, 255));
        o.is_rotated = !in_.rarely(4);
        const auto where = is_one_type ? in_.between(0, 2) : 0;  // apart, in place, a move
        o.is_in_place = where == 1, o.is_move = where == 2;
        if (!place(
                o.x, i, shape, o.is_in_place, o.is_move || requires(XFormat f) { f.elements_of_group; }))
            return false;
        if constexpr (is_one_type) {
            if (where != 0) o.y = o.x;
            if (o.is_move) {
                o.y.slots.is_by_block = in_.coin();
                const index_t used = o.y.slots.is_by_block ? (tokens_ + o.y.block_size - 1) / o.y.block_size : tokens_;
                if (batch_ * used > (o.y.slots.is_by_block ? o.y.blocks : o.y.blocks * o.y.block_size)) return false;
                o.y.slots.row_stride = used;
                fill_table(o.y, 2 + i, true);
                o.y.view.shape.batch = o.y.blocks, o.y.view.shape.tokens = o.y.block_size;
                with_table(o.y, shape);
            }
        }
        if (where == 0 && !place(
                              o.y, 2 + i, shape, true, requires(YFormat f) { f.elements_of_group; }))
            return false;
        if constexpr (HasNorm) {
            norm_numbers& n = o.norm;
            n.is_used = true;
            n.epsilon = in_.coin() ? 1e-6 : 1e-2;
            n.adds_one = in_.coin();
            n.is_after_rotation = in_.rarely(4);
            n.is_rounded_between = in_.rarely(4);
            n.is_over_all_heads = !cordage::operand<X, Y, XFormat, YFormat>::has_head_format && in_.rarely(4);
            if (!in_.rarely(4)) {
                const index_t count = (n.is_over_all_heads ? shape.heads : 1) * shape.head_dim;
                o.weights = numbers<float>(in_, 16 + i, count,
                                           [&](index_t) { return static_cast<float>(uniform(random_, -1.0, 2.0)); });
                n.weights.assign(o.weights.before.begin(), o.weights.before.end());
            }
        }
        return true;
    }

    auto operand_of(const one_operand& o) const {
        auto made = cordage::from_to(o.x.view, o.y.view, o.first_lane);
        if constexpr (HasNorm) {
            auto normalized = made.normalized(cordage::rms_norm<>{.weight = o.weights.data,
                                                                  .epsilon = o.norm.epsilon,
                                                                  .adds_one = o.norm.adds_one,
                                                                  .is_over_all_heads = o.norm.is_over_all_heads,
                                                                  .is_after_rotation = o.norm.is_after_rotation,
                                                                  .is_rounded_between = o.norm.is_rounded_between});
            return o.is_rotated ? normalized : normalized.unrotated();
        } else {
            return o.is_rotated ? made : made.unrotated();
        }
    }

    // Whether a slot is read after it was written: the rule once more.
    bool loses_a_token(const one_operand& o) const {
        const index_t count = batch_ * tokens_;
        const auto moves = [&](index_t i) {
            const head_place from = o.x.place(i / tokens_, i % tokens_), to = o.y.place(i / tokens_, i % tokens_);
            return std::array{from.row < 0 || to.row < 0 ? -1 : from.row * o.x.block_size + from.token,
                              from.row < 0 || to.row < 0 ? -1 : to.row * o.x.block_size + to.token};
        };
        for (index_t i = 0; o.is_move && i < count; ++i) {
            for (index_t j = i + 1; j < count; ++j) {
                if (moves(i)[1] >= 0 && moves(j)[0] == moves(i)[1]) return true;
            }
        }
        return false;
    }

    template <class Pairing>
    bool call(bool other_pairing) {
        if constexpr (std::is_same_v<Pairing, cordage::half_split>) {
            if (other_pairing) return call<cordage::interleaved>(false);
        }
        using cordage::exact_angles, cordage::position_view;
        const position_view<std::int32_t> new_ids(new_ids_.data(), batch_, tokens_, tokens_),
            old_ids(old_ids_.data(), batch_, tokens_, tokens_);
        const auto angles = exact_angles(*to_, new_ids) - exact_angles(*from_, old_ids);
        const index_t hands = in_.between(1, 3);
        const auto backwards = [](index_t n, const auto& body) {
            while (n-- > 0) body(n);
        };
        const cordage::loop_executor how{backwards, hands};
        const bool has_two = operands_[1].x.view.shape.head_dim > 0;
        const bool must_refuse = loses_a_token(operands_[0]) || (has_two && loses_a_token(operands_[1]));
        const auto try_backend = [&]<class Backend>(Backend) {
            for (const one_operand& o : operands_) o.x.elements.restore(), o.x.scales.restore(), restore_y(o);
            bool is_refused = false;
            try {
                if (has_two) {
                    cordage::rotate_forward<Pairing, Backend>(how, angles, operand_of(operands_[0]),
                                                              operand_of(operands_[1]));
                } else {
                    cordage::rotate_forward<Pairing, Backend>(how, angles, operand_of(operands_[0]));
                }
            } catch (const cordage::error& why) {
                if (!must_refuse) std::fprintf(stderr, "fuzz: %s\n", why.what());
                is_refused = true;
            }
            expect(is_refused == must_refuse, "a sound call runs, and one that loses a token is refused");
            for (std::size_t i = 0; i < (has_two ? 2u : 1u); ++i) check<Pairing>(operands_[i], is_refused);
        };
        try_backend(cordage::backend::scalar{});
        if constexpr (!std::is_same_v<cordage::backend::fastest, cordage::backend::scalar>) {
            try_backend(cordage::backend::fastest{});
        }
        return !must_refuse;
    }
    void restore_y(const one_operand& o) const {
        if (!o.is_in_place && !o.is_move) o.y.elements.restore(), o.y.scales.restore();
    }

    // What a token's heads become, before they are stored.
    template <class Pairing>
    std::vector<head_numbers> expected_heads(const one_operand& o, index_t row, index_t token,
                                             const head_place& from) const {
        const heads_shape& s = o.x.view.shape;
        const auto head_dim = static_cast<std::size_t>(s.head_dim);
        const XFormat format = o.x.format_of(o.x.scales.before);
        std::vector<head_numbers> all;
        for (index_t h = 0; h < s.heads; ++h) {
            const head_place at{from.row, from.token, h};
            head_numbers head;
            head.lanes =
                plain_format<XFormat>::read(format, o.x.elements.before.data() + o.x.element_of(at), at, s.head_dim);
            for (std::size_t i = 0; i < head_dim; ++i)
                head.allowed.push_back(1e-6 * largest_of(head.lanes, 0, head_dim) * hadamard_room);
            all.push_back(std::move(head));
        }
        const auto rotate = [&] {
            const std::size_t i = static_cast<std::size_t>(row * tokens_ + token);
            const double m = to_->attention_factor() / from_->attention_factor();
            for (index_t pair = 0; o.is_rotated && pair < pairs_; ++pair) {
                const auto p = static_cast<std::size_t>(pair);
                const turn a = turn_of(new_ids_[i], to_->inv_freq()[p]), b = turn_of(old_ids_[i], from_->inv_freq()[p]);
                const double c = static_cast<double>(a.cos * b.cos + a.sin * b.sin),
                             sn = static_cast<double>(a.sin * b.cos - a.cos * b.sin);
                const auto lane0 = static_cast<std::size_t>(o.first_lane + Pairing::first(pair, pairs_));
                const auto lane1 = static_cast<std::size_t>(o.first_lane + Pairing::second(pair, pairs_));
                for (head_numbers& head : all) {
                    const double x0 = head.lanes[lane0], x1 = head.lanes[lane1];
                    const double room = std::fabs(m) * (head.allowed[lane0] + head.allowed[lane1] +
                                                        4e-7 * (std::fabs(x0) + std::fabs(x1)));
                    head.lanes[lane0] = m * (c * x0 - sn * x1);
                    head.lanes[lane1] = m * (sn * x0 + c * x1);
                    head.allowed[lane0] = head.allowed[lane1] = room;
                }
            }
        };
        const auto normalize = [&] {
            const norm_numbers& n = o.norm;
            double of_all = 0.0;
            for (const head_numbers& head : all) {
                for (const double x : head.lanes) of_all += x * x;
            }
            for (std::size_t h = 0; h < all.size(); ++h) {
                head_numbers& head = all[h];
                double squares = 0.0;
                for (const double x : head.lanes) squares += x * x;
                const double mean = n.is_over_all_heads ? of_all / static_cast<double>(all.size() * head_dim)
                                                        : squares / static_cast<double>(head_dim);
                const double r = 1.0 / std::sqrt(mean + n.epsilon);
                // What the lanes may be off changes their mean.
                double off = 0.0;
                for (const double a : head.allowed) off = std::max(off, a);
                for (std::size_t i = 0; i < head_dim; ++i) {
                    const double w = n.weights.empty() ? 1.0
                                                       : (n.adds_one ? 1.0 : 0.0) +
                                                             n.weights[(n.is_over_all_heads ? h * head_dim : 0) + i];
                    const double factor = std::fabs(r * w);
                    head.allowed[i] = factor * (head.allowed[i] + std::fabs(head.lanes[i]) * (4e-6 + 2.0 * off * r));
                    head.lanes[i] *= r * w;
                }
            }
        };
        const auto round = [&] {
            if constexpr (requires { plain_format<XFormat>::widen(format, all[0]); }) {
                for (head_numbers& head : all) {
                    if (o.norm.is_rounded_between) plain_format<XFormat>::widen(format, head);
                }
            }
        };
        if (!o.norm.is_used) {
            rotate();
        } else if (o.norm.is_after_rotation) {
            rotate(), round(), normalize();
        } else {
            normalize(), round(), rotate();
        }
        return all;
    }

    bool changes_nothing(const one_operand& o, index_t row, index_t token) const {
        if (o.norm.is_used) return false;
        if (!o.is_rotated) return true;
        const auto i = static_cast<std::size_t>(row * tokens_ + token);
        return std::equal(to_->inv_freq().begin(), to_->inv_freq().end(), from_->inv_freq().begin()) &&
               to_->attention_factor() == from_->attention_factor() && new_ids_[i] == old_ids_[i];
    }

    template <class Pairing>
    void check(const one_operand& o, bool is_refused) const {
        const heads_shape& s = o.x.view.shape;
        const auto& y = o.y;
        std::vector<bool> written(y.elements.before.size()), scaled(y.scales.before.size());
        for (index_t i = 0; !is_refused && s.heads > 0 && i < batch_ * tokens_; ++i) {
            const index_t row = i / tokens_, token = i % tokens_;
            const head_place from = o.x.place(row, token), to = y.place(row, token);
            if (from.row < 0 || to.row < 0) continue;
            std::vector<head_numbers> heads = expected_heads<Pairing>(o, row, token, from);
            for (index_t h = 0; h < s.heads; ++h) {
                const head_place at{to.row, to.token, h}, source{from.row, from.token, h};
                const auto first = static_cast<std::size_t>(y.element_of(at));
                mark(y, at, written, scaled);
                if (changes_nothing(o, row, token)) expect_copied(o, source, at);
                head_numbers& head = heads[static_cast<std::size_t>(h)];
                plain_format<YFormat>::widen(y.view.format, head);
                const auto found = plain_format<YFormat>::read(y.view.format, y.elements.data + first, at, s.head_dim);
                for (std::size_t lane = 0; lane < found.size(); ++lane) {
                    if (std::fabs(found[lane] - head.lanes[lane]) <= head.allowed[lane]) continue;
                    std::fprintf(stderr, "fuzz: token [%ld, %ld] head %ld lane %zu is %.9g, must be %.9g within %.3g\n",
                                 row, token, h, lane, found[lane], head.lanes[lane], head.allowed[lane]);
                    expect(false, "every lane is as the plain reference has it");
                }
            }
        }
        for (std::size_t i = 0; i < written.size(); ++i) {
            expect(written[i] || y.elements.is_untouched(i), "nothing beside the tokens is written");
        }
        for (std::size_t i = 0; i < scaled.size(); ++i) {
            expect(scaled[i] || y.scales.is_untouched(i), "no scale beside the tokens' is written");
        }
        for (std::size_t i = 0; !o.is_in_place && !o.is_move && i < o.x.elements.before.size(); ++i) {
            expect(o.x.elements.is_untouched(i), "what is read is not written");
        }
    }

    template <class P>
    static void mark(const P& y, const head_place& at, std::vector<bool>& written, std::vector<bool>& scaled) {
        const auto& f = y.view.format;
        const index_t elements = cordage::elements_of_head<std::remove_cvref_t<decltype(f)>>(y.view.shape.head_dim);
        for (index_t i = 0; i < elements; ++i) {
            index_t offset = i;
            if constexpr (requires { f.elements_of_group; }) {
                offset = i / f.elements_of_group * f.group_stride + i % f.elements_of_group;
            }
            written[static_cast<std::size_t>(y.element_of(at) + offset)] = true;
        }
        if constexpr (requires { f.scales; }) {
            const index_t first =
                at.row * f.scales.row_stride + at.token * f.scales.token_stride + at.head * f.scales.head_stride;
            for (index_t i = 0; i < f.scales.head_stride; ++i) scaled[static_cast<std::size_t>(first + i)] = true;
        }
    }

    // Quantised heads of one format keep their bytes.
    void expect_copied(const one_operand& o, const head_place& from, const head_place& to) const {
        if constexpr (std::is_same_v<X, Y> && std::is_same_v<XFormat, YFormat> && !cordage::format_of<XFormat, X> &&
                      !requires(XFormat f) { f.elements_of_group; }) {
            if constexpr (requires(XFormat f) { f.scales; }) {
                if (o.x.view.format.lanes_of_scale != o.y.view.format.lanes_of_scale) return;
                const auto& s = o.y.view.format.scales;
                const auto& t = o.x.view.format.scales;
                for (index_t i = 0; i < s.head_stride; ++i) {
                    const index_t is = to.row * s.row_stride + to.token * s.token_stride + to.head * s.head_stride + i;
                    const index_t was =
                        from.row * t.row_stride + from.token * t.token_stride + from.head * t.head_stride + i;
                    expect(o.y.scales.data[is] == o.x.scales.before[static_cast<std::size_t>(was)],
                           "scales are copied");
                }
            }
            if constexpr (requires(XFormat f) { f.size; }) {
                if (o.x.view.format.size != o.y.view.format.size) return;
            }
            const auto bytes =
                static_cast<std::size_t>(cordage::elements_of_head<XFormat>(o.x.view.shape.head_dim)) * sizeof(X);
            expect(std::memcmp(o.y.elements.data + o.y.element_of(to),
                               o.x.elements.before.data() + o.x.element_of(from), bytes) == 0,
                   "quantised heads that nothing changes keep their bytes");
        }
    }

    // A transform of 256 lanes adds up their roundings.
    static constexpr double hadamard_room = requires(XFormat f) { f.size; }
    ? 8.0 : 1e-3;

    input& in_;
    std::mt19937_64 random_;
    index_t batch_ = 1, tokens_ = 0, pairs_ = 1;
    std::optional<cordage::basis> from_, to_;
    std::vector<std::int32_t> old_ids_, new_ids_;
    one_operand operands_[2];
};

template <class X, class XFormat, class Y, class YFormat, bool HasNorm>
bool run_cache_path(input& in) {
    return cache_path_run<X, XFormat, Y, YFormat, HasNorm>(in).run();
}

}  // namespace fuzz
