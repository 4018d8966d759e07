// SPDX-License-Identifier: MIT
// Two sources: angles from memory, such as the output of a network, and the sum of two sources; stage angles.
#pragma once

#include <concepts>

#include "cordage/angles/two_sources.hpp"

namespace cordage {

/// View of angles in radians, [batch, tokens, rotary_dim/2] dense, such as the output of a network: Selective RoPE,
/// CARoPE. Angles must be finite and at most 2^62 in magnitude. In device memory they are not checked: an invalid angle
/// makes the lanes of its pair NaN.
///
///   const auto angles = exact_angles(b, ids) + free_angles(phi, batch, tokens, pairs);
///   rotate_backward<half_split>(angles, rotation_gradients{.angles = grad_phi}, grad_through(grad_q, q, grad_q));
template <class T>
    requires std::same_as<T, float> || std::same_as<T, double>
class free_angles {
 public:
    static constexpr bool are_free = true;

    /// @param data  [batch, tokens, pairs]; batch 1 serves every row
    /// @throws shape_error
    free_angles(const T* data, index_t batch, index_t tokens, index_t pairs)
        : data_(data), batch_(batch), tokens_(tokens), pairs_(pairs) {
        if (batch < 1 || tokens < 0 || pairs < 1 ||
            !is_addressable(view_axis{batch, saturated_product(tokens, pairs)}, view_axis{tokens, pairs},
                            view_axis{pairs, 1})) {
            fail<shape_error>({"free_angles: angles [", batch, ", ", tokens, ", ", pairs,
                               "] must have batch >= 1, tokens >= 0, pairs >= 1 and span at most 2^58 entries"});
        }
        if (data == nullptr && tokens > 0) fail<shape_error>({"free_angles: data nullptr must point to the angles"});
    }

    index_t batch() const noexcept { return batch_; }
    CORDAGE_HOST_DEVICE index_t tokens() const noexcept { return tokens_; }
    CORDAGE_HOST_DEVICE index_t pairs() const noexcept { return pairs_; }
    CORDAGE_HOST_DEVICE double attention_factor(index_t, index_t) const noexcept { return 1.0; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE T angle(index_t row, index_t token, index_t pair) const noexcept {
        return data_[((batch_ == 1 ? 0 : row) * tokens_ + token) * pairs_ + pair];
    }
    /// Whether an angle is valid. Used on a device, where kernels cannot throw.
    CORDAGE_HOST_DEVICE bool is_valid(index_t row, index_t token, index_t pair) const noexcept {
        return is_angle(angle(row, token, pair));
    }
    /// @throws value_error  naming the first angle that is not finite or exceeds 2^62
    void check(const char* function) const {
        for (index_t i = 0; i < batch_ * tokens_ * pairs_; ++i) {
            const double angle = data_[i];
            if (is_angle(data_[i])) continue;
            fail<value_error>({function, ": angle [", i / (tokens_ * pairs_), ", ", i / pairs_ % tokens_, ", ",
                               i % pairs_, "] ", angle, " must be finite and at most 2^62 in magnitude"});
        }
    }

 private:
    CORDAGE_HOST_DEVICE static bool is_angle(T angle) noexcept {
        return is_finite(angle) && angle <= T(0x1p62) && angle >= T(-0x1p62);
    }

    const T* data_;
    index_t batch_, tokens_, pairs_;
};
static_assert(has_free_angles<free_angles<float>>);

/// angle = a + b, modulo one turn, and m = m_a m_b: the composition of both rotations. Gradients to positions,
/// frequencies and the attention factor are those of a. Holds copies of both sources, which are views.
template <phase_source A, phase_source B>
class angle_sum : public angle_detail::two_sources<angle_detail::sum_rule, A, B> {
    using shared = angle_detail::two_sources<angle_detail::sum_rule, A, B>;

 public:
    static constexpr bool are_free = true;
    static constexpr bool sums_axes = angle_detail::sums_axes<A>;
    using shared::shared;

    CORDAGE_HOST_DEVICE index_t axes() const noexcept { return angle_detail::axes_of(this->first_); }
    CORDAGE_HOST_DEVICE index_t axis(index_t pair) const noexcept { return angle_detail::axis_of(this->first_, pair); }
    CORDAGE_HOST_DEVICE index_t bases() const noexcept { return angle_detail::bases_of(this->first_); }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t basis_index(index_t row, index_t token) const noexcept {
        return angle_detail::basis_of(this->first_, row, token);
    }
    bool has_basis_of_token() const noexcept { return angle_detail::has_basis_of_token(this->first_); }
    double factor_of_basis(index_t row, index_t token) const noexcept {
        return angle_detail::factor_of_basis(this->first_, row, token);
    }
    /// The bases of a.
    CORDAGE_HOST_DEVICE const basis_view& basis_numbers() const noexcept
        requires requires(const A& a) { a.basis_numbers(); }
    {
        return this->first_.basis_numbers();
    }
    CORDAGE_HOST_DEVICE double position(index_t row, index_t token, index_t axis) const noexcept
        requires differentiable_angle_source<A>
    {
        return this->first_.position(row, token, axis);
    }
    CORDAGE_HOST_DEVICE const double* inv_freq(index_t basis) const noexcept
        requires differentiable_angle_source<A>
    {
        return this->first_.inv_freq(basis);
    }
};

/// The sum of two sources.
/// @throws shape_error  unless both have the same tokens and pairs, and the same batch or batch 1
template <phase_source A, phase_source B>
angle_sum<A, B> operator+(const A& a, const B& b) {
    return {a, b};
}

}  // namespace cordage
