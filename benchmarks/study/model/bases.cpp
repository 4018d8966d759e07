// SPDX-License-Identifier: MIT
// Making the bases that learn.
#include "model/bases.hpp"

#include <utility>

#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "report/formatted.hpp"

namespace demo {
namespace {

using namespace cordage;

template <class Field>
any_policy clex_over(const settings& s, const typename Field::prior_type& prior, index_t lambda = 1,
                     clex_options options = {}) {
    options.t_max = s.t_train;
    return clex<Field>(s.rope(), clex_initial_weights(s.rope(), lambda, s.seed), options, prior);
}

// Fields in t itself integrate over 15 units of it, in log t over 2.8: the same step of their weights moves them
// further.
constexpr std::array usual_rates{1e-3, 3e-3, 1e-2}, rates_of_t{3e-5, 1e-4, 3e-4};

template <class Prior>
void add_forms(std::vector<learned_basis>& forms, const settings& s, const Prior& prior, const std::string& over) {
    forms.push_back({"learned table" + over, learned_table<Prior>(s.rope(), {2, 4, 8, 16}, prior), usual_rates});
    forms.push_back({"CLEX in log time" + over, clex_over<log_time_field<Prior>>(s, prior), usual_rates});
    forms.push_back({"CLEX, paper's field" + over, clex_over<paper_field<Prior>>(s, prior), rates_of_t});
}

struct one_pair {
    any_policy learned;
    by_parts others;
    index_t pair;

    void log_alpha(const rope_config& c, double t, std::span<double> out) const {
        learned.log_alpha(c, t, out);
        put_others(out, [&](index_t i) { return others.log_alpha(c, i, t); });
    }
    void log_alpha_rate(const rope_config& c, double t, std::span<double> out) const {
        learned.log_alpha_rate(c, t, out);
        put_others(out, [&](index_t i) { return others.log_alpha_rate(c, i, t); });
    }
    std::vector<double> parameters() const { return learned.parameters(); }
    one_pair with_parameters(std::span<const double> numbers) const {
        return {learned.with_parameters(numbers), others, pair};
    }
    void log_alpha_vjp(const rope_config& c, double t, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        std::vector<double> grad(grad_log_alpha.size());
        grad[static_cast<std::size_t>(pair)] = grad_log_alpha[static_cast<std::size_t>(pair)];
        learned.log_alpha_vjp(c, t, grad, grad_parameters);
    }

 private:
    template <class Value>
    void put_others(std::span<double> out, const Value& value) const {
        for (std::size_t i = 0; i < out.size(); ++i) {
            if (i != static_cast<std::size_t>(pair)) out[i] = value(static_cast<index_t>(i));
        }
    }
};

}  // namespace

std::string parts_in_words() {
    return formatted("`by_parts{%g, %g}`", parts_for_short_length.rotations_low, parts_for_short_length.rotations_high);
}

any_policy paper_clex(const settings& s, index_t lambda) { return clex_over<paper_field<>>(s, {}, lambda); }

any_policy clex_without_drift(const settings& s) { return clex_over<paper_field<unscaled>>(s, {}); }

any_policy clex_by_continuous_adjoint(const settings& s) {
    return clex_over<paper_field<>>(s, {}, 1, {.continuous_adjoint = tolerance{1e-8, 1e-8}});
}

any_policy paper_clex_over_parts(const settings& s) {
    return clex_over<paper_field<by_parts>>(s, parts_for_short_length);
}

any_policy released_clex(const settings& s) {
    return clex_released<>(s.rope(), clex_initial_weights(s.rope(), 1, s.seed), released_options(s.t_train, 0.01));
}

any_policy log_time_clex(const settings& s) { return clex_over<log_time_field<by_parts>>(s, parts_for_short_length); }

std::vector<learned_basis> learned_basis_forms(const settings& s) {
    std::vector<learned_basis> forms;
    add_forms(forms, s, parts_for_short_length, "");
    add_forms(forms, s, ntk_aware{}, " over NTK-aware");
    add_forms(forms, s, by_parts{}, " over Llama 3");
    forms.push_back({"CLEX, released field", released_clex(s), rates_of_t});
    return forms;
}

std::string row_name(const learned_basis& form, double rate) {
    return "frozen: " + form.name + (rate == usual_basis_rate ? "" : formatted(", rate %g", rate));
}

any_policy one_learned_pair(const any_policy& learned, index_t pair) {
    return one_pair{learned, parts_for_short_length, pair};
}

}  // namespace demo
