// SPDX-License-Identifier: MIT
// Claims about rows, and their verdicts by the intervals of the results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "statistics/results.hpp"

namespace demo {

enum class verdict { supported, inconclusive, refuted };

/// "supported", "inconclusive", "refuted".
std::string said(verdict v);

enum class side { above, below };

/// Supported if the whole 95 % interval lies on the expected side of the bound, refuted if it lies on the other side.
verdict verdict_of(const estimate& e, side expected, double bound);

/// The expectation of a claim for a measure in windows of ratio * L.
struct expectation {
    measure what;
    index_t ratio;
    side expected;
    double bound = 0.0;       ///< bound on the difference, or on the mean if there is no other row
    index_t other_ratio = 0;  ///< ratio of the windows of the other row, if different
};

/// A statement about one row, or about its difference from another. The claim is supported if all expectations are.
struct claim {
    std::string text;
    std::string row;
    std::string against;  ///< empty: the row's mean is compared with the bound
    std::vector<expectation> parts;
};

struct claim_group {
    std::string title;
    std::vector<claim> claims;
};

/// The claims, by subject.
std::vector<claim_group> study_claims();

/// The outcome of one claim.
struct finding {
    verdict all;                  ///< supported if all parts are; refuted if one is, after Holm's correction over them
    std::vector<estimate> parts;  ///< differences, or means if there is no other row
};

/// Empty if the results lack a row of the claim or a model with both rows.
/// @param trained  L
std::optional<finding> found(const claim& c, const study_results& results, index_t trained);

/// Number of claims for each verdict.
struct claim_counts {
    int supported = 0, inconclusive = 0, refuted = 0, not_run = 0;
};
claim_counts counted(const std::vector<claim_group>& groups, const study_results& results, index_t trained);

/// A heading and a table (claim, rows, result, verdict) for each group with a claim that has a verdict; then the claims
/// without results.
/// @param heading  prefix of a group's title, such as "###"
std::string claims_in_markdown(const std::vector<claim_group>& groups, const study_results& results, index_t trained,
                               const std::string& heading);

}  // namespace demo
