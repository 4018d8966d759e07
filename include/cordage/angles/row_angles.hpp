// SPDX-License-Identifier: MIT
// Angles of a batch whose rows each have a basis of their own, requests at different t; stage angles.
#pragma once

#include "cordage/angles/angle_source.hpp"

namespace cordage {

/// Row r of the batch has the angles of sources[r], whatever they are: requests of different lengths, each at its own
/// t, in one call. Gradients come a row at a time: dL/dinv_freq [batch, rotary_dim/2] and dL/dm [batch]. A view: the
/// sources must outlive it. Allocates nothing.
///
///   const std::vector<const basis*> chosen{&cache.at_length(900), &cache.at_length(70000)};
///   const auto rows = exact_angles_of_rows(chosen, position_ids);            // or any sources of one type
///   rotate_forward<half_split>(row_angles(rows), in_place(q), in_place(k));
template <differentiable_angle_source Source>
class row_angles {
 public:
    /// @param sources  [batch], each of one row, and with the same tokens, pairs and axes
    /// @throws shape_error
    explicit row_angles(std::span<const Source> sources) : sources_(sources) {
        if (sources.empty()) fail<shape_error>({"row_angles: sources [] must have one entry a row"});
        const Source& first = sources.front();
        for (std::size_t row = 0; row < sources.size(); ++row) {
            const Source& s = sources[row];
            if (s.batch() != 1 || s.tokens() != first.tokens() || s.pairs() != first.pairs() ||
                s.axes() != first.axes()) {
                fail<shape_error>({"row_angles: sources[", row, "] [batch ", s.batch(), ", tokens ", s.tokens(),
                                   ", pairs ", s.pairs(), ", axes ", s.axes(), "] must be [1, ", first.tokens(), ", ",
                                   first.pairs(), ", ", first.axes(), "], as sources[0]"});
            }
            for (index_t pair = 0; s.axes() > 1 && pair < s.pairs(); ++pair) {
                if (s.axis(pair) != first.axis(pair)) {
                    fail<shape_error>({"row_angles: sources[", row, "] turns pair ", pair, " by axis ", s.axis(pair),
                                       ", must do so by ", first.axis(pair), ", as sources[0]"});
                }
            }
        }
    }
    explicit row_angles(const std::vector<Source>& sources) : row_angles(std::span<const Source>(sources)) {}
    explicit row_angles(const std::vector<Source>&&) = delete;  // the sources must outlive it

    index_t batch() const noexcept { return std::ssize(sources_); }
    index_t tokens() const noexcept { return sources_.front().tokens(); }
    index_t pairs() const noexcept { return sources_.front().pairs(); }
    double attention_factor(index_t row) const noexcept { return source(row).attention_factor(0); }

    template <class T>
    CORDAGE_ALWAYS_INLINE cos_sin<T> at(index_t row, index_t token, index_t pair) const noexcept {
        return source(row).template at<T>(0, token, pair);
    }

    /// As every row's source checks its own.
    void check_positions(const char* who) const {
        if constexpr (requires(const Source& s, index_t row) { s.check_positions(who, row); }) {
            for (index_t row = 0; row < batch(); ++row) source(row).check_positions(who, row);
        }
    }

    index_t bases() const noexcept { return batch(); }
    std::span<const double> inv_freq(index_t row) const noexcept { return source(row).inv_freq(0); }
    index_t axes() const noexcept { return sources_.front().axes(); }
    index_t axis(index_t pair) const noexcept { return sources_.front().axis(pair); }
    double position(index_t row, index_t token, index_t axis) const noexcept {
        return source(row).position(0, token, axis);
    }
    /// The source of a row; a single one serves any batch.
    const Source& source(index_t row) const noexcept {
        return sources_[sources_.size() == 1 ? 0 : static_cast<std::size_t>(row)];
    }

 private:
    std::span<const Source> sources_;
};

template <class Source>
row_angles(const std::vector<Source>&) -> row_angles<Source>;

/// exact_angles for every row: row r of position_ids turned by *bases[r]. Bases may repeat.
///
/// @param bases         [batch], not null; they must outlive the result
/// @param position_ids  [batch, tokens], or one row for all
/// @throws shape_error
template <position_type P>
std::vector<exact_angles<P>> exact_angles_of_rows(std::span<const basis* const> bases, position_view<P> position_ids) {
    if (bases.empty() || (position_ids.batch != 1 && position_ids.batch != std::ssize(bases))) {
        fail<shape_error>({"exact_angles_of_rows: ", bases.size(), " bases must be at least one, and one for each of ",
                           position_ids.batch, " rows of position_ids"});
    }
    angle_detail::check_positions(position_ids);
    std::vector<exact_angles<P>> rows;
    rows.reserve(bases.size());
    for (std::size_t row = 0; row < bases.size(); ++row) {
        if (bases[row] == nullptr) {
            fail<shape_error>({"exact_angles_of_rows: bases[", row, "] nullptr must point to a basis"});
        }
        const index_t offset = position_ids.batch == 1 ? 0 : static_cast<index_t>(row) * position_ids.batch_stride;
        const P* first = position_ids.data == nullptr ? nullptr : position_ids.data + offset;
        rows.emplace_back(*bases[row], position_view<P>(first, 1, position_ids.tokens, 0));
    }
    return rows;
}

}  // namespace cordage
