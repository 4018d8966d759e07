// SPDX-License-Identifier: MIT
// A tensor of a run: its numbers, their initial values, which of them a call may write, and the place of each head.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/tensors/block_scaled.hpp"
#include "cordage/tensors/hadamard.hpp"
#include "cordage/tensors/lane_groups.hpp"

namespace fuzz {

using cordage::head_place;
using cordage::heads_shape;
using cordage::heads_view;
using cordage::index_t;

/// Guarded memory of a run.
struct block {
    virtual ~block() = default;
    virtual void restore() = 0;
    /// Whether all numbers that a call may not write are unchanged.
    virtual bool is_untouched() const = 0;
    virtual std::string_view bytes() const = 0;
};

/// Numbers at a border, their initial values, and which of them a call may write.
template <class T>
struct numbers final : block {
    T* data = nullptr;
    std::vector<T> before;
    std::vector<bool> is_written;

    void restore() override {
        std::copy(before.begin(), before.end(), data);
        is_written.assign(before.size(), false);
    }
    bool is_untouched() const override {
        for (std::size_t i = 0; i < before.size(); ++i) {
            if (!is_written[i] && std::memcmp(data + i, &before[i], sizeof(T)) != 0) return false;
        }
        return true;
    }
    std::string_view bytes() const override { return {reinterpret_cast<const char*>(data), size() * sizeof(T)}; }
    /// Sets a number.
    void put(index_t i, T number) { data[i] = before[static_cast<std::size_t>(i)] = number; }
    std::size_t size() const { return before.size(); }
};

// The format with scales inside groups and transforms.
template <class Format>
inline constexpr bool has_scales = requires(Format f) { f.scales; };
template <class Format>
    requires requires(Format f) { f.inner; }
inline constexpr bool has_scales<Format> = has_scales<decltype(Format::inner)>;
template <class Format>
auto& scaled_part(Format& f) {
    if constexpr (requires { f.inner; }) {
        return scaled_part(f.inner);
    } else {
        return f;
    }
}
/// The type of a format's scales; float where it has none.
template <class Format>
struct scale_of_format {
    using type = float;
};
template <class Format>
    requires has_scales<Format>
struct scale_of_format<Format> {
    using type = std::remove_pointer_t<decltype(scaled_part(std::declval<Format&>()).scales.data)>;
};
template <class Format>
using scale_of = typename scale_of_format<Format>::type;
template <class Format>
inline constexpr bool is_in_groups = requires(Format f) { f.elements_of_group; };

/// Slots or blocks of a cache for the tokens of a call.
struct table {
    bool is_used = false, is_by_block = false;
    index_t used = 0, row_stride = 0;  ///< entries of a row that are read, and all
    std::vector<index_t> entries;
    numbers<std::int32_t>* narrow = nullptr;
    numbers<std::int64_t>* wide = nullptr;

    void put(index_t i, index_t entry) {
        if (wide != nullptr) wide->put(i, entry);
        if (narrow != nullptr) narrow->put(i, static_cast<std::int32_t>(entry));
    }
};

/// A tensor of a run.
template <class T, class Format>
struct placed {
    using scale = scale_of<Format>;

    heads_view<T, Format> view;  ///< of the tokens
    heads_shape all;             ///< of the cache, or the dense tensor
    numbers<T>* elements = nullptr;
    numbers<scale>* scales = nullptr;
    table slots;
    index_t first = 0;  ///< of `elements`

    /// Block and slot, or row and token; row -1: skipped. The documented rule.
    head_place place(index_t row, index_t token) const {
        if (!slots.is_used) return {row, token, 0};
        const index_t i = row * slots.row_stride + (slots.is_by_block ? token / all.tokens : token);
        const index_t entry = slots.entries[static_cast<std::size_t>(i)];
        if (entry < 0) return {-1, 0, 0};
        return slots.is_by_block ? head_place{entry, token % all.tokens, 0}
                                 : head_place{entry / all.tokens, entry % all.tokens, 0};
    }
    index_t elements_of_head() const { return cordage::elements_of_head<Format>(view.shape.head_dim); }
    /// Index of an element of a head.
    index_t element_of(const head_place& at, index_t i) const {
        index_t in_head = i;
        if constexpr (is_in_groups<Format>) {
            const index_t each = view.format.elements_of_group;
            in_head = i / each * view.format.group_stride + i % each;
        }
        return first + at.row * view.batch_stride + at.token * view.token_stride + at.head * view.head_stride + in_head;
    }
    /// The elements of a head, contiguous.
    std::vector<T> head(const T* from, const head_place& at) const {
        std::vector<T> of;
        for (index_t i = 0; i < elements_of_head(); ++i) of.push_back(from[element_of(at, i)]);
        return of;
    }
    /// Scales of a head, and the index of the first one.
    index_t scales_of_head() const {
        const index_t each = scaled_part(view.format).lanes_of_scale;
        return each == 0 ? 1 : view.shape.head_dim / each;
    }
    index_t scale_of(const head_place& at) const {
        const auto& s = scaled_part(view.format).scales;
        return at.row * s.row_stride + at.token * s.token_stride + at.head * s.head_stride;
    }
    const scale* scales_at(const head_place& at, const scale* of) const {
        if constexpr (has_scales<Format>) return of + scale_of(at);
        return nullptr;
    }
    const scale* scales_before(const head_place& at) const {
        return scales_at(at, scales == nullptr ? nullptr : scales->before.data());
    }
    const scale* scales_now(const head_place& at) const {
        return scales_at(at, scales == nullptr ? nullptr : scales->data);
    }
    /// A head that a call may write.
    void mark(const head_place& at) const {
        for (index_t i = 0; i < elements_of_head(); ++i) {
            elements->is_written[static_cast<std::size_t>(element_of(at, i))] = true;
        }
        if constexpr (has_scales<Format>) {
            if (!scaled_part(view.format).makes_scales) return;
            for (index_t i = 0; i < scales_of_head(); ++i) {
                scales->is_written[static_cast<std::size_t>(scale_of(at) + i)] = true;
            }
        }
    }
};

}  // namespace fuzz
