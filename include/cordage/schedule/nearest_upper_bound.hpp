// SPDX-License-Identifier: MIT
// The smallest cached t that covers a length; a schedule of the stage sequence length -> t.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "cordage/schedule/schedule.hpp"

namespace cordage {

/// The smallest t_k with seq_len <= t_k * original_length, and the largest t_k beyond all of them (CLEX section 3.3;
/// the paper leaves that last case open, its released code caps as here). A server then holds K bases and changes
/// rarely.
class nearest_upper_bound {
 public:
    /// @throws value_error unless cached_t is not empty, strictly increasing, finite and >= 1
    explicit nearest_upper_bound(std::vector<double> cached_t) : cached_t_(std::move(cached_t)) {
        if (cached_t_.empty()) fail<value_error>({"nearest_upper_bound: cached_t [] must hold at least one t"});
        for (std::size_t k = 0; k < cached_t_.size(); ++k) {
            validate_ratio(message("nearest_upper_bound: cached_t[", k, "]").c_str(), cached_t_[k]);
            if (k > 0 && !(cached_t_[k] > cached_t_[k - 1])) {
                fail<value_error>({"nearest_upper_bound: cached_t ", cached_t_[k], " must be > the one before it, ",
                                   cached_t_[k - 1]});
            }
        }
    }

    /// Index k of the t_k to use.
    std::size_t index(const rope_config& c, double seq_len) const {
        const auto covers = [&](double t) { return seq_len <= t * c.original_length; };
        const auto found = std::find_if(cached_t_.begin(), cached_t_.end(), covers);
        return found == cached_t_.end() ? cached_t_.size() - 1 : static_cast<std::size_t>(found - cached_t_.begin());
    }
    double ratio(const rope_config& c, double seq_len) const { return cached_t_[index(c, seq_len)]; }

    const std::vector<double>& cached_t() const { return cached_t_; }

 private:
    std::vector<double> cached_t_;
};
static_assert(length_schedule<nearest_upper_bound>);

}  // namespace cordage
