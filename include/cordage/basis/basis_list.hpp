// SPDX-License-Identifier: MIT
// Several bases in one array, for a batch whose requests have different t; stage policy at t -> basis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/positions/position_view.hpp"

namespace cordage {

/// Contiguous copies of bases of one rotary_dim, so that one call serves requests with different t.
///
///   const basis_list list({&cache.at_length(900), &cache.at_length(70000)});
///   rotate_forward<half_split>(exact_angles(list.of_rows(), position_ids), ...);             // a basis for each row
///   rotate_forward<half_split>(exact_angles(list.of(basis_of_token), position_ids), ...);    // a basis for each token
class basis_list {
 public:
    /// @param bases  not null, at least one, all with the same number of pairs; may repeat
    /// @throws shape_error
    explicit basis_list(std::span<const basis* const> bases) {
        if (bases.empty()) fail<shape_error>({"basis_list: bases [] must have at least one entry"});
        for (std::size_t i = 0; i < bases.size(); ++i) {
            if (bases[i] == nullptr) fail<shape_error>({"basis_list: bases[", i, "] nullptr must point to a basis"});
            if (bases[i]->pairs() != bases[0]->pairs()) {
                fail<shape_error>({"basis_list: bases[", i, "] has rotary_dim ", bases[i]->rotary_dim(), ", must have ",
                                   bases[0]->rotary_dim(), ", as bases[0]"});
            }
        }
        for (const basis* b : bases) {
            const basis_view v = *b;
            fractions_.insert(fractions_.end(), v.fractions, v.fractions + v.pairs);
            whole_turns_.insert(whole_turns_.end(), v.whole_turns, v.whole_turns + v.pairs);
            inv_freq_.insert(inv_freq_.end(), v.inv_freq, v.inv_freq + v.pairs);
            attention_factors_.push_back(*v.attention_factors);
        }
    }
    explicit basis_list(std::initializer_list<const basis*> bases)
        : basis_list(std::span<const basis* const>(bases.begin(), bases.size())) {}

    index_t count() const noexcept { return std::ssize(attention_factors_); }
    index_t pairs() const noexcept { return std::ssize(fractions_) / count(); }

    /// Row r of a batch uses basis r; a single basis serves every row.
    basis_view of_rows() const& noexcept {
        return {fractions_.data(), whole_turns_.data(), inv_freq_.data(), attention_factors_.data(), pairs(), count()};
    }
    /// Each token uses the basis with the given index: a flat batch of requests, or LongRoPE's start tokens.
    ///
    /// @param of_token  [tokens], for every row, or [rows, tokens] dense; 0 to count() - 1, as each call checks
    /// @throws shape_error  unless rows >= 1 divides the number of entries
    template <class Index>
    basis_view of(Index&& of_token, index_t rows = 1) const& {
        static_assert(outlives_its_call<Index>,
                      "cordage::basis_list: the index must outlive the angles: pass a named vector, not a temporary");
        const std::span<const std::int32_t> entries(of_token);
        if (rows < 1 || std::ssize(entries) % rows != 0) {
            fail<shape_error>(
                {"basis_list: of_token has ", entries.size(), " entries, must have rows * tokens, rows ", rows});
        }
        basis_view view = of_rows();
        static constexpr std::int32_t no_tokens = 0;  // an empty vector's data may be null
        view.of_token = entries.empty() ? &no_tokens : entries.data();
        view.rows = rows;
        view.tokens = std::ssize(entries) / rows;
        return view;
    }
    basis_view of_rows() const&& = delete;  // the list must outlive its views
    template <class Index>
    basis_view of(Index&&, index_t = 1) const&& = delete;

 private:
    std::vector<std::uint64_t> fractions_, whole_turns_;
    std::vector<double> inv_freq_, attention_factors_;
};

}  // namespace cordage
