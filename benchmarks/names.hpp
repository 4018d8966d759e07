// SPDX-License-Identifier: MIT
// Names of element types and pairings in benchmarks.
#pragma once

#include <concepts>
#include <string>

#include "cordage/core/pairing.hpp"
#include "cordage/pair/format.hpp"

namespace cordage::benchmarks {

template <class T>
std::string dtype_name() {
    if constexpr (std::same_as<T, float>) return "fp32";
    if constexpr (std::same_as<T, double>) return "fp64";
    if constexpr (std::same_as<T, float16>) return "fp16";
    if constexpr (std::same_as<T, bfloat16>) return "bf16";
}
template <class Pairing>
std::string pairing_name() {
    return std::same_as<Pairing, half_split> ? "half_split" : "interleaved";
}

}  // namespace cordage::benchmarks
