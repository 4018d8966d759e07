// SPDX-License-Identifier: MIT
// Base class of sources with angles = position * inv_freq: views of positions and bases, and their checks; stage
// angles.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "cordage/angles/angle_source.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/positions/position_view.hpp"

namespace cordage::angle_detail {

inline constexpr const char* expected_position = "finite and below 2^63 in magnitude";

[[noreturn]] inline void refuse_position(const char* function, const std::string& where, double position,
                                         const char* expected) {
    fail<value_error>({function, ": position_ids[", where, "] ", position, " must be ", expected});
}

/// device_basis if `Bases` is one; else basis_view, to which a basis converts.
/// @tparam Bases  an lvalue reference unless the argument is a temporary
template <class Bases, class Named = std::remove_cvref_t<Bases>>
struct bases_argument {
    static_assert(lie_on_device<Named> || std::convertible_to<Bases, basis_view>,
                  "cordage: angles are a view of a basis: name it before, 'const cordage::basis b = ...;', made by "
                  "basis(inv_freq), make_basis(config, policy, t) or rule.at_length(n)");
    using type = std::conditional_t<lie_on_device<Named>, Named, basis_view>;
};
template <class Bases>
using bases_of_source = typename bases_argument<Bases>::type;

/// Positions [axes, batch, tokens] and bases. The constructor does not dereference the views, which may point to device
/// memory.
template <position_type P, class Bases = basis_view>
class positions_and_bases {
 public:
    static constexpr bool is_on_device = lie_on_device<Bases>;

    /// @throws shape_error
    CORDAGE_ALWAYS_INLINE positions_and_bases(const char* function, const Bases& bases, const position_view<P>& ids,
                                              index_t most_axes, index_t bases_of_row = 1)
        : bases_(view_of(bases)),
          ids_(ids),
          bases_of_row_(bases_of_row) {  // inlined, which keeps both views in registers
        check_sizes(function, most_axes);
    }
    void check_sizes(const char* function, index_t most_axes) const {
        const basis_view& bases = bases_;
        const position_view<P>& ids = ids_;
        const auto describe_ids = [&] {
            return message("[", ids.axes, ", ", ids.batch, ", ", ids.tokens, "] with strides [", ids.axis_stride, ", ",
                           ids.batch_stride, ", ", ids.token_stride, "]");
        };
        if (bases.fractions == nullptr || bases.pairs < 1 || bases.count < 1) {
            fail<shape_error>(
                {function, ": bases [", bases.count, ", ", bases.pairs, "] must hold at least one basis of one pair"});
        }
        if (ids.axes < 1 || ids.batch < 1 || ids.tokens < 0 || ids.axis_stride < 0 || ids.batch_stride < 0 ||
            ids.token_stride < 0) {
            fail<shape_error>({function, ": position_ids ", describe_ids(),
                               " must have axes >= 1, batch >= 1, tokens >= 0 and no negative stride"});
        }
        if (ids.axes > most_axes) {
            fail<shape_error>({function, ": position_ids has ", ids.axes, " axes, must have at most ", most_axes});
        }
        if (!is_addressable(view_axis{ids.axes, ids.axis_stride}, view_axis{ids.batch, ids.batch_stride},
                            view_axis{ids.tokens, ids.token_stride})) {
            fail<shape_error>({function, ": position_ids ", describe_ids(), " must span at most 2^58 entries"});
        }
        if (ids.data == nullptr && ids.tokens > 0) {
            fail<shape_error>({function, ": position_ids.data nullptr must point to the positions"});
        }
        if (const index_t rows = rows_of_bases();
            bases.of_token == nullptr && rows > 1 && ids.batch > 1 && ids.batch != rows) {
            fail<shape_error>(
                {function, ": ", rows, " bases must be one, or one for each of ", ids.batch, " rows of position_ids"});
        }
        if (bases.of_token != nullptr &&
            (bases.tokens != ids.tokens || (bases.rows > 1 && ids.batch > 1 && bases.rows != ids.batch))) {
            fail<shape_error>({function, ": the basis of each token [", bases.rows, ", ", bases.tokens,
                               "] must be [1 or batch, tokens] of position_ids [", ids.batch, ", ", ids.tokens, "]"});
        }
    }

    index_t batch() const noexcept {
        const index_t rows = bases_.of_token == nullptr ? rows_of_bases() : bases_.rows;
        return rows > ids_.batch ? rows : ids_.batch;
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t tokens() const noexcept { return ids_.tokens; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t pairs() const noexcept { return bases_.pairs; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return bases_.attention_factors[basis_index(row, token)];
    }

    /// Whether all tokens have one attention factor.
    bool has_one_factor() const noexcept { return bases_.count == 1; }

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t bases() const noexcept { return bases_.count; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t basis_index(index_t row, index_t token) const noexcept {
        if (bases_of_row_ != 1) return bases_.count == bases_of_row_ ? 0 : row * bases_of_row_;
        const index_t basis = bases_.index(row, token);
        return !lie_on_device<Bases> || is_basis(basis) ? basis : 0;
    }
    /// Whether the tokens of a row may have different bases.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE bool has_basis_of_token() const noexcept {
        return bases_.of_token != nullptr;
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE const double* inv_freq(index_t basis) const noexcept {
        return bases_.inv_freq + basis * bases_.pairs;
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE double position(index_t row, index_t token, index_t axis) const noexcept {
        return position_traits<P>::value(position_id(row, token, axis));
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE P position_id(index_t row, index_t token,
                                                            index_t axis = 0) const noexcept {
        return ids_.at(ids_.batch == 1 ? 0 : row, token, axis);
    }

    CORDAGE_HOST_DEVICE const basis_view& basis_numbers() const noexcept { return bases_; }
    const position_view<P>& position_ids() const noexcept { return ids_; }

    /// Checks every position and basis index; called once when a rotation or table begins.
    ///
    /// @throws value_error  naming the first invalid position or basis index
    void check(const char* function) const
        requires(!lie_on_device<Bases>)
    {
        for (index_t i = 0; bases_.of_token != nullptr && i < bases_.rows * bases_.tokens; ++i) {
            if (const index_t b = bases_.of_token[i]; b < 0 || b >= bases_.count) {
                fail<value_error>({function, ": basis index of token [", i / bases_.tokens, ", ", i % bases_.tokens,
                                   "] ", b, " must be 0 to ", bases_.count - 1});
            }
        }
        if constexpr (!is_integer_position<P>) {
            for_each_position([&](index_t axis, index_t row, index_t token, P p) {
                if (position_traits<P>::split(p).is_valid) return;
                refuse_position(function, place(axis, row, token), position_traits<P>::value(p), expected_position);
            });
        }
    }

 protected:
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t axes() const noexcept { return ids_.axes; }
    static CORDAGE_ALWAYS_INLINE const basis_view& view_of(const Bases& bases) noexcept {
        if constexpr (lie_on_device<Bases>)
            return bases.view();
        else
            return bases;
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE bool is_basis(index_t b) const noexcept {
        return b >= 0 && b < bases_.count;
    }
    /// Whether what rotates a token is valid, for kernels, which cannot throw.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE bool is_valid_at(index_t row, index_t token,
                                                               index_t axis) const noexcept {
        if (bases_.of_token != nullptr && !is_basis(bases_.index(row, token))) return false;
        if constexpr (is_integer_position<P>) return true;
        return position_traits<P>::split(position_id(row, token, axis)).is_valid;
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t rows_of_bases() const noexcept {
        return bases_of_row_ == 1 ? bases_.count : bases_.count / bases_of_row_;
    }
    template <class F>
    void for_each_position(const F& f) const {
        const index_t rows = ids_.tokens == 0 ? 0 : ids_.batch_stride == 0 ? 1 : ids_.batch;
        for (index_t axis = 0; axis < ids_.axes; ++axis) {
            for (index_t row = 0; row < rows; ++row) {
                for (index_t token = 0; token < ids_.tokens; ++token) f(axis, row, token, ids_.at(row, token, axis));
            }
        }
    }
    std::string place(index_t axis, index_t row, index_t token) const {
        return ids_.axes == 1 ? message(row, ", ", token) : message(axis, ", ", row, ", ", token);
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase_of_pair(const split_position& position, index_t basis,
                                                                          index_t pair) const noexcept {
        const index_t i = basis * bases_.pairs + pair;
        return phase_of(position, bases_.fractions[i], bases_.whole_turns + i);
    }

    basis_view bases_;
    position_view<P> ids_;
    index_t bases_of_row_ = 1;  // bases of a row, consecutive from basis_index on
};

/// The position type of a row of positions or of a view of them.
template <class Row>
struct position_of {
    static_assert(!sizeof(Row*),
                  "cordage: after the basis write the positions, a named vector, array or span of int32, "
                  "int64, float or double, or a position_view; one position is a vector of one");
    using type = std::int32_t;
};
template <class Row>
    requires requires { typename Row::value_type; }
struct position_of<Row> {
    using type = std::remove_cv_t<typename Row::value_type>;
    static_assert(
        position_type<type>,
        "cordage: positions are int32, int64, float or double, or of a type that has position_traits; convert "
        "a row of others, such as unsigned numbers");
};
template <position_type P, std::size_t Count>
struct position_of<P[Count]> {
    using type = P;
};
template <position_type P>
struct position_of<position_view<P>> {
    using type = P;
};
template <class Row>
using position_of_row = typename position_of<std::remove_cvref_t<Row>>::type;

}  // namespace cordage::angle_detail
