// SPDX-License-Identifier: MIT
// Fuzzes CLEX: any weights, settings and t end in one error or in finite numbers, within the steps allowed, gradients
// included; and the same weights give the same basis again.
#include <span>
#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/clex/released.hpp"
#include "input.hpp"
#include "run_counter.hpp"

namespace {

using namespace cordage;
using fuzz::expect;
using fuzz::input;

double setting(input& in, double low, double high) {
    if (in.rarely(32)) return in.hostile_number();
    return low * std::pow(high / low, static_cast<double>(in.bits<std::uint16_t>()) / 65535.0);
}

clex_weights random_weights(input& in, const rope_config& c) {
    clex_weights w{in.between(1, 9), c.pairs(), {}, {}};
    const auto size = static_cast<std::size_t>(w.hidden * w.pairs);
    auto random = in.generator();
    const double reach = in.rarely(4) ? std::pow(10.0, static_cast<double>(in.between(0, 200))) : 0.5;
    for (auto* matrix : {&w.up, &w.down}) {
        for (std::size_t i = 0; i < size; ++i) matrix->push_back(fuzz::uniform(random, -reach, reach));
        if (in.rarely(32)) matrix->at(size / 2) = in.hostile_number();
        if (in.rarely()) matrix->pop_back();
    }
    if (in.rarely()) (in.coin() ? w.hidden : w.pairs) = in.hostile_integer();
    return w;
}

/// Few steps, so that a run ends; how many may be asked for is the caller's choice.
clex_options random_options(input& in) {
    clex_options o;
    o.t_max = setting(in, 1.0, 64.0);
    o.tolerance = {setting(in, 1e-12, 1e-2), setting(in, 1e-12, 1e-2)};
    o.max_steps = in.rarely() ? in.between(-1, 0) : 200;
    if (in.coin()) o.fixed_steps = in.between(1, 200);
    if (in.rarely()) o.fixed_steps = -1;
    if (in.rarely(32)) o.continuous_adjoint = tolerance{setting(in, 1e-8, 1e-2), setting(in, 1e-8, 1e-2)};
    return o;
}

template <class Policy>
bool solve(input& in, const rope_config& c, const clex_weights& w, const clex_options& o) {
    try {
        const Policy policy(c, w, o);
        const double t = in.rarely() ? in.hostile_number() : 1.0 + (o.t_max - 1.0) * in.bits<std::uint8_t>() / 255.0;
        std::vector<double> alpha(static_cast<std::size_t>(c.pairs())), again(alpha.size()), rate(alpha.size());
        policy.log_alpha(c, t, alpha);
        policy.log_alpha_rate(c, t, rate);
        make_basis(c, policy, t);  // finite, or an error
        const Policy same = policy.with_parameters(policy.parameters());
        same.log_alpha(c, t, again);
        expect(alpha == again, "the same weights give the same alpha");
        const std::vector<double> ones(alpha.size(), 1.0);
        const clex_seed seed{t, ones};
        expect(policy.gradient({&seed, 1}).up.size() == w.up.size(), "a gradient has the shape of the weights");
    } catch (const error&) {
        return false;
    }
    return true;
}

bool run(input& in) {
    const index_t rotary_dim = 2 * in.between(1, 6);
    const rope_config c{rotary_dim, rotary_dim, setting(in, 2.0, 1e6), setting(in, 1.0, 1e5)};
    try {
        const clex_weights w = random_weights(in, c);
        clex_options o = random_options(in);
        const auto kind = in.between(0, 2);
        if (kind == 0) return solve<clex<>>(in, c, w, o);
        if (kind == 1) return solve<clex<ntk_aware, log_time>>(in, c, w, o);
        o.fixed_steps = 0;
        o.step_size = setting(in, 0.01, 1.0);
        if (o.t_max > 200.0 * o.step_size) o.t_max = 200.0 * o.step_size;
        return solve<clex_released<>>(in, c, w, o);
    } catch (const error&) {
        return false;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("solved the field");
    input in(data, size);
    run(in) ? counter.passed() : counter.refused();
    return 0;
}
