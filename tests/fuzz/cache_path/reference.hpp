// SPDX-License-Identifier: MIT
// The content of a cache, read by the formats' definitions, and the allowed difference between a stored number and the
// number to be stored.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cordage/tensors/hadamard.hpp"
#include "cordage/tensors/lane_groups.hpp"

namespace fuzz {

using cordage::index_t;

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

template <class Format>
struct plain_format<cordage::lane_groups<Format>> {
    template <class T>
    static std::vector<double> read(const cordage::lane_groups<Format>& f, const T* at, const float* scales,
                                    index_t count) {
        return plain_format<Format>::read(f.inner, at, scales, count);
    }
    static void widen(const cordage::lane_groups<Format>& f, head_numbers& head, const float* scales) {
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
    static std::vector<double> read(const cordage::hadamard<Format>& f, const T* at, const float* scales,
                                    index_t count) {
        return hadamard_of(plain_format<Format>::read(f.inner, at, scales, count), f.size);
    }
    static void widen(const cordage::hadamard<Format>& f, head_numbers& head, const float* scales) {
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
