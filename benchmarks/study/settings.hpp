// SPDX-License-Identifier: MIT
// Every number of the experiment: sizes, lengths, steps, rates, seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
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

/// Which text: text.hpp has one function for each.
enum class corpus_kind { king_james, perl_manuals, kernel_documentation };

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
    bool slides = false;            ///< evaluation also in windows that overlap
    std::vector<index_t> recall_distances = {};
    index_t recall_trials = 24;
    std::uint64_t seed = 1;
    corpus_kind text = corpus_kind::king_james;
    double training_share = 1.0;   ///< of the training text that is used
    std::string device = "cpu";    ///< libtorch's name of the place of models and windows
    bool evaluate_on_dev = false;  ///< for choosing settings; tables are made on the test text
    std::filesystem::path out = "build/demo";
    std::filesystem::path tokens = "build/demo/work/tokens.bin";          ///< the text, for the worker processes
    std::filesystem::path pretrained = "build/demo/work/pretrained.bin";  ///< what every row starts from

    cordage::rope_config rope() const {
        return {model.head_dim(), model.head_dim(), 10000.0, static_cast<double>(train_length)};
    }
    index_t longest() const { return train_length * ratios.back(); }
};

/// The numbers of one experiment: "demo", "quick" (fewer steps), "small" (the replication on two cores), "gpu" (a model
/// of 33 million weights on a GPU), "trial" or "gpu-trial" (a few steps of either, to see that it works), and, for a
/// replication, one of its variants.
/// @throws std::runtime_error  for other names
settings settings_of(const std::string& preset, const std::string& variant = "base");

/// The variants of a replication.
std::vector<std::string> variant_names();

/// All numbers on one line: results with another line are not this experiment's.
std::string described(const settings& s);

}  // namespace demo
