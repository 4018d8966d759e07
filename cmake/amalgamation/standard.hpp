// SPDX-License-Identifier: MIT
// What the register layer takes from the standard library, for NVRTC, which has none. (CCCL's <cuda/std/...> has it
// too, but NVRTC needs seconds to read those headers, and programs would have to name their folder.)
#pragma once

#if __cplusplus < 202002L
#error "cordage_kernels.hpp: NVRTC needs the option -std=c++20"
#endif

namespace std {

using size_t = decltype(sizeof(0));
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;  // as in <cuda/std/cstdint>
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;

template <class, class>
struct is_same {
    static constexpr bool value = false;
};
template <class T>
struct is_same<T, T> {
    static constexpr bool value = true;
};
template <class A, class B>
concept same_as = is_same<A, B>::value;
template <class T>
concept signed_integral =
    same_as<T, signed char> || same_as<T, short> || same_as<T, int> || same_as<T, long> || same_as<T, long long>;
template <class T>
concept floating_point = same_as<T, float> || same_as<T, double>;

template <bool, class Then, class>
struct conditional {
    using type = Then;
};
template <class Then, class Else>
struct conditional<false, Then, Else> {
    using type = Else;
};
template <bool Condition, class Then, class Else>
using conditional_t = typename conditional<Condition, Then, Else>::type;

template <class T>
inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);

template <class>
struct numeric_limits;
template <>
struct numeric_limits<int64_t> {
    static __host__ __device__ constexpr int64_t max() noexcept { return 0x7fff'ffff'ffff'ffff; }
};

}  // namespace std
