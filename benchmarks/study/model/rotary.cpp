// SPDX-License-Identifier: MIT
// From a policy's numbers to the layers' bases.
#include "model/rotary.hpp"

#include <cmath>

#include "cordage/attention/alibi.hpp"
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
        rotary turn = common;
        const auto basis = cordage::aten::basis_of(how.policy, s.rope(), numbers.slice(0, first, first + of_policy), t);
        turn.inv_freq = basis.inv_freq;
        turn.attention_factor = basis.attention_factor;
        return turn;
    };
    if (how.has_alibi) {
        const std::vector<double> slopes = cordage::alibi_slopes(s.model.heads);
        common.alibi_slopes = at::tensor(slopes, at::kFloat);
    }
    if (how.is_log_scaled) {
        const double factor =
            cordage::log_scaling(static_cast<double>(position_ids.size(-1)), s.rope().original_length);
        common.score_factors = at::full({1}, factor, at::kFloat);
    }
    if (!has_own_basis && !has_own_factors) return {with_basis(0)};
    std::vector<rotary> turns;
    if (has_own_basis) {
        for (index_t i = 0; i < s.model.layers; ++i) turns.push_back(with_basis(i * of_policy));
        return turns;
    }
    turns.assign(static_cast<std::size_t>(s.model.layers), with_basis(0));
    const at::Tensor factors = own_factors(s, numbers.slice(0, of_policy), t);
    for (index_t i = 0; i < s.model.layers; ++i) {
        at::Tensor& all = turns[static_cast<std::size_t>(i)].score_factors;
        all = all.defined() ? all * factors[i] : factors[i];
    }
    return turns;
}

}  // namespace demo
