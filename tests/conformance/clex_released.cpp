// SPDX-License-Identifier: MIT
// clex_released.json: the CLEX layer as released, which is a different function from the paper's.
//
// Tolerances: z 1e-12 against the same scheme in float64, 5e-5 against float32 as run, 1e-10 against the exact solution
// (found here by the adaptive solver; the released scheme itself is up to 6.5e-3 off it). cos and sin at position p
// 1e-12, and 1e-12 p theta, which is what z allows, against float64; 2e-6 + 2.5e-7 p max(1, theta) against float32 (the
// solution may push theta beyond 1, and float32's error is relative to it). Gradients: 1e-12 of the largest entry
// against float64, 1e-4 against float32.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../clex/row_weights.hpp"
#include "clex_cases.hpp"
#include "cordage/basis/gradient.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/kernels.hpp"
#include "cordage/positions/sampler.hpp"
#include "cordage/schedule/schedules.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

constexpr double z_tolerance = 1e-12, z_float32_tolerance = 5e-5, truth_tolerance = 1e-10;
constexpr double wave_tolerance = 1e-12, gradient_tolerance = 1e-12, gradient_float32_tolerance = 1e-4;

/// The file prints its float32 weights with 9 digits; narrowing to float restores them exactly.
std::vector<double> as_float32(std::vector<double> printed) {
    for (double& x : printed) x = double{static_cast<float>(x)};
    return printed;
}

/// The layer of a case.
struct layer {
    rope_config config;
    double max_factor, time_dt;
    std::string act = "tanh";
    clex_weights weights;

    explicit layer(const value& one_case) {
        const value settings = one_case["config"], scaling = settings["rope_scaling"];
        const index_t dim = settings["dim"].size();
        config = {dim, dim, settings["rope_theta"].number(), settings["max_position_embeddings"].number()};
        if (scaling["type"].text() != "clex") throw malformed(scaling.where() + ".type must be clex");
        max_factor = scaling["max_factor"].number();
        time_dt = scaling["time_dt"].number();
        if (scaling.has("act")) act = scaling["act"].text();
        const index_t hidden = scaling["param_factor"].size() * dim, pairs = config.pairs();
        weights = cordage_test::from_rows(hidden, pairs, as_float32(one_case["weights"]["up"].array({pairs, hidden})),
                                          as_float32(one_case["weights"]["down"].array({hidden, pairs})));
    }

    std::size_t pairs() const { return static_cast<std::size_t>(config.pairs()); }
};

/// Calls use(activation) for the one of that name.
void with_activation(const std::string& name, const auto& use) {
    if (name == "tanh") return use(tanh_activation{});
    if (name == "silu") return use(silu{});
    throw unsupported("cordage has no activation '" + name + "'");
}

template <class Policy>
std::vector<double> z_at(const Policy& policy, double t) {
    std::vector<double> z(static_cast<std::size_t>(policy.config().pairs()));
    policy.log_alpha(policy.config(), t, z);
    for (std::size_t i = 0; i < z.size(); ++i) z[i] += policy.config().log_inv_freq(static_cast<index_t>(i));
    return z;
}

/// z at the t of one solve, which ended at the last of them.
template <class Activation>
void check_grid(const value& grid, const layer& l, report& result) {
    const auto ts = grid["t"].numbers();
    if (ts.empty()) throw malformed(grid.where() + ".t must not be empty");
    const auto count = static_cast<index_t>(ts.size());
    const auto exact = grid["z_float64"].array({count, l.config.pairs()});
    const auto narrow = grid["z_float32"].array({count, l.config.pairs()});
    const clex_released<Activation> policy(l.config, l.weights, released_options(ts.back(), l.time_dt));
    for (std::size_t i = 0; i < ts.size(); ++i) {
        const std::string at = message(grid.where(), " t=", ts[i], " ");
        const auto z = z_at(policy, ts[i]);
        result.near(at + "z_float64", z, row_of(exact, i, l.pairs()), z_tolerance);
        result.near(at + "z_float32", z, row_of(narrow, i, l.pairs()), z_float32_tolerance);
        if (!grid.has("inv_freq_float32")) continue;
        const auto inv_freq = grid["inv_freq_float32"].array({count, l.config.pairs()});
        result.near_relative(at + "inv_freq_float32", make_basis(l.config, policy, ts[i]).inv_freq(),
                             row_of(inv_freq, i, l.pairs()), z_float32_tolerance);
    }
}

void check_released_solution(const value& one_case, report& result) {
    const layer l(one_case);
    std::vector<double> z0;
    for (index_t pair = 0; pair < l.config.pairs(); ++pair) z0.push_back(l.config.log_inv_freq(pair));
    result.near("z0_float64", z0, one_case["z0_float64"].numbers(l.config.pairs()), z_tolerance);
    with_activation(l.act, [&]<class Activation>(Activation) {
        check_grid<Activation>(one_case["integer_grid"], l, result);
        check_grid<Activation>(one_case["sparse_grid"], l, result);
        for (const value& point : one_case["two_point"].items()) {
            const double t = point["t"].number();
            const clex_released<Activation> policy(l.config, l.weights, released_options(t, l.time_dt));
            const auto z = z_at(policy, t);
            result.near(point.where() + " z_float64", z, point["z_float64"].numbers(l.config.pairs()), z_tolerance);
            result.near(point.where() + " z_float32", z, point["z_float32"].numbers(l.config.pairs()),
                        z_float32_tolerance);
        }
        const value truth = one_case["truth"];
        const auto ts = truth["t"].numbers();
        const auto z = truth["z"].array({static_cast<index_t>(ts.size()), l.config.pairs()});
        const clex<released_field<Activation>> exact(l.config, l.weights,
                                                     {.t_max = *std::ranges::max_element(ts), .tolerance = tight});
        for (std::size_t i = 0; i < ts.size(); ++i) {
            result.near(message("truth t=", ts[i]), z_at(exact, ts[i]), row_of(z, i, l.pairs()), truth_tolerance);
        }
    });
}

/// cos and sin of a basis at some positions against tables [positions, pairs] in float64 and float32.
void check_waves(const value& expected, const basis& b, const std::vector<double>& positions, report& result) {
    const auto rows = static_cast<index_t>(positions.size());
    const exact_angles angles(b, positions);
    const auto compare = [&](const char* cos_name, const char* sin_name, const auto& allowed) {
        const auto cos = expected[cos_name].array({rows, b.pairs()}), sin = expected[sin_name].array({rows, b.pairs()});
        for (index_t row = 0; row < rows; ++row) {
            const double position = positions[static_cast<std::size_t>(row)];
            for (index_t pair = 0; pair < b.pairs(); ++pair) {
                const auto i = static_cast<std::size_t>(row * b.pairs() + pair);
                const auto got = cos_sin_at<double>(angles, 0, row, pair);
                const double within = allowed(position, b.inv_freq()[static_cast<std::size_t>(pair)]);
                const std::string at = message(expected.where(), " p=", position, " pair ", pair, " ");
                result.near(at + cos_name, got.cos, cos[i], within);
                result.near(at + sin_name, got.sin, sin[i], within);
            }
        }
    };
    compare("cos_float64", "sin_float64",
            [](double p, double theta) { return wave_tolerance * std::max(1.0, p * theta); });
    compare("cos_float32", "sin_float32",
            [](double p, double theta) { return 2e-6 + 2.5e-7 * p * std::max(1.0, theta); });
}

/// Calls in order on one instance, each at the next whole t, capped.
void check_inference(const value& one_case, report& result) {
    const layer l(one_case);
    with_activation(l.act, [&]<class Activation>(Activation) {
        const clex_released<Activation> policy(l.config, l.weights, released_options(l.max_factor, l.time_dt));
        const rounded_up schedule{l.max_factor};
        for (const value& call : one_case["calls"].items()) {
            const double t = ratio_at(schedule, l.config, call["seq_len"].number());
            result.near(call.where() + " t_used", t, call["t_used"].number(), 0.0);
            const basis b = make_basis(l.config, policy, t);
            result.near_relative(call.where() + " inv_freq_float64", b.inv_freq(),
                                 call["inv_freq_float64"].numbers(b.pairs()), z_tolerance);
            result.near_relative(call.where() + " inv_freq_float32", b.inv_freq(),
                                 call["inv_freq_float32"].numbers(b.pairs()), z_float32_tolerance);
            check_waves(call, b, call["positions"].numbers(), result);
        }
    });
}

/// dL/dinv_freq of the loss sum(cos_weights cos) + sum(sin_weights sin) over all positions, and the loss itself.
struct wave_loss {
    double loss = 0.0;
    std::vector<double> grad_inv_freq;

    wave_loss(const value& one_case, const basis& b, const std::vector<double>& positions)
        : grad_inv_freq(static_cast<std::size_t>(b.pairs())) {
        const auto rows = static_cast<index_t>(positions.size());
        const auto cos_weights = as_float32(one_case["loss_weights_cos"].array({rows, b.pairs()}));
        const auto sin_weights = as_float32(one_case["loss_weights_sin"].array({rows, b.pairs()}));
        const exact_angles angles(b, positions);
        for (std::size_t i = 0; i < cos_weights.size(); ++i) {
            const index_t row = static_cast<index_t>(i) / b.pairs(), pair = static_cast<index_t>(i) % b.pairs();
            const auto at = cos_sin_at<double>(angles, 0, row, pair);
            loss += cos_weights[i] * at.cos + sin_weights[i] * at.sin;
            grad_inv_freq[static_cast<std::size_t>(pair)] +=
                positions[static_cast<std::size_t>(row)] * (sin_weights[i] * at.cos - cos_weights[i] * at.sin);
        }
    }
};

/// The positions of one training step with recorded draws.
std::vector<double> check_positions_of(const value& one_case, index_t original_length, report& result) {
    const released_range range{.train_length = one_case["seq_len"].size(),
                               .original_length = original_length,
                               .t = one_case["t"].size(),
                               .original_end = true};
    result.require("scale_factor", range.per_unit() == one_case["scale_factor"].size());
    std::vector<index_t> drawn;
    for (const double draw : one_case["drawn_sorted"].numbers()) drawn.push_back(static_cast<index_t>(draw));
    const auto positions = released_positions(range, drawn);
    auto expected = one_case["positions_float32"].numbers(range.train_length);
    for (double& position : expected) position = double{static_cast<float>(position)};  // 9 digits name a float
    result.near("positions_float32", positions, expected, 0.0);
    return positions;
}
void check_released_positions(const value& one_case, report& result) {
    check_positions_of(one_case, one_case["max_position_embeddings"].size(), result);
}

/// One training step with recorded draws: positions, tables, and the gradient to the weights and to z(1).
void check_training(const value& one_case, report& result) {
    const layer l(one_case);
    const double t = one_case["t"].number();
    const auto positions = check_positions_of(one_case, static_cast<index_t>(l.config.original_length), result);
    with_activation(l.act, [&]<class Activation>(Activation) {
        const clex_released<Activation> policy(l.config, l.weights, released_options(t, l.time_dt));
        const basis b = make_basis(l.config, policy, t);
        result.near_relative("inv_freq_float64", b.inv_freq(), one_case["inv_freq_float64"].numbers(b.pairs()),
                             z_tolerance);
        std::vector<double> chosen;
        for (const double row : one_case["rows"].numbers()) chosen.push_back(positions[static_cast<std::size_t>(row)]);
        check_waves(one_case, b, chosen, result);
        if (!one_case.has("gradient_float64")) return;

        const wave_loss loss(one_case, b, positions);
        std::vector<double> grad_z(loss.grad_inv_freq);
        for (std::size_t i = 0; i < grad_z.size(); ++i) grad_z[i] *= b.inv_freq()[i];
        const clex_seed seed{t, grad_z};
        const clex_gradient gradient = policy.gradient({&seed, 1});
        const clex_weights sums = with_flat_parameters(l.weights, gradient.parameters);
        const auto up = cordage_test::transposed(sums.up, sums.hidden),
                   down = cordage_test::transposed(sums.down, sums.pairs);
        const auto compare = [&](const value& expected, const char* name, std::span<const double> got,
                                 const std::vector<double>& wanted, double within) {
            result.near(expected.where() + "." + name, got, wanted, within * largest(wanted));
        };
        const value exact = one_case["gradient_float64"], narrow = one_case["gradient_float32_released"];
        result.near("loss", loss.loss, exact["loss"].number(), 1e-10);
        for (const auto& [expected, within] :
             {std::pair{exact, gradient_tolerance}, std::pair{narrow, gradient_float32_tolerance}}) {
            compare(expected, "up", up, expected["up"].array({sums.pairs, sums.hidden}), within);
            compare(expected, "down", down, expected["down"].array({sums.hidden, sums.pairs}), within);
        }
        compare(exact, "z0", gradient.z1, exact["z0"].numbers(b.pairs()), gradient_tolerance);
    });
}

}  // namespace

std::span<const kind> clex_released_kinds() {
    static constexpr kind kinds[] = {
        {.name = "solution", .check = check_released_solution, .marked_by = "config"},
        {"inference", check_inference},
        {"training", check_training},
        {"positions", check_released_positions},
    };
    return kinds;
}

}  // namespace conformance
