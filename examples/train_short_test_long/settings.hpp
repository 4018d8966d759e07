// SPDX-License-Identifier: MIT
// Every number of the experiment: sizes, lengths, steps, rates, seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "cordage/core/config.hpp"

namespace demo {

using cordage::index_t;

/// The decoder: Llama's shape, small.
struct model_sizes {
    index_t vocabulary = 512, width = 128, layers = 4, heads = 4, hidden = 336;
    index_t head_dim() const { return width / heads; }
};

/// How one model or basis is trained.
struct training_run {
    index_t steps;
    double rate;         ///< of the weights, falling with a cosine
    double final_share;  ///< of the rate, at the last step
    index_t warm_up;     ///< steps in which the rate rises
};

struct settings {
    model_sizes model;
    index_t train_length = 64;  ///< L
    double t_train = 16.0;      ///< the largest length ratio that training reaches
    index_t tokens_per_step = 2048;
    training_run pretraining{1000, 3e-3, 0.1, 50};
    training_run continuing{200, 1e-3, 0.0, 10};     ///< part B: the weights train on
    training_run frozen_weights{300, 0.0, 0.0, 10};  ///< part A: only the basis learns
    std::vector<index_t> ratios{1, 2, 4, 8, 16};
    index_t evaluated_blocks = 32;  ///< stretches of the longest length, the same text at every length
    std::uint64_t seed = 1;
    bool evaluate_on_dev = false;  ///< for choosing settings; the table is made on the test text
    std::filesystem::path out = "build/demo";

    cordage::rope_config rope() const {
        return {model.head_dim(), model.head_dim(), 10000.0, static_cast<double>(train_length)};
    }
    index_t longest() const { return train_length * ratios.back(); }
};

/// The same experiment with fewer steps.
inline settings quick(settings s) {
    s.pretraining.steps = 300;
    s.continuing.steps = 60;
    s.frozen_weights.steps = 80;
    s.evaluated_blocks = 12;
    return s;
}

}  // namespace demo
