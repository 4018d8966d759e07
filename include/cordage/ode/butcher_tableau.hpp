// SPDX-License-Identifier: MIT
// What an explicit Runge-Kutta rule is: a type holding its coefficients as constants; first file of the stage ode.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace cordage {

/// The coefficients of an explicit rule, as in Hairer, Norsett, Wanner, "Solving ODEs I", II.1:
///
///   k_i = f(t + c[i] h, z + h sum_{j<i} a[i][j] k_j)          z_next = z + h sum_i b[i] k_i
template <class T>
concept butcher_tableau = requires {
    std::string_view{T::name};
    int{T::order};
    double{T::c[0]};
    double{T::a[0][0]};
    double{T::b[0]};
};

/// Number of stages.
template <butcher_tableau T>
inline constexpr std::size_t stages_of = std::size(T::b);

/// The rule also carries `error`, b minus the weights of an embedded rule of order `embedded_order`.
template <class T>
concept has_error_weights = butcher_tableau<T> && requires {
    int{T::embedded_order};
    double{T::error[0]};
};

/// The rule's interpolant is better than the cubic; `quartic` says by how much (dense_output.hpp).
template <class T>
concept has_quartic = butcher_tableau<T> && requires {
    double{T::quartic[0]};
};

/// The rule is read on straight lines between nodes instead (linear_output.hpp).
template <class T>
concept has_linear_output = butcher_tableau<T> && requires {
    requires T::is_read_linearly;
};

/// First same as last: the last stage is the slope at the end of the step, which is the next step's first stage.
template <butcher_tableau T>
constexpr bool is_fsal() {
    constexpr std::size_t last = stages_of<T> - 1;
    bool same = last > 0 && T::c[last] == 1.0;
    for (std::size_t j = 0; j <= last; ++j) same = same && T::a[last][j] == T::b[j];
    return same;
}

/// Every rule seen as one whose first stage is the last of the step before: a rule that is not gets the slope at the
/// end of the step as one more stage. Steps, dense output and gradients are written for this form alone.
template <butcher_tableau T>
struct fsal_form {
    static constexpr std::size_t stages = stages_of<T>;
    static constexpr std::size_t slopes = is_fsal<T>() ? stages : stages + 1;
    static constexpr std::size_t last = slopes - 1;

    static constexpr double c(std::size_t i) { return i < stages ? T::c[i] : 1.0; }
    static constexpr double a(std::size_t i, std::size_t j) { return i < stages ? T::a[i][j] : b(j); }
    static constexpr double b(std::size_t i) { return i < stages ? T::b[i] : 0.0; }

    static constexpr double error(std::size_t i) requires has_error_weights<T> {
        return i < stages ? T::error[i] : 0.0;
    }
    static constexpr double quartic(std::size_t i) {
        if constexpr (has_quartic<T>) return i < stages ? T::quartic[i] : 0.0;
        return 0.0;
    }
};

}  // namespace cordage
