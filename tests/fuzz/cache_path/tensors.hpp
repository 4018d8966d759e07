// SPDX-License-Identifier: MIT
// Makes the tensors of a run, dense or in a cache, in any layout and format. Each ends or begins at an inaccessible
// page.
#pragma once

#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "cache_path/placed.hpp"
#include "input.hpp"
#include "rotate/guarded_memory.hpp"

namespace fuzz {

/// Thrown by a run whose tensors do not fit into the guarded memory.
struct too_large {};

/// Number of lanes of a head that a format supports, in steps.
template <class Format>
inline constexpr index_t lanes_step = cordage::lanes_of_element<Format>;
template <>
inline constexpr index_t lanes_step<cordage::nvfp4> = cordage::nvfp4::lanes_of_scale;
template <class Format>
inline constexpr index_t lanes_step<cordage::hadamard<Format>> = 32;
template <class Format>
inline constexpr index_t lanes_step<cordage::lane_groups<Format>> =
    std::max<index_t>(lanes_step<Format>, 4 * cordage::lanes_of_element<Format>);

/// A number of a list that divides `number`; the last one always does.
template <std::size_t N>
index_t divisor(input& in, index_t number, const index_t (&of)[N]) {
    auto i = static_cast<std::size_t>(in.between(0, N - 1));
    while (number % of[i] != 0) ++i;
    return of[i];
}

/// Random data members of a format; scales are set later.
template <class Format>
Format random_format(input& in, index_t head_dim) {
    Format f;
    if constexpr (requires { f.lanes_of_scale = 0; }) {
        const bool is_usual = !in.coin();
        if (cordage::lanes_of_element<Format> == 2) {
            f.lanes_of_scale = divisor(in, head_dim, {64, 32, 16, 6, 4, 2});
        } else if (!is_usual) {
            f.lanes_of_scale = divisor(in, head_dim, {64, 32, 16, 6, 5, 4, 3, 2, 1});
        }
        if (is_usual && f.lanes_of_scale != 0 && head_dim % f.lanes_of_scale != 0) f.lanes_of_scale = 0;
    }
    if constexpr (cordage::may_have_given_scales<Format>) f.makes_scales = !in.rarely(3);
    if constexpr (requires { f.rounding; }) {
        f.rounding = in.coin() ? cordage::scale_rounding::up : cordage::scale_rounding::down;
        f.least = in.one_of({0.0f, 0.0f, 1e-4f, 0.25f});
    }
    if constexpr (requires { f.tensor_scale; }) f.tensor_scale = in.one_of({1.0f, 0.0034f, 0x1p-10f, 3.1f});
    if constexpr (requires { f.size; }) f.size = divisor(in, head_dim, {256, 128, 64, 32, 16, 1});
    if constexpr (requires { f.inner; }) f.inner = random_format<decltype(f.inner)>(in, head_dim);
    return f;
}

/// Makes the tensors of a run.
class run_tensors {
 public:
    run_tensors(input& choices, std::mt19937_64& generator, index_t rows, index_t tokens_of_row)
        : in(choices), random(generator), batch(rows), tokens(tokens_of_row) {}

    input& in;
    std::mt19937_64& random;
    const index_t batch, tokens;

    void restore() const {
        for (const auto& b : blocks_) b->restore();
    }
    bool is_untouched() const {
        return std::all_of(blocks_.begin(), blocks_.end(), [](const auto& b) { return b->is_untouched(); });
    }

    /// The content of all tensors.
    std::string bytes() const {
        std::string all;
        for (const auto& b : blocks_) all += b->bytes();
        return all;
    }

    template <class T, class Make>
    numbers<T>* numbers_of(index_t count, const Make& make) {
        static const std::array<cordage_test::guarded_memory, 32> all;
        if (count * index_t{sizeof(T)} > index_t{1} << 19) throw too_large{};
        auto made = std::make_unique<numbers<T>>();
        using cordage_test::border;
        made->data = all.at(blocks_.size()).template block<T>(count, in.coin() ? border::first : border::last);
        for (index_t i = 0; i < count; ++i) made->before.push_back(make(i));
        made->restore();
        blocks_.push_back(std::move(made));
        return static_cast<numbers<T>*>(blocks_.back().get());
    }

    /// @param room  elements after each head, for another tensor
    template <class T, class Format>
    placed<T, Format> place(const heads_shape& shape, bool is_written, bool must_be_cache, index_t room = 0) {
        placed<T, Format> p;
        p.all = shape;
        p.slots.is_used = must_be_cache || in.coin();
        if (p.slots.is_used) {
            p.all.tokens = in.between(1, 5);
            p.slots.is_by_block = in.coin();
            const index_t needed = batch * entries_of_row(p.slots, p.all);
            const index_t blocks = p.slots.is_by_block ? needed : (needed + p.all.tokens - 1) / p.all.tokens;
            p.all.batch = blocks + in.between(1, 3);
        }
        const auto format = random_format<Format>(in, shape.head_dim);
        const index_t head = cordage::elements_of_head<Format>(shape.head_dim);
        index_t count = 0;
        if constexpr (is_in_groups<Format>) {
            const index_t group = divisor(in, head, {16, 8, 4, 2, 1});
            const auto view = cordage::group_major(static_cast<T*>(nullptr), p.all, group, format.inner);
            p.view = view;
            count = p.all.batch * view.batch_stride;
        } else {
            p.view = {nullptr, p.all, 0, 0, 0, {}, format};
            count = lay_axes(p.all, head + room, p.view.batch_stride, p.view.token_stride, p.view.head_stride);
        }
        if (tokens == 0 || shape.heads == 0) count = 0;
        // Sometimes all 0, tiny or large.
        static constexpr double sizes[] = {1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0x1p-12, 0x1p+6};
        const double size = in.one_of(sizes);
        p.elements = numbers_of<T>(count, [&](index_t) { return random_element<T>(size); });
        p.view.data = p.elements->data;
        add_scales(p);
        if (p.slots.is_used) choose_slots(p, shape, is_written);
        return p;
    }

    /// After the heads of a tensor with room for it: the values beside their keys, MLA's rotated tail.
    template <class T, class Format>
    placed<T, Format> place_beside(const placed<T, Format>& other, const heads_shape& shape, bool is_written) {
        placed<T, Format> p = other;
        p.all.head_dim = p.view.shape.head_dim = shape.head_dim;
        p.first += other.elements_of_head();
        p.view.data += other.elements_of_head();
        p.view.format = random_format<Format>(in, shape.head_dim);
        add_scales(p);
        if (p.slots.is_used) choose_slots(p, shape, is_written);
        return p;
    }

    /// Slots or blocks for the tokens, in random, ascending or descending order; each once if written.
    template <class T, class Format>
    void choose_slots(placed<T, Format>& p, const heads_shape& shape, bool is_written) {
        table& t = p.slots;
        t = table();
        t.is_used = true, t.is_by_block = in.coin();
        if (t.is_by_block && batch * entries_of_row(t, p.all) > p.all.batch) t.is_by_block = false;
        t.used = entries_of_row(t, p.all);
        t.row_stride = t.used + (t.is_by_block ? in.between(0, 2) : 0);
        const index_t count = batch * t.row_stride;
        std::vector<index_t> free(static_cast<std::size_t>(p.all.batch * (t.is_by_block ? 1 : p.all.tokens)));
        for (std::size_t i = 0; i < free.size(); ++i) free[i] = static_cast<index_t>(i);
        std::shuffle(free.begin(), free.end(), random);
        const auto order = in.between(0, 3);
        const auto taken = free.begin() + std::min(batch * t.used, std::ssize(free));
        if (order == 0) std::sort(free.begin(), taken);
        if (order == 1) std::sort(free.begin(), taken, std::greater<>());
        if (order == 2) std::sort(free.begin(), free.end());
        std::size_t next = 0;
        for (index_t i = 0; i < count; ++i) {
            if (i % t.row_stride >= t.used) {
                t.entries.push_back(1'000'000);  // past the tokens, and not read
            } else if (random() % 10 == 0) {
                t.entries.push_back(-1);
            } else {
                const bool again = !is_written && random() % 8 == 0;
                t.entries.push_back(again ? free[random() % free.size()] : free[next++]);
            }
        }
        const auto entry = [&](index_t i) { return t.entries[static_cast<std::size_t>(i)]; };
        heads_view<T, Format> cache = p.view;
        cache.shape = p.all, cache.slots = {};
        const auto view_of = [&](const auto* entries) {
            return t.is_by_block ? cordage::in_blocks(cache, entries, shape.batch, shape.tokens, t.row_stride)
                                 : cordage::in_slots(cache, entries, shape.batch, shape.tokens);
        };
        if (in.coin()) {
            t.wide = numbers_of<std::int64_t>(count, entry);
            p.view = view_of(t.wide->data);
        } else {
            t.narrow = numbers_of<std::int32_t>(count, [&](index_t i) { return static_cast<std::int32_t>(entry(i)); });
            p.view = view_of(t.narrow->data);
        }
    }

 private:
    index_t entries_of_row(const table& t, const heads_shape& cache) const {
        return t.is_by_block ? (tokens + cache.tokens - 1) / cache.tokens : tokens;
    }

    // Axes in any order, with gaps or without; returns the number of elements.
    index_t lay_axes(const heads_shape& all, index_t inside, index_t& batch_stride, index_t& token_stride,
                     index_t& head_stride) {
        std::pair<index_t, index_t*> axes[] = {
            {all.heads, &head_stride}, {all.tokens, &token_stride}, {all.batch, &batch_stride}};
        for (int i = 2; i > 0; --i) std::swap(axes[i], axes[in.between(0, i)]);
        for (const auto& [size, stride] : axes) {
            *stride = inside + (in.coin() ? in.between(0, 3) : 0);
            inside += std::max<index_t>(size - 1, 0) * *stride;
        }
        return inside;
    }

    template <class T, class Format>
    void add_scales(placed<T, Format>& p) {
        if constexpr (has_scales<Format>) {
            auto& f = scaled_part(p.view.format);
            auto& s = f.scales;
            index_t count = p.scales_of_head();
            if (f.makes_scales || in.coin()) {
                count = lay_axes(p.all, count, s.row_stride, s.token_stride, s.head_stride);
            } else {
                s = {};  // given for the whole tensor
            }
            using scale = typename placed<T, Format>::scale;
            p.scales = numbers_of<scale>(count, [&](index_t) { return random_scale<scale>(f.makes_scales); });
            s.data = p.scales->data;
        }
    }

    // A given one may be negative; a computed one of one byte may be NaN or the smallest one.
    template <class Scale>
    Scale random_scale(bool is_made) {
        if constexpr (std::is_same_v<Scale, float>) {
            const double size = uniform(random, 0.001, 0.05);
            return static_cast<float>(is_made || random() % 8 != 0 ? size : -size);
        } else {
            constexpr bool is_power = std::is_same_v<Scale, cordage::e8m0>;
            const auto choice = random() % 64, some = random();
            const auto usual = is_power ? 107 + some % 30 : some % 0x7f;
            const auto bits = choice == 0 ? (is_power ? 255u : 0x7fu) : choice == 1 ? 0u : usual;
            return std::bit_cast<Scale>(static_cast<std::uint8_t>(bits));
        }
    }

    template <class T>
    T random_element(double size) {
        const double number = size * uniform(random, -2.0, 2.0);
        if constexpr (requires(T x) { x.codes; }) {
            T block;
            block.d = cordage::to_float16(static_cast<float>(number / 100.0));
            for (auto& code : block.codes)
                code = static_cast<std::remove_reference_t<decltype(code)>>(random() % 251 - 125);
            return block;
        } else if constexpr (cordage::element<T>) {
            return cordage::element_traits<T>::store(static_cast<cordage::compute_of<T>>(number));
        } else if constexpr (std::is_same_v<T, std::int8_t>) {
            return static_cast<T>(static_cast<int>(random() % 255) - 127);
        } else if constexpr (std::is_same_v<T, cordage::fp4_e2m1_x2>) {
            return std::bit_cast<T>(static_cast<std::uint8_t>(random() % 256));
        } else {
            return std::bit_cast<T>(static_cast<std::uint8_t>(random() % 0x7b | (random() % 2) << 7));  // no NaN
        }
    }

    std::vector<std::unique_ptr<block>> blocks_;
};

}  // namespace fuzz
