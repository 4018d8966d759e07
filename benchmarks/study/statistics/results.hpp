// SPDX-License-Identifier: MIT
// The results of the rows of one experiment over its models, and their statistics.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "observation.hpp"
#include "statistics/bootstrap.hpp"

namespace demo {

/// A measure in windows of one length, of questions at distances in [shortest, longest).
struct place {
    measure what;
    index_t length;
    index_t shortest = 0, longest = std::numeric_limits<index_t>::max();
};

/// The reach of a row: the length up to which it answers half of the questions.
struct reach {
    double tokens;
    bool is_beyond_last;  ///< half or more at the longest length; `tokens` is that length
};

/// Results of rows and models on the same windows.
class study_results {
 public:
    /// @throws cordage::value_error  naming the row and model, if a (row, seed) occurs twice or results have different
    ///                               measures, windows or distances
    explicit study_results(std::vector<row_result> results);

    const std::vector<row_result>& all() const { return results_; }
    /// The rows, each once, in the order of the results.
    const std::vector<std::string>& rows() const { return rows_; }
    /// The lengths of the windows, increasing.
    const std::vector<index_t>& lengths() const { return lengths_; }
    /// The seeds of a row's models, increasing. @throws cordage::value_error if there is no such row
    std::vector<std::uint64_t> seeds(const std::string& row) const;
    std::vector<std::uint64_t> common_seeds(const std::string& first, const std::string& second) const;
    bool has(const place& where) const;
    bool has_row(const std::string& row) const;
    /// Whether both rows exist and have a model in common.
    bool can_compare(const std::string& first, const std::string& second) const;
    const row_result& of(const std::string& row, std::uint64_t seed) const;

    /// The estimate over all models of the row.
    /// @throws cordage::value_error  if there are no observations
    estimate mean(const std::string& row, const place& where) const;
    /// The mean of one model, without an interval.
    double mean_of_model(const std::string& row, const place& where, std::uint64_t seed) const;

    /// first - second over the models of both rows, paired by window.
    estimate difference(const std::string& first, const std::string& second, const place& where) const;
    /// As above for different places, paired by model only.
    estimate difference(const std::string& first, const place& first_place, const std::string& second,
                        const place& second_place) const;

    /// The number of models whose mean is larger in the first row than in the second, of the models of both.
    struct ahead {
        index_t models, of;
    };
    ahead models_ahead(const std::string& first, const std::string& second, const place& where) const;

    /// Numbers of questions (measure::match) at that length answered correctly by only one of the rows, over the models
    /// of both.
    struct discordant {
        index_t first, second;
    };
    discordant discordant_matches(const std::string& first, const std::string& second, index_t length) const;

    /// The length at which match falls to 1/2: from the largest length with mean match >= 1/2, interpolated linearly in
    /// log2(length) towards the next longer one; 0 if there is none. For one model, or for the mean over all.
    reach reach_of(const std::string& row, std::optional<std::uint64_t> seed = {}) const;

 private:
    sample sample_of(const std::string& row, const place& where, const std::vector<std::uint64_t>& seeds) const;

    std::vector<row_result> results_;  // observations in order of measure, length, window and distance
    std::vector<std::string> rows_;
    std::vector<index_t> lengths_;
};

}  // namespace demo
