// SPDX-License-Identifier: MIT
// The unscaled basis for the first tokens of a sequence (LongRoPE); stage policy at t -> basis.
#pragma once

#include <cstdint>
#include <vector>

#include "cordage/basis/basis_list.hpp"
#include "cordage/positions/position_view.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace cordage {

/// Two bases selected by position: unscaled for positions below `count`, the policy's for all others (LongRoPE, Ding et
/// al. 2024: the first tokens work better unscaled). Both have the policy's attention factor, which acts on scores
/// between all tokens.
///
///   const start_tokens chosen(config, policy, t, 4);
///   const std::vector<std::int32_t> basis_of_token = chosen.indices(position_ids);
///   rotate_forward<half_split>(exact_angles(chosen.bases().of(basis_of_token), position_ids), in_place(q));
class start_tokens {
 public:
    /// @throws value_error or shape_error  as make_basis; value_error unless count is finite and >= 0
    template <scaling_policy Policy>
    start_tokens(const rope_config& config, const Policy& policy, double t, double count)
        : start_tokens(config, make_basis(config, policy, t), count) {}

    /// Index into bases() of each position: 0 the policy's basis, 1 the unscaled one. [batch, tokens] dense.
    template <position_type P>
    std::vector<std::int32_t> indices(const position_view<P>& position_ids) const {
        std::vector<std::int32_t> of_token;
        for (index_t row = 0; row < position_ids.batch; ++row) {
            for (index_t token = 0; token < position_ids.tokens; ++token) {
                of_token.push_back(position_traits<P>::value(position_ids.at(row, token)) < count_ ? 1 : 0);
            }
        }
        return of_token;
    }
    /// As above, for one row.
    template <class Row>
    std::vector<std::int32_t> indices(const Row& row) const {
        return indices(position_view<typename Row::value_type>(row));
    }
    const basis_list& bases() const noexcept { return bases_; }
    double count() const noexcept { return count_; }

 private:
    start_tokens(const rope_config& config, const basis& scaled, double count)
        : bases_(with_own(config, scaled)), count_(count) {
        if (!is_finite(count) || !(count >= 0.0)) {
            fail<value_error>({"start_tokens: count ", count, " must be finite and >= 0"});
        }
    }
    static basis_list with_own(const rope_config& config, const basis& scaled) {
        const basis unfactored = make_basis(config, unscaled{}, 1.0);
        const basis own({unfactored.inv_freq().begin(), unfactored.inv_freq().end()}, scaled.attention_factor());
        return basis_list({&scaled, &own});
    }

    basis_list bases_;
    double count_;
};

}  // namespace cordage
