// SPDX-License-Identifier: MIT
// The interface of training and evaluation, without libtorch.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <numbers>
#include <span>
#include <vector>

#include "model/recipes.hpp"
#include "observation.hpp"
#include "settings.hpp"
#include "text/corpus.hpp"

namespace demo {

class decoder;  // model.hpp
using shared_decoder = std::shared_ptr<const decoder>;

/// Share of a rate at a step: rises over `warm_up` steps, then falls to 0 with a cosine.
inline double rate_factor(index_t step, index_t steps, double warm_up) {
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const double rising = static_cast<double>(step + 1) / (warm_up + 1.0);
    return std::min(1.0, rising) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

/// Callback with the completed share of the work, 0 ... 1.
using progress_report = std::function<void(double share)>;

/// Runs libtorch on one thread, so that results are reproducible.
void prepare_libtorch();

shared_decoder load_decoder(const settings& s, const std::filesystem::path& file);
void save(const decoder& model, const std::filesystem::path& file);

/// A model trained from random weights on windows of up to L tokens.
struct pretrained {
    shared_decoder model;
    index_t steps = 0;                   ///< of all rounds
    std::vector<double> losses = {};     ///< means over each 50th of the first round, nats per token
    std::vector<observation> seen = {};  ///< of dev windows of length L
};
pretrained pretrain(const settings& s, const corpus& text, const progress_report& report);

/// The windows of a selection or measurement. Equal numbers give equal windows for every model and row.
struct window_set {
    std::span<const token> text;
    std::uint64_t seed;
};
inline constexpr std::uint64_t test_windows = 2001, dev_windows = 2002, choosing_windows = 2003;

/// Numbers learned with frozen weights, starting at first_numbers.
struct learning_outcome {
    std::vector<double> numbers;
    index_t token_forwards;  ///< spent
};
/// @param budget  what may be spent, in token-forwards
/// @throws cordage::value_error  for a basis that is not finite
learning_outcome learn_numbers(const settings& s, const decoder& model, const reading& how, const learned_t& t,
                               scored_tokens which, index_t budget, std::span<const token> text,
                               const progress_report& report);

/// The loss that learning minimises, without a gradient: the mean over the scored tokens of settings.searched_windows
/// windows of learned_length(), in nats.
double searched_loss(const settings& s, const decoder& model, const reading& how, scored_tokens which,
                     const window_set& set);

/// All measures of `count` windows of one length, or of each length in settings.ratios.
std::vector<observation> observe(const settings& s, const decoder& model, const reading& how, const window_set& set,
                                 index_t length, index_t count, const progress_report& report);
std::vector<observation> evaluate(const settings& s, const decoder& model, const reading& how, const window_set& set,
                                  const progress_report& report);

/// Whether the match rate of every octave of distances within L is at least pretraining.matches_wanted.
bool passes_gate(const settings& s, std::span<const observation> seen);

/// Means of a measure over the distances of each octave [2^k, 2^(k+1)), starting with the first octave that has
/// observations; none after it may be empty.
std::vector<double> by_octave(std::span<const observation> all, measure what);

}  // namespace demo
