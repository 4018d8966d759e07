// SPDX-License-Identifier: MIT
#include "ptx/conversions.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "ptx/small_floats.hpp"
#include "ptx/warp.hpp"

namespace cordage_test::ptx {

namespace {

template <class T>
T rounded(T x, char variant) {
    switch (variant) {
        case to_nearest:
            return std::nearbyint(x);
        case to_zero:
            return std::trunc(x);
        case downwards:
            return std::floor(x);
        case upwards:
            return std::ceil(x);
        default:
            return x;
    }
}

// Float or double.
template <class T>
auto to_number(T x) {
    if constexpr (std::same_as<T, bf16>) {
        return float_of(x);
    } else if constexpr (is_small_float<T>) {
        return static_cast<float>(double(x));
    } else {
        return x;
    }
}
template <class To, class T>
To from_number(T x) {
    if constexpr (std::same_as<To, bf16> && std::same_as<T, float>) {
        return nearest_bf16(x);
    } else if constexpr (is_small_float<To>) {
        return To::nearest(static_cast<double>(x));
    } else {
        return static_cast<To>(x);
    }
}

// Out of range, the nearest integer; 0 for NaN.
template <class To, class T>
To to_integer(T x) {
    using limits = std::numeric_limits<To>;
    if (std::isnan(x)) return 0;
    if (x <= static_cast<T>(limits::min())) return limits::min();
    if (x >= static_cast<T>(limits::max())) return limits::max();
    return static_cast<To>(x);
}

template <class To, class From>
To converted(const instruction& i, From from) {
    const auto x = to_number(from);
    using source = decltype(x);
    if constexpr (std::integral<From> && std::integral<To>) {
        if (!i.saturates) return static_cast<To>(x);
        if (std::cmp_less(x, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
        return std::cmp_greater(x, std::numeric_limits<To>::max()) ? std::numeric_limits<To>::max()
                                                                   : static_cast<To>(x);
    } else if constexpr (std::integral<From>) {
        // Doubles do not hold all of 64 bits, so only small floats go by them.
        if constexpr (is_small_float<To>) return To::nearest(static_cast<double>(x));
        if constexpr (!is_small_float<To>) return static_cast<To>(x);
    } else {
        auto y = x;
        if constexpr (std::same_as<std::remove_const_t<source>, float>) y = i.flushes ? float(flushed(x)) : x;
        y = rounded(y, i.variant);
        if constexpr (std::integral<To>) {
            return to_integer<To>(y);
        } else {
            if (i.saturates) y = y > 0 ? std::fmin(y, decltype(y)(1)) : decltype(y)(0);
            To result = from_number<To>(y);
            if constexpr (std::same_as<To, float>) {
                if (i.flushes) result = flushed(result);
                // A bf16 is moved by its bits; otherwise there is one NaN.
                if (!std::same_as<From, bf16> && std::isnan(result)) result = std::bit_cast<float>(0x7fff'ffffu);
            }
            return result;
        }
    }
}

// A register may be wider than the type of its number: an integer then fills it.
template <class To>
void put_result(const instruction& i, warp& w, int lane, To result) {
    std::byte* const registers = w.at(i.operands[0]);
    if (i.widths[0] == sizeof(To)) return put(registers, lane, result);
    if constexpr (std::integral<To>) put_bits(registers, lane, i.widths[0], static_cast<u64>(result));
}

template <class To, class From>
void convert(const instruction& i, warp& w, u32 lanes) {
    const std::byte* const from = w.at(i.operands[1]);
    for_each_lane(lanes, [&](int lane) {
        const u64 bits = get_bits(from, lane, i.widths[1]);
        From x;
        std::memcpy(&x, &bits, sizeof(From));
        put_result(i, w, lane, converted<To>(i, x));
    });
}

struct named {
    const char* name;
    action run;
};
template <class To, class... From>
action from_one_of(const std::string& from, const std::array<const char*, sizeof...(From)>& names) {
    const action all[] = {convert<To, From>...};
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (from == names[i]) return all[i];
    }
    return nullptr;
}

constexpr std::array type_names{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64"};
template <class To>
action conversion_to(const std::string& from) {
    return from_one_of<To, u8, s8, u16, s16, u32, s32, u64, s64, f16, bf16, float, double>(from, type_names);
}

}  // namespace

action conversion(const std::string& to, const std::string& from) {
    constexpr std::array all{conversion_to<u8>,  conversion_to<s8>,   conversion_to<u16>,   conversion_to<s16>,
                             conversion_to<u32>, conversion_to<s32>,  conversion_to<u64>,   conversion_to<s64>,
                             conversion_to<f16>, conversion_to<bf16>, conversion_to<float>, conversion_to<double>};
    for (std::size_t i = 0; i < type_names.size(); ++i) {
        if (to == type_names[i]) return all[i](from);
    }
    return nullptr;
}

}  // namespace cordage_test::ptx
