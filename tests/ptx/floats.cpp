// SPDX-License-Identifier: MIT
// Arithmetic and comparison of floats and doubles, each operation rounded once. Approximate functions are computed in
// double and rounded, the best that a device may return. A float that is NaN is 0x7fffffff, as on a device.
#include <bit>
#include <cmath>
#include <limits>

#include "ptx/operation_table.hpp"

namespace cordage_test::ptx {

namespace {

// The type that C++ computes with.
template <class T>
using number = std::conditional_t<std::same_as<T, double>, double, float>;

// The smaller one: NaN only if both are, and -0 is smaller than 0.
template <class T>
T smaller(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class T>
T larger(T a, T b) {
    return -smaller(-a, -b);
}
template <class T>
bool is_nan(T a, T b) {
    return std::isnan(a) || std::isnan(b);
}

// a * b + c rounded downwards, as nvcc's expf has it. In double the product is exact, and what the sum lacks is known.
float multiply_add_downwards(float a, float b, float c) {
    const double product = static_cast<double>(a) * static_cast<double>(b), sum = product + static_cast<double>(c);
    const double of_c = sum - product, lacks = (product - (sum - of_c)) + (static_cast<double>(c) - of_c);
    const float nearest = std::fma(a, b, c);
    const bool is_above = static_cast<double>(nearest) > sum || (static_cast<double>(nearest) == sum && lacks < 0.0);
    return is_above ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}

template <class T>
void add_arithmetic(operation_table& to) {
    using n = number<T>;
    for (const char* rounded : {"", ".rn"}) {
        to.add_same<T>(std::string("add") + rounded, [](T a, T b) { return n(a) + n(b); });
        to.add_same<T>(std::string("sub") + rounded, [](T a, T b) { return n(a) - n(b); });
        to.add_same<T>(std::string("mul") + rounded, [](T a, T b) { return n(a) * n(b); });
    }
    to.add_same<T>("fma.rn", [](T a, T b, T c) { return std::fma(n(a), n(b), n(c)); });
    to.add_same<T>("(a * b - c)", [](T a, T b, T c) { return std::fma(n(a), n(b), -n(c)); });  // contraction.cpp
    to.add_same<T>("(c - a * b)", [](T a, T b, T c) { return std::fma(-n(a), n(b), n(c)); });
    for (const char* name : {"div.rn", "div.full", "div.approx"}) {
        to.add_same<T>(name, [](T a, T b) { return n(a) / n(b); });
    }
    for (const char* name : {"rcp.rn", "rcp.approx"}) to.add_same<T>(name, [](T a) { return n(1) / n(a); });
    for (const char* name : {"sqrt.rn", "sqrt.approx"}) to.add_same<T>(name, [](T a) { return std::sqrt(n(a)); });
    to.add_same<T>("rsqrt.approx", [](T a) { return static_cast<n>(1.0 / std::sqrt(static_cast<double>(n(a)))); });
    to.add_same<T>("neg", [](T a) { return -n(a); });
    to.add_same<T>("abs", [](T a) { return std::fabs(n(a)); });
    to.add_same<T>("min", [](T a, T b) { return smaller<n>(a, b); });
    to.add_same<T>("max", [](T a, T b) { return larger<n>(a, b); });
    to.add_same<T>("min.NaN", [](T a, T b) { return is_nan<n>(a, b) ? n(NAN) : smaller<n>(a, b); });
    to.add_same<T>("max.NaN", [](T a, T b) { return is_nan<n>(a, b) ? n(NAN) : larger<n>(a, b); });
}

// Names in u are also true for NaN.
template <class T>
void add_comparisons(operation_table& to) {
    using n = number<T>;
    to.add_comparison<T>("eq", [](T a, T b) { return n(a) == n(b); });
    to.add_comparison<T>("ne", [](T a, T b) { return n(a) < n(b) || n(a) > n(b); });
    to.add_comparison<T>("lt", [](T a, T b) { return n(a) < n(b); });
    to.add_comparison<T>("le", [](T a, T b) { return n(a) <= n(b); });
    to.add_comparison<T>("gt", [](T a, T b) { return n(a) > n(b); });
    to.add_comparison<T>("ge", [](T a, T b) { return n(a) >= n(b); });
    to.add_comparison<T>("equ", [](T a, T b) { return !(n(a) < n(b) || n(a) > n(b)); });
    to.add_comparison<T>("neu", [](T a, T b) { return n(a) != n(b); });
    to.add_comparison<T>("ltu", [](T a, T b) { return !(n(a) >= n(b)); });
    to.add_comparison<T>("leu", [](T a, T b) { return !(n(a) > n(b)); });
    to.add_comparison<T>("gtu", [](T a, T b) { return !(n(a) <= n(b)); });
    to.add_comparison<T>("geu", [](T a, T b) { return !(n(a) < n(b)); });
    to.add_comparison<T>("num", [](T a, T b) { return !is_nan<n>(a, b); });
    to.add_comparison<T>("nan", [](T a, T b) { return is_nan<n>(a, b); });
}

template <class T>
void add_functions(operation_table& to) {
    const auto add = [&](const char* name, const auto& f) { to.add_same<T>(name, f); };
    add("ex2.approx", [](T a) { return static_cast<float>(std::exp2(static_cast<double>(float(a)))); });
    add("lg2.approx", [](T a) { return static_cast<float>(std::log2(static_cast<double>(float(a)))); });
    add("sin.approx", [](T a) { return static_cast<float>(std::sin(static_cast<double>(float(a)))); });
    add("cos.approx", [](T a) { return static_cast<float>(std::cos(static_cast<double>(float(a)))); });
    add("tanh.approx", [](T a) { return static_cast<float>(std::tanh(static_cast<double>(float(a)))); });
}

}  // namespace

void add_floats(operation_table& to) {
    add_arithmetic<float>(to);
    add_arithmetic<flushed>(to);
    add_arithmetic<double>(to);
    add_comparisons<float>(to);
    add_comparisons<flushed>(to);
    add_comparisons<double>(to);
    add_functions<float>(to);
    add_functions<flushed>(to);
    to.add<u32, u32, u32>("copysign.f32", [](u32 a, u32 b) { return (a & 0x8000'0000u) | (b & 0x7fff'ffffu); });
    to.add_same<float>("fma.rm", [](float a, float b, float c) { return multiply_add_downwards(a, b, c); });
    // Its operand's and its result's lower 32 bits are not used, and denormals are flushed.
    to.add<double, double>("rcp.approx.ftz.f64", [](double a) {
        const auto upper = [](double x) {
            return std::bit_cast<double>(std::bit_cast<u64>(x) & 0xffff'ffff'0000'0000u);
        };
        const auto flush = [](double x) { return std::fabs(x) < 0x1p-1022 ? std::copysign(0.0, x) : x; };
        return upper(flush(1.0 / flush(upper(a))));
    });
}

}  // namespace cordage_test::ptx
