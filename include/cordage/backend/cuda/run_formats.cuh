// SPDX-License-Identifier: MIT
// How runs of lanes are stored in each format: elements, codes of a byte or of four bits with scales, ggml's q8_0;
// serves the CUDA kernels.
#pragma once

#include "cordage/backend/cuda/pairs.cuh"
#include "cordage/core/bits.hpp"
#include "cordage/tensors/block_scaled.hpp"
#include "cordage/tensors/ggml_blocks.hpp"

namespace cordage::backend {

namespace cuda_detail {

/// Two floats as codes of one byte each, in the low half of a word.
__device__ inline std::uint32_t two_codes(std::int8_t, float a, float b) {
    using code = tensors_detail::byte_code<std::int8_t>;
    return __byte_perm(code::code_of(a), code::code_of(b), 0x0040);
}
template <int MantissaBits>
__device__ std::uint32_t two_codes(fp8<MantissaBits>, float a, float b) {
#if defined(CORDAGE_HAS_FP8_INSTRUCTIONS)
    return pair_detail::two_fp8_bits<fp8<MantissaBits>>(a, b);
#else
    return fp8_bits<fp8<MantissaBits>>(a) | fp8_bits<fp8<MantissaBits>>(b) << 8;
#endif
}

}  // namespace cuda_detail

/// Stores L neighbouring lanes of a head, from `lane` on, as device_format stores its units: elements,
template <int L, piece_element T>
__device__ void store_run(const element_traits<T>&, T* head, std::int32_t lane, const float* x, float) {
    run_of<T, L>::packed(x).store(head + lane);
}
/// codes of one byte,
template <int L, group_format Format, class Code>
__device__ void store_run(const Format&, Code* head, std::int32_t lane, const float* x, float inverse) {
    static_assert(L % 4 == 0);
    run_of<Code, L> run;
    std::uint32_t words[L / 4];
#pragma unroll
    for (int i = 0; i < L; i += 4) {
        words[i / 4] = __byte_perm(cuda_detail::two_codes(Code{}, x[i] * inverse, x[i + 1] * inverse),
                                   cuda_detail::two_codes(Code{}, x[i + 2] * inverse, x[i + 3] * inverse), 0x5410);
    }
    std::memcpy(run.part, words, L);
    run.store(head + lane);
}
/// of four bits,
template <int L, group_format Format>
__device__ void store_run(const Format&, fp4_e2m1_x2* head, std::int32_t lane, const float* x, float inverse) {
    static_assert(L % 4 == 0);
    run_of<fp4_e2m1_x2, L / 2> run;
    std::uint32_t words[(L + 7) / 8] = {};
#pragma unroll
    for (int i = 0; i < L; ++i) words[i / 8] |= fp8_bits<fp4_e2m1_x2>(x[i] * inverse) << (4 * (i % 8));
    std::memcpy(run.part, words, L / 2);
    run.store(head + lane / 2);
}
/// and codes two at a time, as far as blocks of 34 bytes are aligned.
template <int L>
__device__ void store_run(const q8_0&, q8_0_block* head, std::int32_t lane, const float* x, float inverse) {
    auto* const codes =
        reinterpret_cast<std::uint16_t*>(reinterpret_cast<std::byte*>(head + lane / 32) + 2) + lane % 32 / 2;
#pragma unroll
    for (int i = 0; i < L; i += 2) {
        const std::uint32_t first = tensors_detail::rounded_half_away(x[i] * inverse);
        const std::uint32_t second = tensors_detail::rounded_half_away(x[i + 1] * inverse);
        codes[i / 2] = static_cast<std::uint16_t>(__byte_perm(first, second, 0x0040));
    }
}

}  // namespace cordage::backend
