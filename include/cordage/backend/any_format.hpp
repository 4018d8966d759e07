// SPDX-License-Identifier: MIT
// A format of heads selected at run time, so that one kernel serves all caches; serves kernels that are chosen at run
// time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "cordage/backend/compiled.hpp"
#include "cordage/tensors/block_scaled.hpp"
#include "cordage/tensors/ggml_blocks.hpp"
#include "cordage/tensors/hadamard.hpp"
#include "cordage/tensors/lane_groups.hpp"

namespace cordage::backend {

/// Element type of a cache, and of its scales.
enum class element_code : std::uint8_t {
    float32,
    float16,
    bfloat16,
    int8,
    fp8_e4m3,
    fp8_e5m2,
    fp4_e2m1_x2,
    q8_0,
    q4_0,
    e8m0  ///< scales only
};

/// The backend for a lane type.
template <class Lane>
CORDAGE_ALWAYS_INLINE constexpr auto backend_of_lane() noexcept {
    if constexpr (requires { typename Lane::arch_type; }) {
        return simd<typename Lane::arch_type>{};
    } else {
        return scalar{};
    }
}

/// Heads of any element type as bytes: views count bytes, and messages count elements.
struct any_format {
    using compute = float;
    static constexpr index_t lanes_of_element = 1;

    element_code element = element_code::float32;
    index_t hadamard_size = 0;   ///< lanes; 0: none
    index_t bytes_of_group = 0;  ///< bytes of a group of a head (tensors/lane_groups.hpp); 0: contiguous heads
    index_t group_stride = 0;    ///< bytes
    // Of int8, fp8 and fp4:
    element_code scale = element_code::float32;  ///< or e8m0 (mx_blocks), or fp8_e4m3 (nvfp4)
    scale_table_of<std::uint8_t> scales = {};    ///< strides in bytes
    index_t lanes_of_scale = 0;
    bool makes_scales = true;                        ///< of scales in float32
    scale_rounding rounding = scale_rounding::down;  ///< of e8m0
    float least = 0.0f;                              ///< of e8m0
    float tensor_scale = 1.0f;                       ///< of nvfp4

    template <class Lane>
    void load_head(const std::uint8_t* from, const head_place& at, float* lanes, index_t count) const noexcept {
        with_elements([&]<class T, class Format>(const T*, const Format& format) CORDAGE_ALWAYS_INLINE_LAMBDA {
            alignas(64) bytes_of_head together;
            const T* const elements = reinterpret_cast<const T*>(in_one_piece<T, Format>(from, count, together));
            if constexpr (head_format<Format, T>) {
                format.template load_head<Lane>(elements, at, lanes, count);
            } else {
                convert_lanes(backend_of_lane<Lane>(), format, elements, element_traits<float>{}, lanes, count);
            }
        });
        transform<Lane>(lanes, count);
    }
    template <class Lane>
    void store_head(const float* lanes, index_t count, std::uint8_t* to, const head_place& at) const noexcept {
        alignas(64) std::array<float, most_lanes_of_head> transformed;
        if (hadamard_size != 0) {
            std::copy_n(lanes, count, transformed.data());
            transform<Lane>(transformed.data(), count);
            lanes = transformed.data();
        }
        with_elements([&]<class T, class Format>(const T*, const Format& format) CORDAGE_ALWAYS_INLINE_LAMBDA {
            alignas(64) bytes_of_head together;
            std::uint8_t* const bytes = bytes_of_group == 0 ? to : together.data();
            T* const elements = reinterpret_cast<T*>(bytes);
            if constexpr (head_format<Format, T>) {
                format.template store_head<Lane>(lanes, count, elements, at);
            } else {
                convert_lanes(backend_of_lane<Lane>(), element_traits<float>{}, lanes, format, elements, count);
            }
            to_groups<T, Format>(bytes, to, count);
        });
    }
    /// Copies bytes and scales; returns false if the two formats differ.
    CORDAGE_ALWAYS_INLINE bool copy_head(const any_format& source, const std::uint8_t* from, const head_place& from_at,
                                         std::uint8_t* to, const head_place& to_at, index_t count) const noexcept {
        if (source.element != element || source.scale != scale || source.hadamard_size != hadamard_size) return false;
        bool is_copied = true;
        with_elements([&]<class T, class Format>(const T*, const Format& format) CORDAGE_ALWAYS_INLINE_LAMBDA {
            alignas(64) bytes_of_head x, y;
            const std::uint8_t* const elements = source.in_one_piece<T, Format>(from, count, x);
            std::uint8_t* const bytes = bytes_of_group == 0 ? to : y.data();
            if constexpr (group_format<Format>) {
                is_copied = format.copy_head(source.as<Format>(), reinterpret_cast<const T*>(elements), from_at,
                                             reinterpret_cast<T*>(bytes), to_at, count);
            } else {
                std::memmove(bytes, elements, bytes_of<T, Format>(count));
            }
            if (is_copied) to_groups<T, Format>(bytes, to, count);
        });
        return is_copied;
    }

    friend bool operator==(const any_format&, const any_format&) noexcept = default;
    /// @throws shape_error, naming the field
    void check(const char* function, const char* name, index_t head_dim) const {
        with_elements([&]<class T, class Format>(const T*, const Format& format) {
            constexpr index_t each = cordage::lanes_of_element<Format>;
            if (head_dim % each != 0) {
                fail<shape_error>({function, ": ", name, "'s head_dim ", head_dim, " must be a multiple of ", each,
                                   each == 2 ? " in fp4" : " in q8_0 and q4_0"});
            }
            if constexpr (group_format<Format>) format.check(function, name, head_dim);
        });
        if (hadamard_size != 0) hadamard<element_traits<float>>{hadamard_size}.check(function, name, head_dim);
    }
    CORDAGE_ALWAYS_INLINE bool has_scales() const noexcept {
        return element == element_code::int8 || element == element_code::fp8_e4m3 ||
               element == element_code::fp8_e5m2 || element == element_code::fp4_e2m1_x2;
    }
    /// Bytes of a head of `lanes` lanes.
    CORDAGE_ALWAYS_INLINE index_t head_size(index_t lanes) const noexcept {
        std::size_t bytes = 0;
        with_elements([&]<class T, class Format>(const T*, const Format&) { bytes = bytes_of<T, Format>(lanes); });
        return static_cast<index_t>(bytes);
    }
    CORDAGE_ALWAYS_INLINE index_t bytes_of_scale() const noexcept { return scale == element_code::float32 ? 4 : 1; }
    /// The scales in float.
    CORDAGE_ALWAYS_INLINE scale_table float_scales() const noexcept { return table<float>(); }
    /// The format itself, or this one.
    template <class Format>
    CORDAGE_ALWAYS_INLINE Format as() const noexcept {
        if constexpr (std::same_as<Format, any_format>) {
            return *this;
        } else if constexpr (std::same_as<Format, nvfp4>) {
            return {table<fp8_e4m3>(), tensor_scale};
        } else if constexpr (requires(Format f) { f.rounding; }) {
            return {table<e8m0>(), lanes_of_scale, rounding, least};
        } else if constexpr (group_format<Format>) {
            return {table<float>(), lanes_of_scale, makes_scales};
        } else {
            return {};
        }
    }
    /// Calls f(null pointer of the codes' type, the format) for int8, fp8 and fp4.
    template <class F>
    CORDAGE_ALWAYS_INLINE void with_codes(const F& f) const {
        const auto coded = [&]<class Code>(const Code* null) CORDAGE_ALWAYS_INLINE_LAMBDA {
            if constexpr (!std::same_as<Code, std::int8_t>) {
                if (scale == element_code::e8m0) return f(null, as<mx_blocks<Code>>());
            }
            if constexpr (std::same_as<Code, fp4_e2m1_x2>) {
                f(null, as<nvfp4>());
            } else {
                f(null, as<scaled_bytes<Code>>());
            }
        };
        if (element == element_code::int8) return coded(static_cast<const std::int8_t*>(nullptr));
        if (element == element_code::fp8_e4m3) return coded(static_cast<const fp8_e4m3*>(nullptr));
        if (element == element_code::fp8_e5m2) return coded(static_cast<const fp8_e5m2*>(nullptr));
        coded(static_cast<const fp4_e2m1_x2*>(nullptr));
    }

 private:
    using bytes_of_head = std::array<std::uint8_t, most_lanes_of_head * sizeof(float)>;

    template <class Scale>
    CORDAGE_ALWAYS_INLINE scale_table_of<Scale> table() const noexcept {
        constexpr auto size = static_cast<index_t>(sizeof(Scale));
        return {reinterpret_cast<Scale*>(scales.data), scales.row_stride / size, scales.token_stride / size,
                scales.head_stride / size};
    }
    /// Calls f(null pointer of the element's type, its format).
    template <class F>
    CORDAGE_ALWAYS_INLINE void with_elements(const F& f) const {
        const auto plain = [&]<class T>(const T* null) CORDAGE_ALWAYS_INLINE_LAMBDA { f(null, element_traits<T>{}); };
        switch (element) {
            case element_code::float32:
                return plain(static_cast<const float*>(nullptr));
            case element_code::float16:
                return plain(static_cast<const float16*>(nullptr));
            case element_code::bfloat16:
                return plain(static_cast<const bfloat16*>(nullptr));
            case element_code::int8:
            case element_code::fp8_e4m3:
            case element_code::fp8_e5m2:
            case element_code::fp4_e2m1_x2:
                return with_codes(f);
            case element_code::q8_0:
                return f(static_cast<const q8_0_block*>(nullptr), q8_0{});
            case element_code::q4_0:
                return f(static_cast<const q4_0_block*>(nullptr), q4_0{});
            case element_code::e8m0:
                return;
        }
    }
    template <class T, class Format>
    static CORDAGE_ALWAYS_INLINE std::size_t bytes_of(index_t lanes) noexcept {
        return sizeof(T) * static_cast<std::size_t>(lanes / cordage::lanes_of_element<Format>);
    }
    template <class T, class Format>
    CORDAGE_ALWAYS_INLINE const std::uint8_t* in_one_piece(const std::uint8_t* from, index_t count,
                                                           bytes_of_head& together) const noexcept {
        if (bytes_of_group == 0) return from;
        const auto bytes = static_cast<index_t>(bytes_of<T, Format>(count));
        for (index_t done = 0; done < bytes; done += bytes_of_group, from += group_stride) {
            std::memcpy(together.data() + done, from, static_cast<std::size_t>(bytes_of_group));
        }
        return together.data();
    }
    template <class T, class Format>
    CORDAGE_ALWAYS_INLINE void to_groups(const std::uint8_t* together, std::uint8_t* to, index_t count) const noexcept {
        if (bytes_of_group == 0) return;
        const auto bytes = static_cast<index_t>(bytes_of<T, Format>(count));
        for (index_t done = 0; done < bytes; done += bytes_of_group, to += group_stride) {
            std::memcpy(to, together + done, static_cast<std::size_t>(bytes_of_group));
        }
    }
    template <class Lane>
    CORDAGE_ALWAYS_INLINE void transform(float* lanes, index_t count) const noexcept {
        for (index_t first = 0; hadamard_size != 0 && first < count; first += hadamard_size) {
            hadamard_transform<Lane>(lanes + first, hadamard_size);
        }
    }
};
static_assert(head_format<any_format, std::uint8_t>);

// The any_format of a format of T, for those that it has. A type derived from one of them has functions of its own.

template <class T, std::same_as<element_traits<T>> Format>
constexpr any_format any_format_of(const Format&) noexcept
    requires std::same_as<T, float> || std::same_as<T, float16> || std::same_as<T, bfloat16>
{
    return {.element = std::same_as<T, float>     ? element_code::float32
                       : std::same_as<T, float16> ? element_code::float16
                                                  : element_code::bfloat16};
}
template <class T, group_format Format>
    requires std::same_as<Format, scaled_bytes<T>> || std::same_as<Format, mx_blocks<T>> || std::same_as<Format, nvfp4>
any_format any_format_of(const Format& f) noexcept {
    using scale = std::remove_pointer_t<decltype(f.scales.data)>;
    constexpr auto size = static_cast<index_t>(sizeof(scale));
    any_format made{
        .element = std::same_as<T, std::int8_t> ? element_code::int8
                   : std::same_as<T, fp8_e4m3>  ? element_code::fp8_e4m3
                   : std::same_as<T, fp8_e5m2>  ? element_code::fp8_e5m2
                                                : element_code::fp4_e2m1_x2,
        .scale = std::same_as<scale, float>  ? element_code::float32
                 : std::same_as<scale, e8m0> ? element_code::e8m0
                                             : element_code::fp8_e4m3,
        .scales = {reinterpret_cast<std::uint8_t*>(f.scales.data), saturated_product(f.scales.row_stride, size),
                   saturated_product(f.scales.token_stride, size), saturated_product(f.scales.head_stride, size)},
        .lanes_of_scale = f.lanes_of_scale,
        .makes_scales = f.makes_scales};
    if constexpr (requires { f.rounding; }) made.rounding = f.rounding, made.least = f.least;
    if constexpr (requires { f.tensor_scale; }) made.tensor_scale = f.tensor_scale;
    return made;
}
template <class T, std::same_as<q8_0> Format>
constexpr any_format any_format_of(const Format&) noexcept {
    return {.element = element_code::q8_0};
}
template <class T, std::same_as<q4_0> Format>
constexpr any_format any_format_of(const Format&) noexcept {
    return {.element = element_code::q4_0};
}
template <class T, class Format>
auto any_format_of(const hadamard<Format>& f) noexcept -> decltype(any_format_of<T>(f.inner)) {
    any_format made = any_format_of<T>(f.inner);
    made.hadamard_size = f.size;
    return made;
}
template <class T, class Format>
auto any_format_of(const lane_groups<Format>& f) noexcept -> decltype(any_format_of<T>(f.inner)) {
    any_format made = any_format_of<T>(f.inner);
    made.bytes_of_group = f.elements_of_group * static_cast<index_t>(sizeof(T));
    made.group_stride = saturated_product(f.group_stride, static_cast<index_t>(sizeof(T)));
    return made;
}

/// Whether any_format has a format of T.
template <class Format, class T>
concept known_format = requires(const Format& f) { any_format_of<std::remove_const_t<T>>(f); };

/// A view of the bytes of heads; T may be const.
template <class T, known_format<T> Format>
auto as_bytes(const heads_view<T, Format>& v) noexcept {
    using byte = std::conditional_t<std::is_const_v<T>, const std::uint8_t, std::uint8_t>;
    constexpr auto size = static_cast<index_t>(sizeof(T));
    return heads_view<byte, any_format>{reinterpret_cast<byte*>(v.data),
                                        v.shape,
                                        saturated_product(v.batch_stride, size),
                                        saturated_product(v.token_stride, size),
                                        saturated_product(v.head_stride, size),
                                        v.slots,
                                        any_format_of<std::remove_const_t<T>>(v.format)};
}

/// Operands whose heads have any formats, and those with a norm whose weights are in the compute type.
template <class Norm>
using any_operand = operand<std::uint8_t, std::uint8_t, any_format, any_format, Norm>;
template <class T>
using normalized_operand =
    operand<T, T, element_traits<T>, element_traits<T>, rms_norm<typename element_traits<T>::compute>>;
template <class T>
using normalized_gradient = backward_operand<T, element_traits<T>, rms_norm<typename element_traits<T>::compute>>;

}  // namespace cordage::backend
