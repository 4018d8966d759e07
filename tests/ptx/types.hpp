// SPDX-License-Identifier: MIT
// The types of PTX's registers, by PTX's names.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cordage_test::ptx {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
// Of products, no registers. NOLINTBEGIN(modernize-use-using): __extension__ stands before declarations
__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;
// NOLINTEND(modernize-use-using)

/// One bit a lane.
struct predicate {};

/// The float of an instruction with .ftz: of a denormal number only the sign is read or written.
struct flushed {
    float number;

    flushed() = default;
    flushed(float x) : number(std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x) {}
    explicit flushed(double x) : flushed(static_cast<float>(x)) {}
    operator float() const { return number; }
};

template <class T>
inline constexpr bool is_float = std::floating_point<T> || std::same_as<T, flushed>;

/// PTX's name of a type, as in "add.u32"; "ftz.f32" for flushed.
template <class T>
constexpr const char* name_of() {
    if constexpr (std::same_as<T, predicate>) return "pred";
    if constexpr (std::same_as<T, flushed>) return "ftz.f32";
    if constexpr (std::same_as<T, float>) return "f32";
    if constexpr (std::same_as<T, double>) return "f64";
    if constexpr (std::same_as<T, u16>) return "u16";
    if constexpr (std::same_as<T, s16>) return "s16";
    if constexpr (std::same_as<T, u32>) return "u32";
    if constexpr (std::same_as<T, s32>) return "s32";
    if constexpr (std::same_as<T, u64>) return "u64";
    if constexpr (std::same_as<T, s64>) return "s64";
}

/// Sizes or indices along x, y and z.
struct size3 {
    u32 x = 1;
    u32 y = 1;
    u32 z = 1;

    u64 count() const { return u64{x} * y * z; }
};

}  // namespace cordage_test::ptx
