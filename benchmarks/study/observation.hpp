// SPDX-License-Identifier: MIT
// The measures of the study, and the file of a row's observations, written by evaluation and read by statistics.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cordage/core/index.hpp"

namespace demo {

using cordage::index_t;

/// The measures: whether greedy decoding gives all four tokens of a requested value (1 or 0); the loss of copied
/// tokens, of value tokens and of all others, in nats per token; the share of copied tokens and that of all others
/// which are given by greedy decoding.
enum class measure { match, copy_loss, value_loss, plain_loss, copy_hit, plain_hit };

inline constexpr std::array all_measures{measure::match,      measure::copy_loss, measure::value_loss,
                                         measure::plain_loss, measure::copy_hit,  measure::plain_hit};

/// The name in files and tables: "match", "copy_loss" ...
std::string_view name_of(measure what);

/// A measurement of a row on one window or on one question in it.
struct observation {
    measure what;
    index_t length;  ///< of the window, tokens
    index_t window;  ///< its number: the same text, records and distances for every row and (per test set) every model
    index_t distance;  ///< from the key or the copied token back to its source, tokens; 0 for plain tokens
    double value;      ///< 0 or 1; or nats a token, mean over the tokens of that kind (and distance) in this window

    friend bool operator==(const observation&, const observation&) = default;
};

/// Mean of a measure over all observations of it, at one length of window or at all of them; NaN if there are none.
double mean_of(std::span<const observation> all, measure what, std::optional<index_t> length = {});

/// The result of one row of one model.
struct row_result {
    std::string settings;                   ///< one line; results with another line belong to another experiment
    std::string row;                        ///< its name, one line
    std::uint64_t seed = 0;                 ///< of the model
    index_t token_forwards = 0;             ///< cost of selection or learning; a gradient step counts 3 forwards
    double seconds = 0.0;                   ///< time of selection, learning and evaluation
    std::vector<double> policy_parameters;  ///< of the row's policy, temperature included
    std::vector<observation> observations;

    friend bool operator==(const row_result&, const row_result&) = default;
};

/// Writes lines of text: the fields in order, one line per observation ("match 1024 0 512 1"), and "end".
/// @throws std::runtime_error  naming a field that read_row_result would reject
void write(std::ostream& out, const row_result& r);

/// @param name  of the file, for messages
/// @throws std::runtime_error  "NAME:LINE: FIELD 'TEXT' must be ..." for the first invalid line
row_result read_row_result(std::istream& in, const std::string& name);

/// Writes a temporary file and renames it, so that an existing file is replaced atomically.
void save(const row_result& r, const std::filesystem::path& file);
row_result load_row_result(const std::filesystem::path& file);

}  // namespace demo
