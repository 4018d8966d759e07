// SPDX-License-Identifier: MIT
// Exact angles of positions with several axes that rotate every pair together; stage angles.
#pragma once

#include "cordage/angles/positions_and_bases.hpp"

namespace cordage {

namespace angle_detail {

inline void check_bases_of_axes(const char* function, const basis_view& bases, index_t axes) {
    if (bases.of_token == nullptr && bases.count % axes == 0) return;
    fail<shape_error>(
        {function, ": ", bases.count, " bases must be one for each of ", axes, " axes, or for each row and axis"});
}

}  // namespace angle_detail

/// angle(token, pair) = sum over axes of position_ids[axis][token] * inv_freq[axis][pair], as exact as exact_angles:
/// the mixed frequencies of rope-ViT (Heo et al. 2024, arXiv:2403.13298), the learned frequencies of Mochi. A view,
/// like exact_angles.
///
///   const basis_list axes({&of_rows, &of_columns});    // a basis for each axis
///   rotate_forward<half_split>(summed_axes(axes.of_rows(), axis_minor(patches, 2, 1, tokens)), in_place(q));
///
/// Gradients: dL/dinv_freq [axes, rotary_dim/2], or [rows, axes, rotary_dim/2], and dL/dposition [axes, batch, tokens].
/// For frequencies that differ between heads, view heads as rows (heads_as_rows).
template <position_type P, class Bases = basis_view>
class summed_axes : public angle_detail::positions_and_bases<P, Bases> {
    using shared = angle_detail::positions_and_bases<P, Bases>;
    static constexpr bool is_device = angle_detail::lie_on_device<Bases>;
    static constexpr const char* name = is_device ? "device_summed_axes" : "summed_axes";

 public:
    using shared::axes;
    static constexpr bool sums_axes = true;
    static constexpr index_t most_axes = 4;

    /// @param bases         [axes] or [rows, axes] dense; the bases of a row have equal attention factors, of which a
    ///                      device reads the first
    /// @param position_ids  [axes, batch, tokens], at most 4 axes; any position type, any sign; |position| < 2^63
    /// @throws shape_error or value_error  for sizes that do not fit each other, or attention factors that differ
    summed_axes(const std::type_identity_t<Bases>& bases, const position_view<P>& position_ids)
        : shared(name, bases, position_ids, most_axes, position_ids.axes) {
        const basis_view& all = this->bases_;
        angle_detail::check_bases_of_axes(name, all, axes());
        for (index_t i = 0; !is_device && i < all.count; ++i) {
            const index_t axis = i % axes();
            const double m = all.attention_factors[i], first = all.attention_factors[i - axis];
            if (m == first) continue;
            fail<value_error>(
                {"summed_axes: attention factor ", m, " of axis ", axis, " must be that of axis 0, ", first});
        }
    }

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t row, index_t token,
                                                                  index_t pair) const noexcept {
        std::uint64_t sum = 0;
        for (index_t axis = 0; axis < this->axes(); ++axis) {
            sum += this->phase_of_pair(position_traits<P>::split(this->position_id(row, token, axis)),
                                       this->basis_index(row, token) + axis, pair);
        }
        return sum;
    }
    CORDAGE_HOST_DEVICE bool is_valid(index_t row, index_t token, index_t) const noexcept {
        for (index_t axis = 0; axis < this->axes(); ++axis) {
            if (!this->is_valid_at(row, token, axis)) return false;
            if (is_device && !is_finite(this->bases_.attention_factors[this->basis_index(row, token) + axis])) {
                return false;  // launch_basis_words found a frequency of this axis invalid
            }
        }
        return true;
    }

    /// The phases of one token, whose positions are split once. Unused axes are at position 0, so that the number of
    /// terms is a compile-time constant.
    struct token_phases {
        split_position position[most_axes];
        const std::uint64_t* fractions[most_axes];    // [pairs]
        const std::uint64_t* whole_turns[most_axes];  // [pairs]
        bool is_whole;

        CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t pair) const noexcept {
            std::uint64_t sum = 0;
            for (index_t a = 0; a < most_axes; ++a) {
                sum += is_whole ? position[a].steps * fractions[a][pair]
                                : phase_of<multiply_high>(position[a], fractions[a][pair], whole_turns[a] + pair);
            }
            return sum;
        }
    };
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE token_phases of_token(index_t row, index_t token) const noexcept {
        const index_t first = this->basis_index(row, token);
        token_phases of{};
        of.is_whole = true;
        for (index_t a = 0; a < most_axes; ++a) {
            const index_t skip = (first + (a < this->axes() ? a : 0)) * this->pairs();
            of.fractions[a] = this->bases_.fractions + skip;
            of.whole_turns[a] = this->bases_.whole_turns + skip;
            if (a < this->axes()) of.position[a] = position_traits<P>::split(this->position_id(row, token, a));
            of.is_whole = of.is_whole && of.position[a].is_whole();
        }
        return of;
    }
};
template <class Bases, position_type P>
summed_axes(Bases&&, const position_view<P>&) -> summed_axes<P, angle_detail::bases_of_source<Bases>>;

static_assert(angle_source<summed_axes<std::int32_t>> && differentiable_angle_source<summed_axes<double>>);

}  // namespace cordage
