// SPDX-License-Identifier: MIT
// The rows of one experiment over its models, and what is asked of them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "observation.hpp"
#include "statistics/bootstrap.hpp"

namespace demo {

/// What is measured, where: at one length of window, of questions at distances in [shortest, longest).
struct place {
    measure what;
    index_t length;
    index_t shortest = 0, longest = std::numeric_limits<index_t>::max();
};

/// A row's mean length within which it finds half of what it is asked for.
struct reach {
    double tokens;
    bool is_beyond_last;  ///< half or more at the longest length too: tokens is that length
};

/// Results of rows and models on the same windows.
class study_results {
 public:
    /// @throws cordage::value_error  naming the row and model, unless no (row, seed) is there twice and all results
    ///                               observe the same measures, windows and distances
    explicit study_results(std::vector<row_result> results);

    const std::vector<row_result>& all() const { return results_; }
    /// In the order in which they were given, each once.
    const std::vector<std::string>& rows() const { return rows_; }
    /// Of the windows, increasing.
    const std::vector<index_t>& lengths() const { return lengths_; }
    /// The models of a row, increasing. @throws cordage::value_error  if there is no such row
    std::vector<std::uint64_t> seeds(const std::string& row) const;
    std::vector<std::uint64_t> common_seeds(const std::string& first, const std::string& second) const;
    bool has(const place& where) const;
    bool has_row(const std::string& row) const;
    /// Whether both rows are there and have a model in common.
    bool can_compare(const std::string& first, const std::string& second) const;
    const row_result& of(const std::string& row, std::uint64_t seed) const;

    /// Over all models of the row.
    /// @throws cordage::value_error  if nothing was observed there
    estimate mean(const std::string& row, const place& where) const;
    /// Of one model, without an interval.
    double mean_of_model(const std::string& row, const place& where, std::uint64_t seed) const;

    /// first - second over the models that both have: paired by window.
    estimate difference(const std::string& first, const std::string& second, const place& where) const;
    /// The same where the places differ: paired by model alone.
    estimate difference(const std::string& first, const place& first_place, const std::string& second,
                        const place& second_place) const;

    /// Questions (measure::match) at that length that only one of the rows answers rightly, over the models that both
    /// have.
    struct discordant {
        index_t first, second;
    };
    discordant discordant_matches(const std::string& first, const std::string& second, index_t length) const;

    /// The largest length whose mean match is 1/2 or more, and from there to the next longer one, of mean below 1/2, as
    /// far as a line in log2(length) is at 1/2 or more; 0 if no length has half. Of one model, or of the mean over all.
    reach reach_of(const std::string& row, std::optional<std::uint64_t> seed = {}) const;

 private:
    sample sample_of(const std::string& row, const place& where, const std::vector<std::uint64_t>& seeds) const;

    std::vector<row_result> results_;  // observations in order of measure, length, window and distance
    std::vector<std::string> rows_;
    std::vector<index_t> lengths_;
};

}  // namespace demo
