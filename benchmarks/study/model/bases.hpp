// SPDX-License-Identifier: MIT
// The bases that learn: CLEX in its forms, the learned table, and one pair of a learned basis alone.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/yarn.hpp"
#include "settings.hpp"

namespace demo {

/// YaRN's ramp of 1 to 32 rotations does not suit so short an L.
inline constexpr cordage::by_parts parts_for_short_length{0.5, 4.0};
inline constexpr cordage::yarn yarn_for_short_length{.beta_fast = 4.0, .beta_slow = 0.5, .truncate = false};
inline constexpr cordage::proportional three_quarters_turning{0.75};

std::string parts_in_words();  ///< the program text that makes parts_for_short_length

/// The paper's field over the NTK-aware prior, as all of these without a learned part yet.
cordage::any_policy paper_clex(const settings& s, index_t lambda = 1);
cordage::any_policy clex_without_drift(const settings& s);  ///< dz/dt is the network alone
cordage::any_policy clex_by_continuous_adjoint(const settings& s);
cordage::any_policy paper_clex_over_parts(const settings& s);
cordage::any_policy released_clex(const settings& s);  ///< the released code's field, solver and activation
cordage::any_policy log_time_clex(const settings& s);  ///< over parts_for_short_length

/// What rows without a rate in their name have.
inline constexpr double usual_basis_rate = 1e-3;

struct learned_basis {
    std::string name;
    cordage::any_policy policy;
    std::array<double, 3> rates;  ///< that are tried: where few steps neither diverge nor stand still
};

/// Each form over each prior: the table, the paper's field and log time, over by parts, NTK-aware and Llama 3; the
/// released field.
std::vector<learned_basis> learned_basis_forms(const settings& s);

/// The row in which it learns at that rate.
std::string row_name(const learned_basis& form, double rate);

/// By parts, but one pair from the learned policy; its parameters are the learned policy's.
cordage::any_policy one_learned_pair(const cordage::any_policy& learned, index_t pair);

}  // namespace demo
