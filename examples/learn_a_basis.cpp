// SPDX-License-Identifier: MIT
// Learns a basis through the rotation alone: CLEX starts as NTK-aware scaling and is trained to rotate q as a hidden
// rule (by parts) does at t = 8. The gradient flows from the rotated q to inv_freq to the ODE's weights.
#include <cmath>
#include <cordage/clex/initial_weights.hpp>
#include <cordage/cordage.hpp>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
    using namespace cordage;
    const rope_config model{.head_dim = 16, .rotary_dim = 16, .theta_base = 10000, .original_length = 64};
    const double t = 8.0;
    const heads_shape shape{.tokens = 32, .heads = 2, .head_dim = 16};
    std::vector<double> q(32 * 2 * 16), wanted(q.size()), rotated(q.size()), grad(q.size());
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = std::sin(static_cast<double>(i * i));
    std::vector<std::int64_t> position_ids(32);
    std::iota(position_ids.begin(), position_ids.end(), 0);

    const basis hidden_rule = make_basis(model, by_parts{}, t);
    rotate_forward<interleaved>(exact_angles(hidden_rule, position_ids),
                                from_to(token_major(q.data(), shape), token_major(wanted.data(), shape)));

    clex policy(model, clex_initial_weights(model, 1, 0), {.t_max = t, .tolerance = {1e-8, 1e-8}});
    std::vector<double> weights = policy.parameters(), velocity(weights.size());
    double first = 0.0, last = 0.0;
    for (int step = 0; step < 300; ++step) {
        const basis now = make_basis(model, policy, t);
        const exact_angles angles(now, position_ids);
        rotate_forward<interleaved>(angles, from_to(token_major(q.data(), shape), token_major(rotated.data(), shape)));

        last = 0.0;  // loss = mean squared difference
        for (std::size_t i = 0; i < q.size(); ++i) {
            const double difference = rotated[i] - wanted[i];
            last += difference * difference / static_cast<double>(q.size());
            grad[i] = 2.0 * difference / static_cast<double>(q.size());
        }
        if (step == 0) first = last;

        // [gradient_to_the_weights]
        std::vector<double> grad_inv_freq(static_cast<std::size_t>(model.pairs())), grad_weights(weights.size());
        const auto y = token_major(rotated.data(), shape), g = token_major(grad.data(), shape);
        rotate_backward<interleaved>(angles, rotation_gradients{.inv_freq = grad_inv_freq}, grad_through(g, y, g));
        add_grad_parameters(policy, model, t, grad_inv_freq, grad_weights);
        // [/gradient_to_the_weights]

        for (std::size_t i = 0; i < weights.size(); ++i) {
            velocity[i] = 0.9 * velocity[i] - 1e-5 * grad_weights[i];
            weights[i] += velocity[i];
        }
        policy = policy.with_parameters(weights);
        if (step % 60 == 0) std::printf("step %3d: loss %.2e\n", step, last);
    }
    std::printf("loss %.2e -> %.2e\n", first, last);
    return last < 0.05 * first ? 0 : 1;
}
