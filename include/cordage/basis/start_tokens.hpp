// SPDX-License-Identifier: MIT
// The first tokens of a text keep the model's own basis (LongRoPE); stage policy at t -> basis.
#pragma once

#include <utility>

#include "cordage/basis/basis.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace cordage {

/// LongRoPE's second finding: positions below `count` are better left unscaled. Two bases, chosen by position; both
/// have the policy's attention factor, since it acts on scores between all tokens. Rotate the tokens before and from
/// `count` on in one call each.
class start_tokens {
 public:
    /// @throws value_error  as make_basis, or if count is not finite and >= 0
    template <scaling_policy Policy>
    start_tokens(const rope_config& config, const Policy& policy, double t, double count)
        : scaled_(make_basis(config, policy, t)), own_(own_basis(config, scaled_.attention_factor())), count_(count) {
        if (!is_finite(count) || !(count >= 0.0)) {
            fail<value_error>({"start_tokens: count ", count, " must be finite and >= 0"});
        }
    }

    /// The basis of a token at this position.
    const basis& at(double position) const noexcept { return position < count_ ? own_ : scaled_; }
    double count() const noexcept { return count_; }

 private:
    static basis own_basis(const rope_config& config, double attention_factor) {
        const basis unfactored = make_basis(config, unscaled{}, 1.0);
        return basis({unfactored.inv_freq().begin(), unfactored.inv_freq().end()}, attention_factor);
    }

    basis scaled_, own_;
    double count_;
};

}  // namespace cordage
