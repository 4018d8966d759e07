// SPDX-License-Identifier: MIT
// Fuzzes the rotation: any element type, pairing, angle source, shape, stride, overlap and executor; forward, inverse,
// backward and rebase. A call is rejected before it writes anything, or agrees with the naive rotation and leaves all
// other memory unchanged.
#include "rotate/run.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("reached the kernels");
    fuzz::input in(data, size);
    const auto type = in.between(0, 3);
    const bool ran = type == 0   ? fuzz::run_rotation<float>(in)
                     : type == 1 ? fuzz::run_rotation<double>(in)
                     : type == 2 ? fuzz::run_rotation<cordage::float16>(in)
                                 : fuzz::run_rotation<cordage::bfloat16>(in);
    ran ? counter.passed() : counter.refused();
    return 0;
}
