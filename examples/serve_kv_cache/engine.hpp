// SPDX-License-Identifier: MIT
// The serving loop of one layer: exact t while a prompt is read, the nearest of a few t while tokens are generated.
#pragma once

#include <utility>

#include "attention.hpp"

/// Output of a layer's projections, neither normalized nor rotated.
struct token_rows {
    cordage::index_t tokens;
    std::vector<float> q;     ///< [tokens, heads, head_dim]
    std::vector<float> k, v;  ///< [tokens, heads of the cache, head_dim]
};

/// The weights of RMSNorm of q and k, each [head_dim].
struct layer_norms {
    std::vector<float> q, k;
};

template <cordage::element T, class Policy>
class engine {
 public:
    using index_t = cordage::index_t;

    engine(const cordage::rope_config& model, const Policy& policy, std::vector<double> cached_t, layer_norms norms,
           index_t heads, const cache_shape& shape)
        : exact_(model, policy, cordage::continuous{}),
          cached_(model, policy, cordage::nearest_upper_bound(std::move(cached_t))),
          norms_(std::move(norms)),
          heads_(heads),
          cache_(shape),
          sequence_(cache_, exact_.at_ratio(1.0)) {}
    engine(const engine&) = delete;  // its sequence points into its cache

    // [when_the_basis_changes]
    /// Reads a prompt, or the next turn of a conversation, at the exact t of the new length.
    /// Returns the attention's output [tokens, heads, head_dim].
    std::vector<float> prefill(token_rows rows) {
        return extend(exact_.at_length(static_cast<double>(sequence_.length() + rows.tokens)), rows);
    }
    /// Reads one generated token, at the smallest cached t that covers the new length.
    std::vector<float> decode(token_rows row) {
        return extend(cached_.at_length(static_cast<double>(sequence_.length() + row.tokens)), row);
    }
    // [/when_the_basis_changes]
    /// Appends tokens that were read before, from the cache instead of their projections.
    void reuse(index_t begin, index_t tokens) {
        changes_ += sequence_.rebase_to(cached_.at_length(static_cast<double>(sequence_.length() + tokens))) ? 1 : 0;
        sequence_.append_copy(sequence_, begin, tokens);
    }

    /// Forgets the tokens of some blocks; no key is moved.
    void drop(index_t first_block, index_t blocks) { sequence_.drop(first_block, blocks); }

    const cordage::basis& basis() const noexcept { return sequence_.basis(); }
    index_t length() const noexcept { return sequence_.length(); }
    index_t changes() const noexcept { return changes_; }  ///< of the basis, so far

 private:
    std::vector<float> extend(const cordage::basis& basis, token_rows& rows) {
        changes_ += sequence_.rebase_to(basis) ? 1 : 0;
        const index_t before = sequence_.length(), head_dim = cache_.shape().head_dim;
        std::vector<std::int32_t> position_ids(static_cast<std::size_t>(rows.tokens));
        // [into_the_cache]
        // From the projection to the cache: q is normalized and rotated in place, k on its way into its slots, v is
        // stored with it, both in the cache's type.
        const std::vector<std::int32_t> slots = sequence_.append(rows.tokens);
        std::iota(position_ids.begin(), position_ids.end(), sequence_.stored_position(before));
        const auto view = [&](std::vector<float>& x, index_t heads) {
            return cordage::token_major(x.data(), {1, rows.tokens, heads, head_dim});
        };
        const auto cached = [&](std::vector<float>& x, const cordage::heads_view<T>& all) {
            return cordage::from_to(view(x, cache_.shape().heads),
                                    cordage::in_slots(all, slots.data(), 1, rows.tokens));
        };
        cordage::rotate_forward<cordage::half_split>(
            cordage::exact_angles(sequence_.basis(), position_ids),
            cordage::in_place(view(rows.q, heads_)).normalized(cordage::rms_norm<>{.weight = norms_.q.data()}),
            cached(rows.k, cache_.keys()).normalized(cordage::rms_norm<>{.weight = norms_.k.data()}),
            cached(rows.v, cache_.values()).unrotated());
        // [/into_the_cache]

        std::vector<float> out(rows.q.size());
        const std::vector<queries_of_run> runs = queries_ahead(sequence_, rows.q, rows.tokens, heads_);
        for (index_t i = 0; i < rows.tokens; ++i) {
            attend(sequence_, before + i + 1, runs, i, heads_, out.data() + i * heads_ * head_dim);
        }
        return out;
    }

    cordage::rope_scaling<Policy, cordage::continuous> exact_;
    cordage::basis_cache cached_;
    layer_norms norms_;
    index_t heads_;
    paged_cache<T> cache_;
    sequence<T> sequence_;
    index_t changes_ = 0;
};
