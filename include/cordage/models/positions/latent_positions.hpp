// SPDX-License-Identifier: MIT
// Positions of image and video models: text tokens along a line and latents on a grid, in sequence; stage positions.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"
#include "cordage/models/positions/grid.hpp"
#include "cordage/positions/position_view.hpp"

namespace cordage {

namespace positions_detail {

inline constexpr index_t most_latents = index_t{1} << 31;

/// Throws value_error unless P can represent first + (count - 1) step.
template <class P>
void check_steps(const char* function, index_t count, P first, P step) {
    if (count < 0 || count > most_latents) {
        fail<value_error>({function, ": count ", count, " must be 0 to 2^31"});
    }
    const double last =
        static_cast<double>(first) + static_cast<double>(count > 0 ? count - 1 : 0) * static_cast<double>(step);
    constexpr int digits = std::numeric_limits<P>::digits;
    if (std::integral<P> && !(std::fabs(last) < std::ldexp(1.0, digits))) {
        fail<value_error>({function, ": position ", last, " of token ", count - 1, " must be below 2^", digits,
                           " in magnitude, the limit of its type"});
    }
}

/// first + i step, of arguments that check_steps has accepted. (Integers wrap: i step alone may not be representable.)
template <class P>
constexpr P step_at(index_t i, P first, P step) noexcept {
    if constexpr (std::integral<P>) {
        using wide = std::uint64_t;
        return static_cast<P>(static_cast<wide>(first) + static_cast<wide>(i) * static_cast<wide>(step));
    } else {
        return static_cast<P>(first + static_cast<P>(i) * step);
    }
}

}  // namespace positions_detail

/// Coordinates along an axis: first, first + step, first + 2 step, ...
///
///   spaced(4)                  0  1  2  3
///   spaced(5, -3)             -3 -2 -1  0  1          Qwen-Image's rows, centred at 0: first = -(n - n/2)
///   spaced(4, -1.5 * s, s)     centres of four cells of size s, centred at 0: Mochi, first = (1 - n)/2 s
///
/// @throws value_error  unless count is 0 to 2^31 and P can represent the last position
template <class P = double>
    requires std::integral<P> || std::floating_point<P>
std::vector<P> spaced(index_t count, std::type_identity_t<P> first = 0, std::type_identity_t<P> step = 1) {
    positions_detail::check_steps<P>("spaced", count, first, step);
    std::vector<P> coordinates;
    coordinates.reserve(static_cast<std::size_t>(count));
    for (index_t i = 0; i < count; ++i) coordinates.push_back(positions_detail::step_at(i, first, step));
    return coordinates;
}

/// The positions of one sequence of an image or video model, [axes, 1, tokens], appended piece by piece:
///
///   latent_positions<> positions(3);
///   positions.text(18, {1, 0, 0}, {1, 0, 0});                      // along the first axis, from 1: Z-Image
///   positions.grid({spaced(1, 19), spaced(32), spaced(24)});       // an image of 32 x 24 latents after it
///   rotate_forward<interleaved>(axis_angles(b, axis_of_pair, positions.view()), in_place(q));
///
/// Coordinates may be scaled, centred or fractional, and may have gaps. A call that throws appends nothing.
template <class P = double>
    requires std::integral<P> || std::floating_point<P>
class latent_positions {
 public:
    /// @param axes  1 to 256
    /// @throws value_error  if axes is out of range
    explicit latent_positions(index_t axes) : axes_(axes) {
        if (axes < 1 || axes > most_axes) {
            fail<value_error>({"latent_positions: axes ", axes, " must be 1 to ", most_axes});
        }
    }

    index_t axes() const noexcept { return axes_; }
    index_t tokens() const noexcept { return static_cast<index_t>(ids_.size()) / axes_; }
    /// [axes, 1, count], the tokens from `first` on, such as the text or the image. A view of this object, which must
    /// be an lvalue; valid until tokens are appended.
    /// @throws value_error  unless these tokens have been appended
    position_view<P> view(index_t first, index_t count) const& {
        if (first < 0 || count < 0 || first > tokens() - count) {
            fail<value_error>({"latent_positions::view: first ", first, " and count ", count, " must lie within the ",
                               tokens(), " tokens appended so far"});
        }
        return axis_minor(ids_.data() + first * axes_, axes_, 1, count);
    }
    /// [axes, 1, tokens]
    position_view<P> view() const& { return view(0, tokens()); }
    void view(index_t, index_t) const&& = delete;
    void view() const&& = delete;

    /// Tokens along a line: token i is at first[axis] + i step[axis].
    ///
    /// @param first, step  [axes]; without step all tokens have one position
    /// @throws shape_error or value_error  for another number of axes, or a count or position that is out of range
    void text(index_t count, const std::vector<P>& first, const std::vector<P>& step = {}) {
        check_axes("text: first", first.size());
        if (!step.empty()) check_axes("text: step", step.size());
        const auto step_of = [&](std::size_t axis) { return step.empty() ? P(0) : step[axis]; };
        for (std::size_t a = 0; a < first.size(); ++a) {
            positions_detail::check_steps<P>("latent_positions::text", count, first[a], step_of(a));
        }
        reserve("text", count);
        for (index_t i = 0; i < count; ++i) {
            for (std::size_t a = 0; a < first.size(); ++a) {
                ids_.push_back(positions_detail::step_at(i, first[a], step_of(a)));
            }
        }
    }

    /// The Cartesian product of the axes' coordinates, the last axis fastest: frames, rows, columns.
    ///
    /// @param coordinates  [axes], the coordinates along each axis; one entry for a constant axis
    /// @throws shape_error or value_error  for another number of axes, or more than 2^31 tokens in total
    void grid(const std::vector<std::vector<P>>& coordinates) {
        check_axes("grid: coordinates", coordinates.size());
        index_t count = 1;
        for (const auto& axis : coordinates) count = saturated_product(count, std::ssize(axis));
        reserve("grid", count);
        for (index_t i = 0; i < count; ++i) {
            const std::size_t begin = ids_.size();
            ids_.resize(begin + coordinates.size());
            index_t rest = i;
            for (std::size_t a = coordinates.size(); a-- > 0;) {
                const index_t size = std::ssize(coordinates[a]);
                ids_[begin + a] = coordinates[a][static_cast<std::size_t>(rest % size)];
                rest /= size;
            }
        }
    }

 private:
    void check_axes(const char* what, std::size_t entries) const {
        if (static_cast<index_t>(entries) == axes_) return;
        fail<shape_error>(
            {"latent_positions::", what, " has ", entries, " entries, must have one for each of ", axes_, " axes"});
    }
    void reserve(const char* piece, index_t count) {
        if (count > positions_detail::most_latents - tokens()) {
            fail<value_error>({"latent_positions::", piece, ": ", count, " tokens after ", tokens(),
                               " must be at most 2^31 in total"});
        }
        positions_detail::reserve_more(ids_, count * axes_);
    }

    index_t axes_;
    std::vector<P> ids_;  // [tokens, axes]
};

}  // namespace cordage
