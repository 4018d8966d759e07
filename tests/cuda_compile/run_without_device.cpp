// SPDX-License-Identifier: MIT
// The kernel of examples/fused_norm_rotate_quantise.cu, as nvcc compiled it, in the interpreter of PTX: argument 1.
#include <cmath>
#include <cordage/kernels.hpp>
#include <cstdio>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "ptx/launch.hpp"
#include "ptx/module.hpp"

using namespace cordage;
namespace ptx = cordage_test::ptx;

int main(int, char** argv) {
    // [without_device]
    const auto memory_of = [](const auto& numbers) {
        const auto bytes = std::as_bytes(std::span(numbers));
        return ptx::memory_block::of(const_cast<std::byte*>(bytes.data()), bytes.size());
    };
    constexpr index_t tokens = 3, heads = 4, head_dim = 64;
    const basis b(std::vector<double>(head_dim / 2, 0.01));
    const std::vector<int> ids{40, 1'000'000, 7};
    std::vector<float> x(tokens * heads * head_dim), w(head_dim, 2.0f), scales(tokens * heads);
    std::vector<std::int8_t> y(x.size());
    std::iota(x.begin(), x.end(), -300.0f);

    const basis_view view = b;
    const std::span fractions(view.fractions, head_dim / 2), whole_turns(view.whole_turns, head_dim / 2);
    const std::tuple arguments(view, ids.data(), x.data(), w.data(), y.data(), scales.data());
    const ptx::global_memory memory({memory_of(fractions), memory_of(whole_turns), memory_of(ids), memory_of(x),
                                     memory_of(w), memory_of(y), memory_of(scales)});  // and nothing else
    ptx::module kernels = ptx::module::of_file(argv[1]);
    const ptx::kernel_code& fused = kernels.kernel("fused(");
    const auto faults = std::apply(
        [&](const auto&... each) {
            return ptx::launch(fused, {.blocks = {tokens * heads, 1, 1}, .threads = {head_dim / 2, 1, 1}},
                               {std::as_bytes(std::span(&each, 1))...}, memory);
        },
        arguments);
    for (const ptx::finding& fault : faults) std::puts(fault.text().c_str());
    // [/without_device]

    const auto view_of_x = token_major(x.data(), {.tokens = tokens, .heads = heads, .head_dim = head_dim});
    rotate_forward<half_split>(exact_angles(b, ids),
                               in_place(view_of_x).normalized(rms_norm<>{.weight = w.data(), .epsilon = 0.0}));
    float worst = 0.0f;  // steps
    for (std::size_t i = 0; i < x.size(); ++i) {
        worst = std::fmax(worst, std::fabs(static_cast<float>(y[i]) - x[i] / scales[i / head_dim]));
    }
    std::printf("%zu faults; within %.5f steps of norm, rotation and store\n", faults.size(), worst);
    return faults.empty() && worst <= 0.5001f ? 0 : 1;
}
