// SPDX-License-Identifier: MIT
// Decode steps as nodes of a CUDA graph: q and k are in the caches, as after the kernel that computes them. Angles
// named ..._overlapping are launches that may start while the preceding kernel ends.
#include "benches.hpp"
#include "runner.cuh"
#include "workload.cuh"

namespace cordage::benchmarks {

namespace {

template <class T, class Pairing, class Workload>
void measure(runner& run, const Workload& work, const std::string& angles) {
    const index_t tokens = work.tokens();
    const auto measure_on = [&](const on_stream& where, const std::string& kind) {
        const std::string name = name_of<T, Pairing>("forward", angles + kind + "/graph_node", tokens);
        if (!run.wants(name)) return;
        run.beside_empty_node(name, [&](std::byte* x) {
            rotate_forward<Pairing>(where, work.angles(0), in_place(q_of<T>(x, tokens)), in_place(k_of<T>(x, tokens)));
        });
    };
    measure_on(on(run.stream()), "");
    measure_on(on(run.stream()).overlapping(), "_overlapping");
}

template <class T>
void measure_type(runner& run) {
    fill<T>(run.arena());
    for (const index_t tokens : {1, 8, 64, 256}) {
        const exact_workload exact(tokens);
        const table_workload table(exact, 1);
        measure<T, half_split>(run, exact, "exact");
        measure<T, interleaved>(run, exact, "exact");
        measure<T, half_split>(run, table, "table");
        measure<T, interleaved>(run, table, "table");
    }
}

}  // namespace

void measure_decode(runner& run) {
    measure_type<bfloat16>(run);
    measure_type<float16>(run);
    measure_type<float>(run);
}

}  // namespace cordage::benchmarks
