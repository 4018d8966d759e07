// SPDX-License-Identifier: MIT
// The objective of a search, its budget and the record of its trials; serves the searches in this folder.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "cordage/core/index.hpp"

namespace demo {

using cordage::index_t;

/// A loss function and the cost of one evaluation.
///
///   const objective dev_loss{[&](std::span<const double> x) { return copy_loss(model, policy.with_parameters(x)); },
///                            windows * length};
///   const search_result found = search_grid(dev_loss, by_parts_axes(), budget);
///   policy = policy.with_parameters(found.best().point);
struct objective {
    std::function<double(std::span<const double> point)> loss;  ///< to be minimised; NaN counts as infinite
    index_t token_forwards;                                     ///< of one evaluation: tokens through the model, >= 1
};

/// A point and its loss.
struct trial {
    std::vector<double> point;
    double loss;

    friend bool operator==(const trial&, const trial&) = default;
};

/// All trials of a search, in order.
struct search_result {
    std::vector<trial> trials;
    index_t token_forwards = 0;  ///< spent, <= the budget

    /// The first trial with the smallest loss.
    const trial& best() const;
};

/// CSV: "trial,loss,NAME,..." and one line per trial.
/// @param names  of the point's numbers
void write_trials(std::ostream& out, const search_result& r, const std::vector<std::string>& names);

/// Evaluates an objective within a budget and records all trials.
class trial_recorder {
 public:
    /// @param budget  token-forwards to spend
    /// @throws cordage::value_error  unless it suffices for one evaluation
    trial_recorder(const objective& what, index_t budget);

    /// Number of evaluations for which the remaining budget suffices.
    index_t left() const { return (budget_ - done_.token_forwards) / what_.token_forwards; }
    /// Whether a point has been evaluated.
    bool has_tried(std::span<const double> point) const;
    /// Evaluates; left() >= 1.
    const trial& evaluate(std::vector<double> point);

    const search_result& done() const { return done_; }

 private:
    const objective& what_;
    index_t budget_;
    search_result done_;
};

}  // namespace demo
