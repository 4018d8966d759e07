// SPDX-License-Identifier: MIT
// Every number of the study: sizes, lengths, steps, rates, seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cordage/core/config.hpp"
#include "text/windows.hpp"

namespace demo {

/// The decoder: Llama's shape with norms of q and k, small.
struct model_sizes {
    index_t vocabulary = 512, width = 128, layers = 4, heads = 4, hidden = 344;
    index_t head_dim() const { return width / heads; }
};

/// Pretraining: Muon for matrices, AdamW for the embedding and the gains, at rates that rise over the warm-up and decay
/// to zero with a cosine. The first steps use windows of L/4, the next ones of L/2.
struct pretraining_run {
    index_t steps = 1280;
    index_t tokens_per_step = 2048;
    double matrix_rate = 0.02, other_rate = 5e-3;
    index_t warm_up = 20;
    double share_of_quarter = 0.15, share_of_half = 0.15;  ///< of the steps
    double matches_wanted = 0.95;  ///< match rate on dev required in every octave of distances within L
    index_t more_rounds = 2;       ///< extra rounds of a third of the steps, while a model is below it
};

/// Learning a row's numbers with frozen weights: windows of length t L, t = `t_learned`, Adam with a rate that decays
/// to zero.
struct learning_run {
    index_t steps = 120;
    index_t windows = 2;
    double t_learned = 8.0;
    double rate = 0.06;
    index_t searched_windows = 6;  ///< windows of dev text for each trial of a search
};

struct settings {
    model_sizes model;
    index_t train_length = 128;  ///< L
    double theta_base = 10000.0;
    window_shape windows;
    pretraining_run pretraining;
    learning_run learning;
    std::vector<index_t> ratios{1, 2, 4, 8, 16};
    index_t evaluated_windows = 40;  ///< of each length, and more of the shorter ones
    index_t gate_windows = 320;      ///< of dev text, of length L
    bool evaluate_on_dev = false;    ///< to choose settings; tables use the test text
    std::uint64_t seed = 101;        ///< of the model: its first weights and its windows; settings were chosen on 101
    std::uint64_t first_seed = 18;  ///< of the study's models, which have consecutive seeds; earlier ones had been seen
    std::filesystem::path out = "build/replication/small";

    cordage::rope_config rope() const {
        return {model.head_dim(), model.head_dim(), theta_base, static_cast<double>(train_length)};
    }
    index_t longest() const { return train_length * ratios.back(); }
    index_t learned_length() const { return static_cast<index_t>(learning.t_learned) * train_length; }
    /// Budget of a row for learning or searching numbers, in token-forwards; a gradient step counts 3.
    index_t budget() const { return 3 * learning.steps * learning.windows * learned_length(); }

    /// Number of windows of a length to evaluate: at most twice as many tokens as at half the length.
    index_t windows_at(index_t ratio) const { return evaluated_windows * (ratio >= 8 ? 1 : 8 / ratio); }
};

/// "small" (the study) or "trial" (a short run of it, for testing).
/// @throws std::runtime_error  for another name
settings settings_of(const std::string& preset);

/// All settings on one line. Results with equal lines belong to the same experiment.
std::string described(const settings& s);

}  // namespace demo
