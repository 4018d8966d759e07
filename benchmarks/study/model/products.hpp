// SPDX-License-Identifier: MIT
// Products with weights, in bfloat16 where the processor has instructions for it, and the gated unit of a decoder.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace demo {

/// Whether the processor multiplies in bfloat16.
inline bool has_bfloat16_products() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

/// x weight^T, float32; multiplied in bfloat16 if `in_bfloat16`.
inline at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, bool in_bfloat16) {
    if (!in_bfloat16) return at::matmul(x, weight.t());
    return at::matmul(x.to(at::kBFloat16), weight.to(at::kBFloat16).t()).to(at::kFloat);
}

/// silu(first half) * second half of each row.
inline at::Tensor swiglu(const at::Tensor& gate_up) {
    const std::vector<at::Tensor> halves = gate_up.chunk(2, -1);
    return at::silu(halves[0]) * halves[1];
}

}  // namespace demo
