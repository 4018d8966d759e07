// SPDX-License-Identifier: MIT
// The bases of a server at K fixed t_k; stage policy at t -> basis.
#pragma once

#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/schedule/schedules.hpp"

namespace cordage {

/// One basis for each cached t_k, computed once, selected by the nearest upper bound of a length (CLEX, section 3.3).
/// Reading allocates nothing and is safe from several threads.
class basis_cache {
 public:
    /// @throws value_error or shape_error  as make_basis
    template <scaling_policy Policy>
    basis_cache(const rope_config& config, const Policy& policy, nearest_upper_bound schedule)
        : config_(config), schedule_(std::move(schedule)) {
        for (const double t : schedule_.cached_t()) bases_.push_back(make_basis(config_, policy, t));
    }

    /// The basis at ratio(seq_len). Throws value_error unless seq_len is finite and >= 0.
    const basis& at_length(double seq_len) const {
        validate_length("basis_cache", seq_len);
        return bases_[schedule_.index(config_, seq_len)];
    }
    /// The smallest cached t that covers seq_len tokens, or the largest t. Throws as at_length.
    double ratio(double seq_len) const { return ratio_at(schedule_, config_, seq_len); }

 private:
    rope_config config_;
    nearest_upper_bound schedule_;
    std::vector<basis> bases_;
};

}  // namespace cordage
