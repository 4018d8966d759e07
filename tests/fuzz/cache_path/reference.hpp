// SPDX-License-Identifier: MIT
// The content of a cache, read by the formats' definitions, and the allowed difference between a stored number and the
// number to be stored.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cache_path/placed.hpp"

namespace fuzz {

/// A head of numbers, with the allowed error of a float kernel for each.
struct head_numbers {
    std::vector<double> lanes, allowed;
};

inline double largest_of(const std::vector<double>& lanes, std::size_t first, std::size_t count) {
    double largest = 0.0;
    for (std::size_t i = first; i < first + count; ++i) largest = std::max(largest, std::fabs(lanes[i]));
    return largest;
}

inline double fp8_number(unsigned code, int mantissa_bits, int bias) {
    const int exponent = static_cast<int>(code & 0x7f) >> mantissa_bits;
    const int fraction = static_cast<int>(code) & ((1 << mantissa_bits) - 1);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa_bits)
                                      : std::ldexp((1 << mantissa_bits) + fraction, exponent - bias - mantissa_bits);
    return (code & 0x80) != 0 ? -size : size;
}

/// Reads a format from the contiguous elements of a head and its scales; widen adds the distance from x to the nearest
/// number of the format to the allowed error.
template <class Format>
struct plain_format;

template <class T>
struct plain_format<cordage::element_traits<T>> {
    static std::vector<double> read(const cordage::element_traits<T>&, const T* at, const float*, index_t count) {
        std::vector<double> all;
        for (index_t i = 0; i < count; ++i) all.push_back(static_cast<double>(cordage::element_traits<T>::load(at[i])));
        return all;
    }
    static void widen(const cordage::element_traits<T>&, head_numbers& head, const float*) {
        constexpr bool half = std::is_same_v<T, cordage::float16>, brain = std::is_same_v<T, cordage::bfloat16>;
        for (std::size_t i = 0; i < head.lanes.size(); ++i) {
            const double size = std::fabs(head.lanes[i]) + head.allowed[i];
            if (half) head.allowed[i] += size < 65504.0 ? size * 0x1p-11 + 0x1p-25 : HUGE_VAL;
            if (brain) head.allowed[i] += size * 0x1p-8;
        }
    }
};

template <class Code>
struct plain_format<cordage::scaled_bytes<Code>> {
    using format = cordage::scaled_bytes<Code>;
    static constexpr bool is_int8 = std::is_same_v<Code, std::int8_t>;
    static constexpr int mantissa_bits = std::is_same_v<Code, cordage::fp8_e4m3> ? 3 : 2;
    static constexpr double most = is_int8 ? 127.0 : mantissa_bits == 3 ? 448.0 : 57344.0;

    static index_t group_of(const format& f, index_t count) { return f.lanes_of_scale == 0 ? count : f.lanes_of_scale; }
    static std::vector<double> read(const format& f, const Code* at, const float* scales, index_t count) {
        std::vector<double> all;
        for (index_t i = 0; i < count; ++i) {
            const auto code = std::bit_cast<std::uint8_t>(at[i]);
            const double number = is_int8 ? static_cast<double>(static_cast<std::int8_t>(code))
                                          : fp8_number(code, mantissa_bits, mantissa_bits == 3 ? 7 : 15);
            all.push_back(number * static_cast<double>(scales[i / group_of(f, count)]));
        }
        return all;
    }
    static void widen(const format& f, head_numbers& head, const float* scales) {
        const auto group = static_cast<std::size_t>(group_of(f, std::ssize(head.lanes)));
        for (std::size_t i = 0; i < head.lanes.size(); ++i) {
            const std::size_t first = i / group * group;
            const double made = (largest_of(head.lanes, first, group) + largest_of(head.allowed, first, group)) / most;
            const double scale = f.makes_scales ? made : std::fabs(static_cast<double>(scales[i / group]));
            // Half a step of the codes; for fp8 half a step at the number, or of the smallest numbers.
            const double step = is_int8 ? 0.5 * scale
                                        : std::max((std::fabs(head.lanes[i]) + head.allowed[i]) / (2 << mantissa_bits),
                                                   scale * (mantissa_bits == 3 ? 0x1p-10 : 0x1p-17));
            head.allowed[i] += 1.001 * step + 0x1p-126;
            // Values beyond the largest code of a given scale saturate.
            if (!f.makes_scales) head.lanes[i] = std::clamp(head.lanes[i], -most * scale, most * scale);
        }
    }
};

template <>
struct plain_format<cordage::q8_0> {
    static std::vector<double> read(cordage::q8_0, const cordage::q8_0_block* at, const float*, index_t count) {
        std::vector<double> all;
        for (index_t i = 0; i < count; ++i) {
            const cordage::q8_0_block& block = at[i / 32];
            all.push_back(static_cast<double>(to_float(block.d)) * block.codes[static_cast<std::size_t>(i % 32)]);
        }
        return all;
    }
    static void widen(cordage::q8_0, head_numbers& head, const float*) {
        for (std::size_t i = 0; i < head.lanes.size(); ++i) {
            const std::size_t first = i / 32 * 32;
            const double largest = largest_of(head.lanes, first, 32) + largest_of(head.allowed, first, 32);
            // Half a code, and the scale rounded to fp16, by at most 2^-25 where it is smallest.
            head.allowed[i] += 1.001 * (0.5 * largest / 127.0 + largest * 0x1p-11) + 127.5 * 0x1p-25;
        }
    }
};
template <>
struct plain_format<cordage::q4_0> {
    static std::vector<double> read(cordage::q4_0, const cordage::q4_0_block* at, const float*, index_t count) {
        std::vector<double> all;
        for (index_t i = 0; i < count; ++i) {
            const cordage::q4_0_block& block = at[i / 32];
            const int byte = block.codes[static_cast<std::size_t>(i % 16)], code = i % 32 < 16 ? byte & 15 : byte >> 4;
            all.push_back(static_cast<double>(to_float(block.d)) * (code - 8));
        }
        return all;
    }
    static void widen(cordage::q4_0, head_numbers& head, const float*) {
        for (std::size_t i = 0; i < head.lanes.size(); ++i) {
            const std::size_t first = i / 32 * 32;
            const double largest = largest_of(head.lanes, first, 32) + largest_of(head.allowed, first, 32);
            // A step is largest / 8; the codes end one step below the largest of the other sign.
            head.allowed[i] += 1.001 * (largest / 8.0 + largest * 0x1p-11) + 8.5 * 0x1p-25;
        }
    }
};

/// The positive numbers of a code of one byte or of four bits, by the definition of the format, in ascending order.
template <class Code>
std::vector<double> numbers_of_code() {
    const bool is_fp4 = std::is_same_v<Code, cordage::fp4_e2m1_x2>, is_e4m3 = std::is_same_v<Code, cordage::fp8_e4m3>;
    std::vector<double> all;
    for (unsigned code = 0; code <= (is_fp4 ? 7u : is_e4m3 ? 0x7eu : 0x7bu); ++code) {
        all.push_back(is_fp4 ? fp8_number(code, 1, 1) : is_e4m3 ? fp8_number(code, 3, 7) : fp8_number(code, 2, 15));
    }
    return all;
}
/// The number of a lane without its group's scale.
template <class Code>
double number_of_lane(const Code* codes, index_t lane) {
    if constexpr (std::is_same_v<Code, cordage::fp4_e2m1_x2>) {
        const unsigned code = lane % 2 == 0 ? codes[lane / 2].bits & 15u : codes[lane / 2].bits >> 4;
        return code < 8 ? fp8_number(code, 1, 1) : -fp8_number(code - 8, 1, 1);
    } else {
        return std::is_same_v<Code, cordage::fp8_e4m3> ? fp8_number(codes[lane].bits, 3, 7)
                                                       : fp8_number(codes[lane].bits, 2, 15);
    }
}
/// The nearest of `all`, with the sign of x; larger numbers become the largest one.
inline double nearest_of(const std::vector<double>& all, double x) {
    const double size = std::fabs(x);
    const auto above = std::lower_bound(all.begin(), all.end(), size);
    const auto nearest = above == all.end()                                            ? above - 1
                         : above != all.begin() && size - *(above - 1) < *above - size ? above - 1
                                                                                       : above;
    return std::copysign(*nearest, x);
}
/// A group of lanes with a scale of its own: NaN if one lane is; else every lane becomes the range of the numbers that
/// it may be stored as, with any of the factors between those of the smallest and the largest possible magnitude.
///
///   factors_of(least, most)  all factors of codes that groups with such a largest magnitude may have
template <class Factors>
void store_group(head_numbers& head, std::size_t first, std::size_t count, const std::vector<double>& numbers,
                 const Factors& factors_of) {
    const auto lanes = head.lanes.begin() + static_cast<index_t>(first), end = lanes + static_cast<index_t>(count);
    if (std::any_of(lanes, end, [](double x) { return std::isnan(x); })) {
        std::fill(lanes, end, std::numeric_limits<double>::quiet_NaN());
        return;
    }
    double least = 0.0, most = 0.0;
    for (std::size_t i = first; i < first + count; ++i) {
        head.allowed[i] += 3e-7 * std::fabs(head.lanes[i]) + 0x1p-140;  // roundings of the factor's inverse
        least = std::max(least, std::fabs(head.lanes[i]) - head.allowed[i]);
        most = std::max(most, std::fabs(head.lanes[i]) + head.allowed[i]);
    }
    const std::vector<double> factors = factors_of(least, most);
    for (std::size_t i = first; i < first + count; ++i) {
        const double x = head.lanes[i], off = head.allowed[i];
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (const double factor : factors) {
            low = std::min(low, factor * nearest_of(numbers, (x - off) / factor));
            high = std::max(high, factor * nearest_of(numbers, (x + off) / factor));
        }
        head.lanes[i] = 0.5 * (low + high);
        head.allowed[i] = 0.5 * (high - low) + 1e-12 * (std::fabs(low) + std::fabs(high));
    }
}

template <class Code>
struct plain_format<cordage::mx_blocks<Code>> {
    using format = cordage::mx_blocks<Code>;

    static index_t group_of(const format& f, index_t count) { return f.lanes_of_scale == 0 ? count : f.lanes_of_scale; }
    static std::vector<double> read(const format& f, const Code* at, const cordage::e8m0* scales, index_t count) {
        std::vector<double> all;
        for (index_t i = 0; i < count; ++i) {
            const int bits = scales[i / group_of(f, count)].bits;
            const double scale = bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
            all.push_back(number_of_lane(at, i) * scale);
        }
        return all;
    }
    static void widen(const format& f, head_numbers& head, const cordage::e8m0*) {
        static const std::vector<double> numbers = numbers_of_code<Code>();
        const auto power_of = [&](double largest) {
            largest = std::max(largest, static_cast<double>(f.least));
            const double power = f.rounding == cordage::scale_rounding::up
                                     ? std::ceil(std::log2(largest / numbers.back()))
                                     : std::floor(std::log2(largest)) - std::floor(std::log2(numbers.back()));
            return static_cast<int>(std::clamp(power, -127.0, 127.0));
        };
        const auto factors_of = [&](double least, double most) {
            std::vector<double> factors;
            for (int power = power_of(least); power <= power_of(most); ++power) {
                factors.push_back(std::ldexp(1.0, power));
            }
            return factors;
        };
        const auto group = static_cast<std::size_t>(group_of(f, std::ssize(head.lanes)));
        for (std::size_t i = 0; i < head.lanes.size(); i += group) store_group(head, i, group, numbers, factors_of);
    }
};
template <>
struct plain_format<cordage::nvfp4> {
    using code = cordage::fp4_e2m1_x2;

    static std::vector<double> read(const cordage::nvfp4& f, const code* at, const cordage::fp8_e4m3* scales,
                                    index_t count) {
        std::vector<double> all;
        for (index_t i = 0; i < count; ++i) {
            const unsigned bits = scales[i / 16].bits;
            const double scale = bits == 0x7f ? std::numeric_limits<double>::quiet_NaN() : fp8_number(bits, 3, 7);
            all.push_back(number_of_lane(at, i) * scale * static_cast<double>(f.tensor_scale));
        }
        return all;
    }
    static void widen(const cordage::nvfp4& f, head_numbers& head, const cordage::fp8_e4m3*) {
        static const std::vector<double> numbers = numbers_of_code<code>(),
                                         scales = numbers_of_code<cordage::fp8_e4m3>();
        const auto tensor_scale = static_cast<double>(f.tensor_scale);
        const auto factors_of = [&](double least, double most) {
            const auto scale_of_group = [&](double largest) {
                return nearest_of(scales, std::max(largest / 6.0 / tensor_scale, 0x1p-6));
            };
            std::vector<double> factors;
            for (const double scale : scales) {
                if (scale < scale_of_group(least) || scale > scale_of_group(most)) continue;
                factors.push_back(scale * tensor_scale);
            }
            return factors;
        };
        for (std::size_t i = 0; i < head.lanes.size(); i += 16) store_group(head, i, 16, numbers, factors_of);
    }
};

template <class Format>
struct plain_format<cordage::lane_groups<Format>> {
    template <class T>
    static std::vector<double> read(const cordage::lane_groups<Format>& f, const T* at, const scale_of<Format>* scales,
                                    index_t count) {
        return plain_format<Format>::read(f.inner, at, scales, count);
    }
    static void widen(const cordage::lane_groups<Format>& f, head_numbers& head, const scale_of<Format>* scales) {
        plain_format<Format>::widen(f.inner, head, scales);
    }
};

/// H x of each group, by the definition of H.
inline std::vector<double> hadamard_of(const std::vector<double>& x, index_t size) {
    std::vector<double> y;
    const auto each = static_cast<std::size_t>(size);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t first = i / each * each;
        double sum = 0.0;
        for (std::size_t j = 0; j < each; ++j) {
            sum += std::popcount((i - first) & j) % 2 == 0 ? x[first + j] : -x[first + j];
        }
        y.push_back(sum / std::sqrt(static_cast<double>(size)));
    }
    return y;
}
template <class Format>
struct plain_format<cordage::hadamard<Format>> {
    template <class T>
    static std::vector<double> read(const cordage::hadamard<Format>& f, const T* at, const scale_of<Format>* scales,
                                    index_t count) {
        return hadamard_of(plain_format<Format>::read(f.inner, at, scales, count), f.size);
    }
    static void widen(const cordage::hadamard<Format>& f, head_numbers& head, const scale_of<Format>* scales) {
        head_numbers stored{hadamard_of(head.lanes, f.size), head.allowed};
        const auto each = static_cast<std::size_t>(f.size);
        const auto spread = [&](std::vector<double>& allowed) {  // any lane of a group may have the error of all
            for (std::size_t first = 0; first < allowed.size(); first += each) {
                double sum = 0.0;
                for (std::size_t i = first; i < first + each; ++i) sum += allowed[i];
                std::fill_n(allowed.begin() + static_cast<index_t>(first), each,
                            sum / std::sqrt(static_cast<double>(each)));
            }
        };
        for (std::size_t i = 0; i < head.lanes.size(); ++i) {
            stored.allowed[i] += 1e-6 * largest_of(head.lanes, i / each * each, each);
        }
        spread(stored.allowed);
        plain_format<Format>::widen(f.inner, stored, scales);
        spread(stored.allowed);
        head = {hadamard_of(stored.lanes, f.size), stored.allowed};
    }
};

}  // namespace fuzz
