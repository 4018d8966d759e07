// SPDX-License-Identifier: MIT
// Chooses the next step size from the error of this one; serves the stage ode.
#pragma once

#include <algorithm>
#include <cmath>

namespace cordage {

/// Proportional-integral control (Gustafsson 1991; Hairer, Norsett, Wanner, vol. II, IV.2): with e the error of a step
/// relative to the tolerance and p the order of the embedded rule,
///
///   factor = safety * e^(-0.7/(p+1)) * e_previous^(0.4/(p+1)),  within [shrink, grow]; never above 1 after a
///   rejection.
///
/// A rejected step is tried again smaller by safety * e^(-1/(p+1)).
class pi_controller {
 public:
    static constexpr double safety = 0.9, shrink = 0.2, grow = 10.0;
    static constexpr double least_error = 1e-10;  ///< an error of 0 asks for `grow`, not for infinity

    explicit pi_controller(int embedded_order) noexcept : exponent_(1.0 / (embedded_order + 1.0)) {}

    /// The factor on the step size after a step with error <= 1.
    double after_accepted(double error) noexcept {
        error = std::max(error, least_error);
        const double factor = safety * std::pow(error, -0.7 * exponent_) * std::pow(previous_error_, 0.4 * exponent_);
        const double most = after_rejection_ ? 1.0 : grow;
        previous_error_ = error;
        after_rejection_ = false;
        return std::clamp(factor, shrink, most);
    }

    /// The factor on the step size after a step with error > 1, or with no finite error: then the most cautious one.
    double after_rejected(double error) noexcept {
        after_rejection_ = true;
        return std::max(shrink, safety * std::pow(error, -exponent_));
    }
    double after_non_finite() noexcept {
        after_rejection_ = true;
        return shrink;
    }

 private:
    double exponent_;
    double previous_error_ = 1.0;
    bool after_rejection_ = false;
};

}  // namespace cordage
