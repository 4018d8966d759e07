// SPDX-License-Identifier: MIT
// Fuzzes the cache path: any layout, norm, format and move, several operands in a call, and the backward pass of norm
// and rotation, by the scalar backend and the fastest one, against a plain reference. A million random cases:
//
//   build/fuzz/tests/fuzz/cache_path_fuzz -runs=1000000 -len_control=0 -max_len=512 tests/fuzz/corpus/cache_path
#include "cache_path/cases.hpp"
#include "run_counter.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("reached the kernels");
    fuzz::input in(data, size);
    using run = bool (*)(fuzz::input&);
    static constexpr run all[] = {fuzz::float_cases,       fuzz::bfloat16_cases, fuzz::byte_cases,
                                  fuzz::byte_cache_cases,  fuzz::block_cases,    fuzz::group_cases,
                                  fuzz::projection_cases,  fuzz::gradient_cases, fuzz::gradient_cases_of_16_bits,
                                  fuzz::block_scaled_cases};
    in.one_of(all)(in) ? counter.passed() : counter.refused();
    return 0;
}
