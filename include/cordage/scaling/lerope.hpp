// SPDX-License-Identifier: MIT
// LeRoPE: a learned factor on every frequency of another policy, independent of t; stage t -> log alpha.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cordage/scaling/policy.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace cordage {

/// log alpha_i(t) = log alpha_base,i(t) + offset_i, so that inv_freq_i is the base's times exp(offset_i) at every t.
/// The offsets are parameters; the attention factor is the base's. Mistral Large 4 uses it over YaRN: its checkpoint
/// holds the offsets as the tensor `alpha` (transformers 5.24, MistralLarge4TextRotaryEmbedding;
/// models/checkpoint/lerope.hpp).
///
///   lerope<yarn> policy{yarn{}, offsets};                 // [pairs]; zeros: the base itself
///   add_grad_parameters(policy, config, t, grad_inv_freq, grad_offsets);
template <scaling_policy Base = unscaled>
struct lerope {
    Base base;
    std::vector<double> offsets;  ///< [pairs], finite, -largest_offset ... largest_offset

    /// exp(largest_offset) is 2e17, which keeps every frequency of a model within the range of a basis.
    static constexpr double largest_offset = 40.0;

    void log_alpha(const rope_config& c, double t, std::span<double> out) const {
        cordage::log_alpha(base, c, t, out);
        for (std::size_t pair = 0; pair < out.size(); ++pair) out[pair] += offsets[pair];
    }
    void log_alpha_rate(const rope_config& c, double t, std::span<double> out) const {
        cordage::log_alpha_rate(base, c, t, out);
    }
    double attention_factor(const rope_config& c, double t) const { return cordage::attention_factor(base, c, t); }
    double attention_factor_rate(const rope_config& c, double t) const {
        return cordage::attention_factor_rate(base, c, t);
    }

    /// Throws shape_error unless there is one offset for each pair, and value_error naming an offset out of range.
    void validate(const rope_config& c) const {
        cordage::validate(base, c);
        validate_pairs({"lerope: offsets size"}, offsets.size(), c);
        check_offsets("lerope", offsets);
    }

    std::vector<double> parameters() const { return offsets; }

    /// The same policy with other offsets. Throws as validate.
    lerope with_parameters(std::span<const double> numbers) const {
        expect_size("parameters", numbers.size());
        check_offsets("lerope", numbers);
        return {base, {numbers.begin(), numbers.end()}};
    }

    /// grad_parameters += grad_log_alpha, since d log alpha_i / d offset_i = 1.
    /// @throws shape_error  unless both have the size of offsets
    void log_alpha_vjp(const rope_config&, double, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        expect_size("grad_log_alpha", grad_log_alpha.size());
        expect_size("grad_parameters", grad_parameters.size());
        for (std::size_t pair = 0; pair < offsets.size(); ++pair) grad_parameters[pair] += grad_log_alpha[pair];
    }

    /// Throws value_error naming the first number that is not a valid offset; `who` begins the message.
    static void check_offsets(std::string_view who, std::span<const double> numbers) {
        for (std::size_t pair = 0; pair < numbers.size(); ++pair) {
            validate_number({who, ": offset[", pair, "]"}, numbers[pair], std::fabs(numbers[pair]) <= largest_offset,
                            {"within -", largest_offset, " ... ", largest_offset});
        }
    }

 private:
    void expect_size(const char* name, std::size_t size) const {
        if (size != offsets.size()) {
            fail<shape_error>({"lerope: ", name, " size ", size, " must be the number of offsets, ", offsets.size()});
        }
    }
};
static_assert(learned_policy<lerope<>> && has_attention_factor<lerope<>>);

/// The offsets with which lerope<Base> at base_t has the frequencies of another policy at t, for example of a CLEX,
/// whose basis at one length can then be stored as a tensor that LeRoPE hosts read:
///
///   log alpha_wanted,i(t) - log alpha_base,i(base_t)
///
/// @returns [pairs]
/// @throws value_error or shape_error  as log_alpha of either policy; value_error naming a pair that only one of the
///                      policies rotates, or if their attention factors differ, which offsets cannot change
template <scaling_policy Wanted, scaling_policy Base>
std::vector<double> lerope_offsets(const rope_config& config, const Wanted& wanted, double t, const Base& base,
                                   double base_t) {
    std::vector<double> offsets(static_cast<std::size_t>(config.pairs())), of_base(offsets.size());
    log_alpha(wanted, config, t, offsets);
    log_alpha(base, config, base_t, of_base);
    const double factor = attention_factor(wanted, config, t), base_factor = attention_factor(base, config, base_t);
    if (!(std::fabs(factor - base_factor) <= 1e-12 * std::fabs(base_factor))) {
        fail<value_error>(
            {"lerope_offsets: attention factor ", factor, " at t ", t, " must be that of the base, ", base_factor});
    }
    for (std::size_t pair = 0; pair < offsets.size(); ++pair) offsets[pair] -= of_base[pair];
    lerope<>::check_offsets("lerope_offsets", offsets);
    return offsets;
}

}  // namespace cordage
