// SPDX-License-Identifier: MIT
// How a row reads windows, how its numbers learn and how its weights are tuned: what training and evaluation are told,
// free of libtorch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cordage/positions/sampler.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/schedule/schedules.hpp"
#include "settings.hpp"

namespace demo {

/// Which numbers layers or heads have of their own: none; an exponent e each, for scores times tau(t)^e with log
/// scaling's tau, beside the policy's temperature; all of the policy's, by layer.
enum class own_numbers { none, temperature_of_layer, temperature_of_head, all_of_layer };

/// How a model reads a window: a policy at the t that a schedule gives its length.
struct reading {
    cordage::any_policy policy;
    cordage::any_schedule schedule = cordage::continuous{};
    own_numbers own = own_numbers::none;
    bool is_log_scaled = false;        ///< scores times max(1, log_L n) in windows of n tokens, whatever t is
    bool has_alibi = false;            ///< ALiBi's penalty on scores
    std::vector<double> numbers = {};  ///< as in first_numbers; empty: these
};

/// The policy's parameters, for each layer if it has its own, then the exponents (0), by layer and head.
std::vector<double> first_numbers(const settings& s, const reading& how);

/// Which tokens' loss a row learns from: copies and values; all that can be guessed; of these the window's last
/// quarter.
enum class learned_tokens { copies_and_values, all, last_quarter };

/// How a row's numbers learn over frozen weights: steps of Adam until settings.budget() is spent.
struct number_learning {
    double t_least, t_most;  ///< t of a step: every octave alike; equal: always that
    double rate;             ///< falling to zero
    learned_tokens from = learned_tokens::copies_and_values;
    index_t fixed = 0;  ///< so many of the last numbers do not learn
};
/// As settings.learning has it.
number_learning usual_learning(const settings& s);

/// The windows of one step, of about as many tokens whatever their length is.
struct learning_step {
    double t;
    index_t length, windows;
    index_t token_forwards() const { return 3 * length * windows; }  ///< a gradient step counts 3
};
learning_step draw_step(generator& draw, const settings& s, const number_learning& how);

/// The positions of a training sequence that reach t L.
using position_sampler = std::function<std::vector<double>(generator&, const cordage::sampled_range&)>;

/// How weights are tuned from the pretrained ones, by settings.tuning; a policy with parameters learns beside them.
struct weight_tuning {
    std::string name;  ///< of the weights
    reading reads;
    index_t times_length = 1;         ///< windows of so many L
    position_sampler positions = {};  ///< at a t' of each step, which is the policy's t too; none: 0, 1, 2 ...
};

/// The numbers of these on one line, to be added to settings' own: results of equal lines are of one experiment. Empty
/// for what is usual.
std::string described(const settings& s, const number_learning& how);
std::string described(const settings& s, const reading& how);
std::string described(const settings& s, const weight_tuning& how);

}  // namespace demo
