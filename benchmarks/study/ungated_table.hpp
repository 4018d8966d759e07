// SPDX-License-Identifier: MIT
// A learned table without the gate s_i, for an ablation of cordage::learned_table.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cordage/core/config.hpp"
#include "cordage/core/index.hpp"
#include "cordage/scaling/learned_table.hpp"

namespace demo {

/// cordage::learned_table with s_i = 1: the parameters [knots, pairs] are what is added to the prior's log alpha.
template <class Prior>
class ungated_table {
 public:
    ungated_table(const cordage::rope_config& config, std::vector<double> knots, const Prior& prior = {})
        : config_(config), table_(config, std::move(knots), prior) {}

    double log_alpha(const cordage::rope_config& c, cordage::index_t pair, double t) const {
        return table_.log_alpha(c, pair, t);
    }
    double log_alpha_rate(const cordage::rope_config& c, cordage::index_t pair, double t) const {
        return table_.log_alpha_rate(c, pair, t);
    }
    void validate(const cordage::rope_config& c) const { table_.validate(c); }

    std::vector<double> parameters() const {
        std::vector<double> numbers = table_.parameters();
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= gate(i);
        return numbers;
    }
    ungated_table with_parameters(std::span<const double> numbers) const {
        std::vector<double> offsets(numbers.begin(), numbers.end());
        for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] /= gate(i);
        ungated_table other(*this);
        other.table_ = table_.with_parameters(offsets);
        return other;
    }
    void log_alpha_vjp(const cordage::rope_config& c, double t, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        std::vector<double> grad_offsets(grad_parameters.size());
        table_.log_alpha_vjp(c, t, grad_log_alpha, grad_offsets);
        for (std::size_t i = 0; i < grad_offsets.size(); ++i) grad_parameters[i] += grad_offsets[i] / gate(i);
    }

 private:
    // Of parameter i of [knots, pairs].
    double gate(std::size_t i) const { return config_.phase_gate(static_cast<cordage::index_t>(i) % config_.pairs()); }

    cordage::rope_config config_;
    cordage::learned_table<Prior> table_;
};

}  // namespace demo
