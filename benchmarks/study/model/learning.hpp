// SPDX-License-Identifier: MIT
// Training and evaluation as the rest of the program sees them, free of libtorch.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "methods.hpp"
#include "settings.hpp"
#include "text/corpus.hpp"

namespace demo {

class decoder;  // model.hpp
using shared_decoder = std::shared_ptr<const decoder>;

/// Told the share of the work that is done, 0 ... 1.
using progress_report = std::function<void(double share)>;

/// What training leaves.
struct trained {
    shared_decoder model;
    std::vector<double> policy_parameters;  ///< of method.policy
    std::vector<double> losses = {};        ///< of training, each the mean over a 25th of the steps
};

/// @throws std::runtime_error  if this libtorch, this program or this machine lacks the settings' device
void require_device(const settings& s);

/// libtorch on one thread; every result is then the same from run to run.
void use_one_thread();

/// A model with random weights.
shared_decoder new_decoder(const settings& s);

/// Trains from `start`, whose model stays as it is; the policy begins as the method has it.
///
/// @param replicas  threads that share a step's sequences; each has its own gradients, added in their order, so the
///                  result depends on their number and not on the machine's cores
trained train(const settings& s, const training_run& run, const method& how, const shared_decoder& start,
              std::span<const token> text, int replicas, const progress_report& report);

/// Measured on one length.
struct score {
    index_t ratio;                    ///< length / L
    index_t length;                   ///< tokens of a window; windows do not overlap
    double perplexity;                ///< over every token
    double perplexity_last;           ///< over the last L tokens of each stretch of the longest length
    double accuracy;                  ///< share of tokens guessed right, 0 ... 1
    double perplexity_sliding = 0.0;  ///< over the second half of each stretch, in windows that overlap by half and
                                      ///< count their second half alone; 0: not measured
};

/// What a model makes of a phrase that it saw `distance` tokens before and of which it sees the first half again.
struct recall {
    index_t distance;
    double accuracy;  ///< share of the second half's tokens guessed right, 0 ... 1
    double gain;      ///< in log probability a token, in nats, over the same window without the earlier phrase
};

/// Measures all lengths on the same tokens.
std::vector<score> evaluate(const settings& s, const method& how, const trained& what, std::span<const token> text,
                            const progress_report& report);

/// Phrases of the text planted in other places of it, at each of settings.recall_distances.
std::vector<recall> measure_recall(const settings& s, const method& how, const trained& what,
                                   std::span<const token> text);

void save(const decoder& model, const std::filesystem::path& file);
shared_decoder load_decoder(const settings& s, const std::filesystem::path& file);

}  // namespace demo
