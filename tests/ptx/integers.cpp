// SPDX-License-Identifier: MIT
// Arithmetic and comparison of integers.
#include <algorithm>
#include <type_traits>

#include "ptx/operation_table.hpp"

namespace cordage_test::ptx {

namespace {

template <class T>
inline constexpr bool is_signed = std::is_signed_v<T>;

/// Of products of two T.
template <class T>
using twice_as_wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<is_signed<T>, s32, u32>,
                                         std::conditional_t<sizeof(T) == 4, std::conditional_t<is_signed<T>, s64, u64>,
                                                            std::conditional_t<is_signed<T>, s128, u128>>>;

template <class T>
void add_sums_and_products(operation_table& to) {
    using wide = twice_as_wide<T>;
    constexpr int bits = 8 * sizeof(T);
    to.add_same<T>("add", [](T a, T b) { return static_cast<T>(u64(a) + u64(b)); });
    to.add_same<T>("sub", [](T a, T b) { return static_cast<T>(u64(a) - u64(b)); });
    to.add_same<T>("mul.lo", [](T a, T b) { return static_cast<T>(u64(a) * u64(b)); });
    to.add_same<T>("mul.hi", [](T a, T b) { return static_cast<T>(wide(a) * wide(b) >> bits); });
    to.add_same<T>("mad.lo", [](T a, T b, T c) { return static_cast<T>(u64(a) * u64(b) + u64(c)); });
    to.add_same<T>("mad.hi", [](T a, T b, T c) { return static_cast<T>(u64(wide(a) * wide(b) >> bits) + u64(c)); });
    if constexpr (bits < 64) {
        const std::string type = std::string(".") + name_of<T>();
        to.add<wide, T, T>("mul.wide" + type, [](T a, T b) { return static_cast<wide>(wide(a) * wide(b)); });
        to.add<wide, T, T, wide>("mad.wide" + type,
                                 [](T a, T b, wide c) { return static_cast<wide>(u64(wide(a) * wide(b)) + u64(c)); });
    }
}

// What a device returns for a divisor of 0, and for the least number by -1, is not specified.
template <class T>
void add_quotients(operation_table& to) {
    to.add_same<T>("div", [](T a, T b) {
        if (b == 0) return static_cast<T>(-1);
        if (is_signed<T> && b == static_cast<T>(-1)) return static_cast<T>(u64{0} - u64(a));
        return static_cast<T>(a / b);
    });
    to.add_same<T>("rem", [](T a, T b) {
        if (b == 0) return static_cast<T>(-1);
        if (is_signed<T> && b == static_cast<T>(-1)) return static_cast<T>(0);
        return static_cast<T>(a % b);
    });
}

template <class T>
void add_comparisons(operation_table& to) {
    to.add_same<T>("min", [](T a, T b) { return std::min(a, b); });
    to.add_same<T>("max", [](T a, T b) { return std::max(a, b); });
    const auto below = [](T a, T b) { return a < b; };
    const auto not_above = [](T a, T b) { return a <= b; };
    const auto above = [](T a, T b) { return a > b; };
    const auto not_below = [](T a, T b) { return a >= b; };
    to.add_comparison<T>("eq", [](T a, T b) { return a == b; });
    to.add_comparison<T>("ne", [](T a, T b) { return a != b; });
    to.add_comparison<T>("lt", below);
    to.add_comparison<T>("le", not_above);
    to.add_comparison<T>("gt", above);
    to.add_comparison<T>("ge", not_below);
    if constexpr (is_signed<T>) {
        to.add_same<T>("neg", [](T a) { return static_cast<T>(u64{0} - u64(a)); });
        to.add_same<T>("abs", [](T a) { return a < 0 ? static_cast<T>(u64{0} - u64(a)) : a; });
    } else {
        to.add_comparison<T>("lo", below);
        to.add_comparison<T>("ls", not_above);
        to.add_comparison<T>("hi", above);
        to.add_comparison<T>("hs", not_below);
    }
}

template <class T>
void add_shifts(operation_table& to) {
    constexpr u32 bits = 8 * sizeof(T);
    const std::string type = std::string(".") + name_of<T>();
    to.add<T, T, u32>("shr" + type, [](T a, u32 by) {
        if (by >= bits) return static_cast<T>(is_signed<T> && a < T{} ? -1 : 0);
        return static_cast<T>(a >> by);
    });
    if constexpr (bits >= 32) {
        // `count` bits from `first` on; signed ones continue their highest bit.
        to.add<T, T, u32, u32>("bfe" + type, [](T a, u32 first, u32 count) {
            first &= 255, count &= 255;
            const T beyond = static_cast<T>(is_signed<T> && a < T{} ? -1 : 0);
            if (count == 0) return T{};
            const T field = first < bits ? static_cast<T>(a >> first) : beyond;
            if (count >= bits) return field;
            const auto unused = static_cast<int>(bits - count);
            return static_cast<T>(static_cast<T>(u64(field) << unused) >> unused);
        });
    }
}

template <class... T>
void add_all(operation_table& to) {
    (add_sums_and_products<T>(to), ...);
    (add_quotients<T>(to), ...);
    (add_comparisons<T>(to), ...);
    (add_shifts<T>(to), ...);
}

}  // namespace

void add_integers(operation_table& to) { add_all<u16, s16, u32, s32, u64, s64>(to); }

}  // namespace cordage_test::ptx
