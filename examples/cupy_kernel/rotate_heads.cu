// SPDX-License-Identifier: MIT
// A kernel for NVRTC, which compiles it behind the text of cordage_kernels.hpp; main.py launches it.

// [cupy_kernel]
using namespace cordage;

/// Rotates x [tokens, heads, 2 pairs], half_split, in place. A block for each token, a thread for each pair.
extern "C" __global__ void rotate_heads(const double* inv_freq, float attention_factor,
                                        const std::int64_t* position_ids, cordage::float16* x, int heads) {
    using element = element_traits<cordage::float16>;
    const int pairs = static_cast<int>(blockDim.x), pair = static_cast<int>(threadIdx.x);
    const std::uint64_t phase = phase_of(turns_of(inv_freq[pair]), position_ids[blockIdx.x]);  // exact
    auto at = cos_sin_of_phase32<float>(static_cast<std::uint32_t>(phase >> 32));
    at = {at.cos * attention_factor, at.sin * attention_factor};
    x += std::int64_t{blockIdx.x} * heads * 2 * pairs;
    for (int head = 0; head < heads; ++head, x += 2 * pairs) {
        const auto y = rotated(at, lane_pair<float>{element::load(x[pair]), element::load(x[pair + pairs])});
        x[pair] = element::store(y.first);
        x[pair + pairs] = element::store(y.second);
    }
}
// [/cupy_kernel]
