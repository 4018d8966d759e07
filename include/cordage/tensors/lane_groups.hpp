// SPDX-License-Identifier: MIT
// Heads whose lanes are split into groups, with lanes of other tokens in between: vLLM's packed keys; stage tensors.
#pragma once

#include <array>
#include <cstring>

#include "cordage/tensors/group_formats.hpp"
#include "cordage/tensors/heads_view.hpp"

namespace cordage {

/// A format whose heads are split into groups of `elements_of_group` contiguous elements; consecutive groups begin
/// `group_stride` elements apart. Made by group_major. Heads are converted in buffers on the stack.
template <class Format>
struct lane_groups {
    using compute = float;
    static constexpr index_t lanes_of_element = cordage::lanes_of_element<Format>;

    index_t elements_of_group = 0;  ///< divides the number of elements of a head
    index_t group_stride = 0;
    Format inner = {};  ///< of elements or of whole heads

    template <class Lane, class T>
        requires tensor_format<Format, T>
    CORDAGE_ALWAYS_INLINE void load_head(const T* from, const head_place& at, float* lanes,
                                         index_t count) const noexcept {
        head<T> together;
        copy_groups(from, group_stride, together.data(), elements_of_group, count);
        tensors_detail::load_lanes<Lane>(inner, together.data(), at, lanes, count);
    }
    template <class Lane, class T>
        requires tensor_format<Format, T>
    CORDAGE_ALWAYS_INLINE void store_head(const float* lanes, index_t count, T* to,
                                          const head_place& at) const noexcept {
        head<T> together;
        tensors_detail::store_lanes<Lane>(inner, lanes, count, together.data(), at);
        copy_groups(together.data(), elements_of_group, to, group_stride, count);
    }
    template <class T>
    CORDAGE_ALWAYS_INLINE bool copy_head(const lane_groups& source, const T* from, const head_place& from_at, T* to,
                                         const head_place& to_at, index_t count) const noexcept {
        if (source.elements_of_group != elements_of_group) return false;
        head<T> x, y;
        copy_groups(from, source.group_stride, x.data(), elements_of_group, count);
        if (!tensors_detail::copy_lanes(source.inner, x.data(), from_at, inner, y.data(), to_at, count)) return false;
        copy_groups(y.data(), elements_of_group, to, group_stride, count);
        return true;
    }

    friend bool operator==(const lane_groups& a, const lane_groups& b) noexcept {
        return a.elements_of_group == b.elements_of_group && a.group_stride == b.group_stride &&
               is_same_format(a.inner, b.inner);
    }
    /// @throws shape_error
    void check(const char* function, const char* name, index_t head_dim) const {
        const index_t elements = elements_of_head<Format>(head_dim);
        if (elements_of_group < 1 || elements % elements_of_group != 0) {
            fail<shape_error>({function, ": ", name, "'s elements_of_group ", elements_of_group,
                               " must divide the elements of a head, ", elements});
        }
    }

 private:
    template <class T>
    using head = std::array<T, most_lanes_of_head / lanes_of_element>;

    // Copies a head of `count` lanes between groups of one stride and groups of another.
    template <class T>
    CORDAGE_ALWAYS_INLINE void copy_groups(const T* from, index_t from_stride, T* to, index_t to_stride,
                                           index_t count) const noexcept {
        const index_t groups = elements_of_head<Format>(count) / elements_of_group;
        for (index_t group = 0; group < groups; ++group) {
            const T* const source = from + group * from_stride;
            T* const copy = to + group * to_stride;
            if (elements_of_group * static_cast<index_t>(sizeof(T)) == 16) {  // usual
                std::memcpy(copy, source, 16);
            } else {
                for (index_t i = 0; i < elements_of_group; ++i) copy[i] = source[i];
            }
        }
    }
};

/// View of a dense [blocks, heads, head_dim / group, tokens, group] array: vLLM's key cache of its CPU and older GPU
/// kernels, whose group is 16 bytes, and with groups of 1 its value cache [blocks, heads, head_dim, tokens]
/// (csrc/cache_kernels.cu, reshape_and_cache).
///
///   from_to(k, in_slots(group_major(key_cache, {blocks, block_size, kv_heads, head_dim}, 8), slot_mapping, 1, tokens))
///
/// @param elements_of_group  a divisor of head_dim; in block formats, of the blocks of a head
/// @throws shape_error       naming elements_of_group, if it does not divide
template <class T, class Format = element_traits<std::remove_const_t<T>>>
heads_view<T, lane_groups<Format>> group_major(T* data, const heads_shape& shape, index_t elements_of_group,
                                               const Format& format = {}) {
    const index_t group = saturated_product(elements_of_group, shape.tokens);
    const index_t head = saturated_product(elements_of_head<Format>(shape.head_dim), shape.tokens);
    const lane_groups<Format> grouped{elements_of_group, group, format};
    grouped.check("group_major", "the view", shape.head_dim);
    return {data, shape, saturated_product(shape.heads, head), elements_of_group, head, {}, grouped};
}

static_assert(head_format<lane_groups<element_traits<bfloat16>>, bfloat16> &&
              head_format<lane_groups<scaled_bytes<std::int8_t>>, std::int8_t>);

}  // namespace cordage
