// SPDX-License-Identifier: MIT
// Formats that store a head as a whole, what they are asked for, and where a head lies; stage tensors.
#pragma once

#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cordage/core/index.hpp"
#include "cordage/pair/format.hpp"
#include "cordage/tensors/lane_memory.hpp"

namespace cordage {

/// The indices of a head: row and token in a dense tensor, block and slot in a cache.
struct head_place {
    index_t row;
    index_t token;
    index_t head;
};

/// A format of whole heads: `lanes_of_element` lanes in each element T, and two functions that convert all lanes of one
/// head. Data beside the elements, such as a scale for each head, is found by the head's place.
///
///   load_head<Lane>(elements, place, lanes, count)   reads elements into `count` floats
///   store_head<Lane>(lanes, count, elements, place)  writes `count` floats as elements
///
/// Lane: float, or a vector of floats that a backend uses (lane_memory); a format may ignore it. A format may also have
///
///   bool copy_head(source, elements, place, to_elements, to_place, count)
///
/// which copies a head bit for bit from `source`, a format of the same type, and returns false where it cannot.
template <class F, class T>
concept head_format = requires(const F& format, const T* from, T* to, const head_place& at, float* lanes,
                               const float* numbers, index_t count) {
    { F::lanes_of_element } -> std::convertible_to<index_t>;
    requires std::is_trivially_copyable_v<F>;
    format.template load_head<float>(from, at, lanes, count);
    format.template store_head<float>(numbers, count, to, at);
};

/// Lanes of one element: 1, except in block formats.
template <class Format>
inline constexpr index_t lanes_of_element = 1;
/// The format's own lanes_of_element.
template <class Format>
    requires requires { Format::lanes_of_element; }
inline constexpr index_t lanes_of_element<Format> = Format::lanes_of_element;

/// Whether two formats are equivalent: of one type and, if they have data members, equal.
template <class A, class B>
constexpr bool is_same_format(const A& a, const B& b) noexcept {
    if constexpr (!std::same_as<A, B>) {
        return false;
    } else if constexpr (requires { a == b; }) {
        return a == b;
    } else {
        return std::is_empty_v<A>;
    }
}

/// Number of elements in a head of `lanes` lanes: `lanes`, except in block formats.
template <class Format>
constexpr index_t elements_of_head(index_t lanes) noexcept {
    return rounded_up_quotient(lanes, lanes_of_element<Format>);
}

/// A format that a tensor of elements T may have: of single elements, or of whole heads.
template <class F, class T>
concept tensor_format = format_of<F, T> || head_format<F, T>;

/// Largest head, in lanes, of a format of whole heads: heads are converted in buffers on the stack.
inline constexpr index_t most_lanes_of_head = 2048;

namespace tensors_detail {

/// Copies elements bit for bit; source and destination may overlap.
template <class T>
CORDAGE_ALWAYS_INLINE void copy_elements(const T* from, T* to, index_t count) noexcept {
    std::memmove(static_cast<void*>(to), from, static_cast<std::size_t>(count) * sizeof(T));
}

/// A format for heads that became rows (heads_as_rows): one without members is the same, one that holds another has
/// that one changed, and any other says itself what it becomes.
template <class Format, class T>
inline constexpr bool has_heads_as_rows =
    !head_format<Format, T> || std::is_empty_v<Format> || requires(const Format& f) { f.heads_as_rows(); };
template <class Format, class T>
    requires requires(const Format& f) { f.inner; }
inline constexpr bool has_heads_as_rows<Format, T> =
    has_heads_as_rows<std::remove_cvref_t<decltype(std::declval<Format>().inner)>, T>;
template <class Format>
Format heads_as_rows(Format format) noexcept {
    if constexpr (requires { format.inner; }) {
        format.inner = heads_as_rows(format.inner);
    } else if constexpr (requires { format.heads_as_rows(); }) {
        format = format.heads_as_rows();
    }
    return format;
}

/// Converts a head, of elements or of a format of whole heads, to floats and back.
template <class Lane, class Format, class T>
CORDAGE_ALWAYS_INLINE void load_lanes(const Format& format, const T* from, const head_place& at, float* lanes,
                                      index_t count) noexcept {
    if constexpr (head_format<Format, T>) {
        format.template load_head<Lane>(from, at, lanes, count);
    } else {
        for (index_t i = 0; i < count; ++i) lanes[i] = format.load(from[i]);
    }
}
template <class Lane, class Format, class T>
CORDAGE_ALWAYS_INLINE void store_lanes(const Format& format, const float* lanes, index_t count, T* to,
                                       const head_place& at) noexcept {
    if constexpr (head_format<Format, T>) {
        format.template store_head<Lane>(lanes, count, to, at);
    } else {
        for (index_t i = 0; i < count; ++i) to[i] = format.store(lanes[i]);
    }
}
/// Copies a head bit for bit; false if the format cannot.
template <class Format, class T>
CORDAGE_ALWAYS_INLINE bool copy_lanes(const Format& source, const T* from, const head_place& from_at,
                                      const Format& format, T* to, const head_place& to_at, index_t count) noexcept {
    if constexpr (requires { format.copy_head(source, from, from_at, to, to_at, count); }) {
        return format.copy_head(source, from, from_at, to, to_at, count);
    } else if constexpr (head_format<Format, T>) {
        return false;
    } else {
        if (!is_same_format(format, source)) return false;
        copy_elements(from, to, count);
        return true;
    }
}

}  // namespace tensors_detail

}  // namespace cordage
