// SPDX-License-Identifier: MIT
// From a policy's numbers to the layers' bases.
#include "model/rotary.hpp"

#include <cmath>

#include "cordage/attention/score_factors.hpp"
#include "cordage/host/aten/autograd.hpp"

namespace demo {
namespace {

// tau(t)^e of each layer, [layers, 1] or [layers, heads], tau that of log scaling.
at::Tensor own_factors(const settings& s, const at::Tensor& exponents, double t) {
    const double length = static_cast<double>(s.train_length);
    const double log_tau = std::log(cordage::log_scaling(std::max(1.0, t) * length, length));
    return at::exp(exponents.view({s.model.layers, -1}) * log_tau).to(at::kFloat);
}

}  // namespace

at::Tensor true_positions(index_t tokens) { return at::arange(tokens, at::kLong); }

std::vector<rotary> rotaries_at(const settings& s, const reading& how, const at::Tensor& numbers, double t,
                                const at::Tensor& position_ids) {
    const bool has_own_basis = how.own == own_numbers::all_of_layer;
    const bool has_own_factors = how.own != own_numbers::none && !has_own_basis;
    const index_t of_policy =
        has_own_basis ? numbers.numel() / s.model.layers : static_cast<index_t>(how.policy.parameters().size());
    rotary common{.position_ids = position_ids, .inv_freq = {}, .attention_factor = {}};
    const auto with_basis = [&](index_t first) {
        rotary rotation = common;
        const auto basis = cordage::aten::basis_of(how.policy, s.rope(), numbers.slice(0, first, first + of_policy), t);
        rotation.inv_freq = basis.inv_freq;
        rotation.attention_factor = basis.attention_factor;
        return rotation;
    };
    if (!has_own_basis && !has_own_factors) return {with_basis(0)};
    std::vector<rotary> rotations;
    if (has_own_basis) {
        for (index_t i = 0; i < s.model.layers; ++i) rotations.push_back(with_basis(i * of_policy));
        return rotations;
    }
    rotations.assign(static_cast<std::size_t>(s.model.layers), with_basis(0));
    const at::Tensor factors = own_factors(s, numbers.slice(0, of_policy), t);
    for (index_t i = 0; i < s.model.layers; ++i) {
        at::Tensor& all = rotations[static_cast<std::size_t>(i)].score_factors;
        all = factors[i];
    }
    return rotations;
}

}  // namespace demo
