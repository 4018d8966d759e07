// SPDX-License-Identifier: MIT
// The rows of the demo on a real model: which rule extends its context, and where its numbers come from. Without
// libtorch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cordage/core/config.hpp"
#include "cordage/scaling/any_policy.hpp"

namespace demo {

using cordage::index_t;

/// How numbers of a rule are learned: steps of Adam on one window each.
struct rule_learning {
    index_t steps;
    double rate, temperature_rate;  ///< of the policy's numbers; of the last two, the temperature's
    index_t least, most;            ///< contexts of a step, log-uniform
    std::uint64_t seed = 0;         ///< of the windows
    bool has_dense = false;         ///< each step also reads a window without gaps
};

/// A rule for every context n: the policy at t = max(1, n / reference).
struct rule {
    std::string name, job;  ///< as tables show it; as files are called
    cordage::any_policy policy;
    double reference;             ///< tokens
    bool is_configurable = true;  ///< a user of transformers or llama.cpp can configure it today, with defaults
    rule_learning learning = {};  ///< no steps: nothing is learned

    double t_at(index_t context) const;
};

/// The rules in the table's order. Those that learn start from the policy that they hold.
/// @param clex_steps  of the rule for all contexts
std::vector<rule> rules_of(const cordage::rope_config& model, index_t table_steps, index_t clex_steps);

/// The lengths for which the study searches and learns a rule each, beside those that serve all.
inline constexpr std::array<index_t, 2> made_for{12288, 65536};

/// The rules of the study, but for those that are searched. A job that learns ends in its seed, 1 or 2.
std::vector<rule> study_rules(const cordage::rope_config& model, index_t steps);

/// What the study searches: by parts by its ramp, the length from which on it scales, and a temperature.
std::vector<rule> searched_points(const cordage::rope_config& model);

/// The names of jobs that have a place of their own.
namespace job_of_rule {
inline constexpr const char* unscaled = "unscaled";
inline constexpr const char* yarn = "yarn";
inline constexpr const char* by_parts = "by_parts";
inline constexpr const char* table = "table";
inline constexpr const char* clex = "clex";
}  // namespace job_of_rule

/// The longest context of learning and of the table; that of the basis learned from nothing.
inline constexpr index_t longest_context = 65536, table_context = 16384;

}  // namespace demo
