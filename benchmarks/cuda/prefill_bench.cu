// SPDX-License-Identifier: MIT
// Prompts larger than the caches, forward and backward. Directions: forward (in place), forward_to (another tensor),
// backward (grad_x over grad_y, and dL/dinv_freq), backward_normalized (with RMSNorm of each head before the rotation,
// and the gradient to its weights).
#include "benches.hpp"
#include "runner.cuh"
#include "workload.cuh"

namespace cordage::benchmarks {

namespace {

template <class T, class Pairing, class Workload>
void measure_forward(runner& run, const Workload& work, const std::string& angles) {
    const index_t tokens = work.tokens();
    const std::size_t size = bytes_of<T>(tokens), moved = 2 * size + work.bytes();
    if (const std::string name = name_of<T, Pairing>("forward", angles, tokens); run.wants(name)) {
        run.beside_copy(name, size, moved, [&](std::byte* x, int set) {
            rotate_forward<Pairing>(on(run.stream()), work.angles(set), in_place(q_of<T>(x, tokens)),
                                    in_place(k_of<T>(x, tokens)));
        });
    }
    if (const std::string name = name_of<T, Pairing>("forward_to", angles, tokens); run.wants(name)) {
        run.beside_copy(name, 2 * size, moved, [&](std::byte* x, int set) {
            rotate_forward<Pairing>(on(run.stream()), work.angles(set),
                                    from_to(q_of<T>(x, tokens), q_of<T>(x + size, tokens)),
                                    from_to(k_of<T>(x, tokens), k_of<T>(x + size, tokens)));
        });
    }
}

template <class T, class Pairing>
void measure_backward(runner& run, const exact_workload& work, bool is_normalized) {
    const index_t tokens = work.tokens();
    const std::string name = name_of<T, Pairing>(is_normalized ? "backward_normalized" : "backward", "exact", tokens);
    if (!run.wants(name)) return;
    const std::size_t size = bytes_of<T>(tokens);
    const std::vector<double> zeros(static_cast<std::size_t>(head_dim));
    const std::span<const double> all_zeros(zeros);
    const device_array<double> grad{all_zeros.first(head_dim / 2)}, of_q{all_zeros}, of_k{all_zeros};
    // About the root mean square of x, so that gradients which are taken through the norm again and again do not grow.
    const std::vector<float> all_weights(static_cast<std::size_t>(head_dim), 0.57735f);
    const device_array<float> weights{std::span<const float>(all_weights)};
    const rms_norm<> norm{.weight = weights.data()};
    const index_t doubles = backward_workspace_size(work.angles(0), {1, tokens, heads, head_dim}, head_dim);
    const device_array<double> workspace(static_cast<std::size_t>(doubles));
    const auto all = [](const device_array<double>& numbers) { return std::span(numbers.data(), numbers.size()); };
    run.beside_copy(name, 2 * size, 3 * size + work.bytes(), [&](std::byte* g, int set) {
        std::byte* const y = g + size;  // or x
        const rotation_gradients grads{.inv_freq = all(grad), .workspace = all(workspace)};
        const auto q = grad_through(q_of<T>(g, tokens), q_of<T>(y, tokens), q_of<T>(g, tokens));
        const auto k = grad_through(k_of<T>(g, tokens), k_of<T>(y, tokens), k_of<T>(g, tokens));
        if (is_normalized) {
            rotate_backward<Pairing>(on(run.stream()), work.angles(set), grads, q.normalized(norm, all(of_q)),
                                     k.normalized(norm, all(of_k)));
        } else {
            rotate_backward<Pairing>(on(run.stream()), work.angles(set), grads, q, k);
        }
    });
}

template <class T>
void measure_type(runner& run) {
    for (const index_t tokens : {512, 2048, 4096, 16'384}) {
        fill<T>(run.arena());
        const exact_workload exact(tokens);
        const table_workload table(exact, run.sets_of(bytes_of<T>(tokens)));
        measure_forward<T, half_split>(run, exact, "exact");
        measure_forward<T, interleaved>(run, exact, "exact");
        measure_forward<T, half_split>(run, table, "table");
        measure_forward<T, interleaved>(run, table, "table");
        for (const bool is_normalized : {false, true}) {
            measure_backward<T, half_split>(run, exact, is_normalized);
            measure_backward<T, interleaved>(run, exact, is_normalized);
        }
    }
}

}  // namespace

void measure_prefill(runner& run) {
    measure_type<bfloat16>(run);
    measure_type<float16>(run);
    measure_type<float>(run);
}

}  // namespace cordage::benchmarks
