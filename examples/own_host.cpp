// SPDX-License-Identifier: MIT
// Connects a framework with its own tensors, 16-bit type and threads to the library.
#include <array>
#include <cordage/kernels.hpp>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

namespace mine {
struct bf16 {
    std::uint16_t word;
};
struct tensor {
    bf16* data;
    std::array<std::int64_t, 4> shape, strides;  // strides in elements
};
void parallel(std::int64_t jobs, const auto& job) {
    std::vector<std::jthread> threads;
    for (std::int64_t i = 0; i < jobs; ++i) threads.emplace_back([&job, i] { job(i); });
}
}  // namespace mine

// [own_element]
template <>
struct cordage::element_traits<mine::bf16> {
    using compute = float;
    using same_bits_as = cordage::bfloat16;  // selects the vector kernels of bfloat16
    static float load(mine::bf16 x) noexcept { return to_float(bfloat16::from_bits(x.word)); }
    static mine::bf16 store(float x) noexcept { return {to_bfloat16(x).bits}; }
};
// [/own_element]

// [own_host]
cordage::heads_view<mine::bf16> view(const mine::tensor& x) {
    if (x.strides[3] != 1) throw cordage::shape_error("mine: the last stride of x must be 1");
    return {x.data, {x.shape[0], x.shape[1], x.shape[2], x.shape[3]}, x.strides[0], x.strides[1], x.strides[2]};
}

void rotate(const cordage::basis& b, const std::vector<int>& position_ids, const mine::tensor& q,
            const mine::tensor& k) {
    const cordage::loop_executor how{[](std::int64_t n, const auto& job) { mine::parallel(n, job); }, 4};
    cordage::rotate_forward<cordage::half_split>(how, cordage::exact_angles(b, position_ids),
                                                 cordage::in_place(view(q)), cordage::in_place(view(k)));
}
// [/own_host]

int main() {
    const std::int64_t tokens = 300, row = 32;        // a token has 2 heads of q, 1 of k and 1 of v, of 8 lanes each
    const cordage::basis b({1.0, 0.1, 0.01, 0.001});  // [rotary_dim/2]
    std::vector<int> position_ids(static_cast<std::size_t>(tokens));
    std::iota(position_ids.begin(), position_ids.end(), 1'000'000);
    std::vector<cordage::bfloat16> expected(static_cast<std::size_t>(tokens * row));
    std::vector<mine::bf16> fused(expected.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
        expected[i] = cordage::to_bfloat16(static_cast<float>(i % 101) / 50.0f - 1.0f);
        fused[i].word = expected[i].bits;
    }
    rotate(b, position_ids, {fused.data(), {1, tokens, 2, 8}, {tokens * row, row, 8, 1}},
           {fused.data() + 16, {1, tokens, 1, 8}, {tokens * row, row, 8, 1}});

    const cordage::heads_view<cordage::bfloat16> q_and_k{expected.data(), {1, tokens, 3, 8}, tokens * row, row, 8};
    cordage::rotate_forward<cordage::half_split>(cordage::exact_angles(b, position_ids), cordage::in_place(q_and_k));
    std::size_t different = 0;
    for (std::size_t i = 0; i < fused.size(); ++i) different += fused[i].word == expected[i].bits ? 0 : 1;
    std::printf("%zu of %zu elements differ from cordage's own bfloat16 on one thread\n", different, fused.size());
    return different == 0 ? 0 : 1;
}
