// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cstdio>

#include "layer.hpp"

namespace {

using cordage::index_t;

/// Changes of basis from the exact t of the prompt on, while the cached t follow the length.
index_t changes_of_basis(const report_shape& shape) {
    const cordage::nearest_upper_bound cached(ratios_up_to(layer::t_max, layer::t_step));
    double t = cordage::continuous{}.ratio(layer::model, static_cast<double>(shape.context));
    index_t changes = 0;
    for (index_t i = 1; i <= shape.generated; ++i) {
        const double next = cached.ratio(layer::model, static_cast<double>(shape.context + i));
        changes += next != t ? 1 : 0;
        t = next;
    }
    return changes;
}

}  // namespace

void print_report(const report_shape& shape) {
    const auto generated = static_cast<double>(shape.generated);
    const auto ready = static_cast<double>(ratios_up_to(layer::t_max, layer::t_step).size());
    const index_t changes = changes_of_basis(shape);
    const index_t tokens = shape.context + shape.generated / 2;
    const layer::parts p = layer::measure(tokens, shape.rounds);

    const double plain = p.weights + p.attention + p.rotation;
    const double once = p.solve + ready * p.read_basis + static_cast<double>(changes) * p.rebase;
    const double by_steps = plain + once / generated;
    const double every_token = plain + p.read_basis + p.rebase;
    const double as_released = plain + p.rotate_all;
    std::printf("one layer, %lld x %lld heads, bf16, one thread: %lld tokens of context, then %lld generated\n\n",
                static_cast<long long>(layer::heads), static_cast<long long>(layer::head_dim),
                static_cast<long long>(shape.context), static_cast<long long>(shape.generated));
    std::printf("%-44s %12s %10s %22s\n", "", "us a token", "over (a)", "over attention alone");
    const auto line = [&](const char* name, double cost) {
        std::printf("%-44s %12.1f %9.3f%% %21.3f%%\n", name, cost, 100.0 * (cost / plain - 1.0),
                    100.0 * (cost - plain) / (p.attention + p.rotation));
    };
    line("(a) no scaling", plain);
    line("(b) CLEX, nearest upper t, keys rebased", by_steps);
    line("(c) CLEX, exact t, keys rebased every token", every_token);
    line("(d) keys kept unrotated, all rotated each time", as_released);
    std::printf("\n(b) has %lld change%s of basis in %lld tokens, and carries the solve and its %.0f bases alone\n",
                static_cast<long long>(changes), changes == 1 ? "" : "s", static_cast<long long>(shape.generated),
                ready);
    const double bytes = static_cast<double>(layer::weight_rows + 2 * tokens) / layer::weight_rows;
    std::printf("merely reading the weights, K and V takes %.0f us, of which (b) adds %.3f%%\n", bytes * p.read,
                100.0 * once / generated / (bytes * p.read));
    std::printf(
        "parts, us: weights %.0f, attention %.0f, q and k rotated %.2f, all keys rebased %.0f, all keys rotated "
        "into a copy %.0f, ODE solved %.0f, a basis read from it %.1f\n",
        p.weights, p.attention, p.rotation, p.rebase, p.rotate_all, p.solve, p.read_basis);
    const auto tokens_of_chunk = static_cast<double>(layer::chunk);
    std::printf(
        "\na text that the cache holds, at another position, us a token: keys and values moved to other slots %.2f; "
        "computed anew %.1f, of which norm, rotation and store %.2f\n",
        p.reuse / tokens_of_chunk, (p.project + p.store) / tokens_of_chunk, p.store / tokens_of_chunk);
}
