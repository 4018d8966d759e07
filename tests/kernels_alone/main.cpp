// SPDX-License-Identifier: MIT
// A program of the kernels alone: prints the bits of their results or, with an argument, causes an error.
#include <cordage/core/threads.hpp>
#include <cordage/kernels.hpp>
#include <cstdio>
#include <vector>

namespace {

void print(const char* name, const auto& numbers) {
    std::printf("%s", name);
    for (const auto number : numbers) std::printf(" %a", static_cast<double>(number));
    std::printf("\n");
}

}  // namespace

int main(int count, char**) {
    using namespace cordage;
    const basis b({1.0, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005}, 1.25);
    const std::vector<double> position_ids{0.0, 1.0, -3.5, 70000.0, 2147483647.0};
    const exact_angles angles(b, position_ids);
    const index_t heads = count > 1 ? -2 : 2;

    std::vector<float> x(5 * 2 * 24), grad(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i % 7) - 2.5f;
        grad[i] = static_cast<float>(i % 5) - 1.5f;
    }
    const auto view = token_major(x.data(), {.tokens = 5, .heads = heads, .head_dim = 24});
    const auto grad_view = token_major(grad.data(), view.shape);
    const threads how(2, 1);
    rotate_forward<half_split>(how, angles, in_place(view));
    print("forward", x);
    std::vector<double> grad_inv_freq(8);
    rotate_backward<half_split>(angles, rotation_gradients{.inv_freq = grad_inv_freq},
                                grad_through(grad_view, view, grad_view));
    print("backward", grad);
    print("inv_freq", grad_inv_freq);
}
