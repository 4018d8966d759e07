// SPDX-License-Identifier: MIT
// Selects the template arguments of clex by name.
#include "clex_model.hpp"

#include <cmath>
#include <list>
#include <mutex>
#include <utility>
#include <variant>

#include "cordage/clex/clex.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"

namespace cordage_torch {

namespace {

using cordage::index_t;
using cordage::message;
using cordage::rope_config;
using cordage::value_error;

/// One type for all priors, so that the solvers are compiled once.
struct any_prior {
    std::variant<cordage::ntk_aware, cordage::linear, cordage::yarn, cordage::by_parts> held;

    double log_alpha(const rope_config& c, index_t pair, double t) const {
        return std::visit([&](const auto& p) { return p.log_alpha(c, pair, t); }, held);
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return std::visit([&](const auto& p) { return p.log_alpha_rate(c, pair, t); }, held);
    }
    double attention_factor(const rope_config& c, double t) const {
        return std::visit([&](const auto& p) { return cordage::attention_factor(p, c, t); }, held);
    }
    double attention_factor_rate(const rope_config& c, double t) const {
        return std::visit([&](const auto& p) { return cordage::attention_factor_rate(p, c, t); }, held);
    }
    void validate(const rope_config& c) const {
        std::visit([&](const auto& p) { cordage::validate(p, c); }, held);
    }
};
static_assert(cordage::scaling_policy<any_prior> && cordage::prior_policy<any_prior>);

any_prior prior_of(const clex_settings& s) {
    const std::vector<double>& numbers = s.prior_numbers;
    const auto check_count = [&](bool takes_two) {
        if (!numbers.empty() && !(takes_two && numbers.size() == 2)) {
            throw value_error(message("CLEX: prior '", s.prior, "' with ", numbers.size(), " numbers must have ",
                                      takes_two ? "none or 2" : "none"));
        }
        return !numbers.empty();
    };
    if (s.prior == "ntk_aware") return check_count(false), any_prior{cordage::ntk_aware{}};
    if (s.prior == "linear") return check_count(false), any_prior{cordage::linear{}};
    if (s.prior == "yarn") {
        cordage::yarn yarn;
        if (check_count(true)) yarn.beta_fast = numbers[0], yarn.beta_slow = numbers[1];
        return {yarn};
    }
    if (s.prior == "by_parts") {
        return {check_count(true) ? cordage::by_parts{numbers[0], numbers[1]} : cordage::by_parts{}};
    }
    throw value_error(message("CLEX: prior '", s.prior, "' must be 'ntk_aware', 'linear', 'yarn' or 'by_parts'"));
}

template <class Clex>
class model_of final : public clex_model {
 public:
    explicit model_of(Clex clex) : clex_(std::move(clex)) {}

    double inv_freq(double t, std::span<double> out) const override {
        clex_.log_alpha(clex_.config(), t, out);
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = std::exp(out[i]) * clex_.config().inv_freq(static_cast<index_t>(i));
        }
        return clex_.attention_factor(clex_.config(), t);
    }

    std::vector<double> weight_gradient(std::span<const double> ts, std::span<const double> grads) const override {
        const auto pairs = static_cast<std::size_t>(clex_.config().pairs());
        std::vector<double> grad_log(grads.begin(), grads.end()), at_t(pairs);
        std::vector<cordage::clex_seed> seeds;
        for (std::size_t i = 0; i < ts.size(); ++i) {
            inv_freq(ts[i], at_t);
            const auto mine = std::span(grad_log).subspan(i * pairs, pairs);
            for (std::size_t pair = 0; pair < pairs; ++pair) mine[pair] *= at_t[pair];
            seeds.push_back({ts[i], mine});
        }
        return clex_.gradient(seeds).parameters;
    }

 private:
    Clex clex_;
};

template <class Activation>
std::shared_ptr<const clex_model> solve(const clex_settings& s, const cordage::clex_weights& weights) {
    const cordage::clex_options options{
        .t_max = s.t_max, .tolerance = {s.tolerance, s.tolerance}, .step_size = s.step_size};
    const any_prior prior = prior_of(s);
    const auto held = [](auto clex) { return std::make_shared<const model_of<decltype(clex)>>(std::move(clex)); };
    if (s.field == "paper") {
        return held(cordage::clex<cordage::paper_field<any_prior, Activation>>(s.config, weights, options, prior));
    }
    if (s.field == "log_length") {
        return held(cordage::clex<cordage::log_length_field<any_prior, Activation>>(s.config, weights, options, prior));
    }
    if (s.field != "released") {
        throw value_error(message("CLEX: field '", s.field, "' must be 'paper', 'log_length' or 'released'",
                                  s.field == "log_time" ? "; 'log_length' is 'log_time' in other units: "
                                                          "docs/upgrading.md has the factors of the weights"
                                                        : ""));
    }
    if (s.prior != "ntk_aware") {
        throw value_error(message("CLEX: prior '", s.prior, "' must be 'ntk_aware' where field is 'released'"));
    }
    return held(cordage::clex_released<Activation>(s.config, weights, options));
}

std::shared_ptr<const clex_model> solve(const clex_settings& s, const cordage::clex_weights& weights) {
    if (s.activation == "silu") return solve<cordage::silu>(s, weights);
    if (s.activation == "tanh") return solve<cordage::tanh_activation>(s, weights);
    throw value_error(message("CLEX: activation '", s.activation, "' must be 'silu' or 'tanh'"));
}

}  // namespace

std::shared_ptr<const clex_model> solved_clex(const clex_settings& settings, const cordage::clex_weights& weights) {
    struct solution {
        clex_settings settings;
        cordage::clex_weights weights;
        std::shared_ptr<const clex_model> model;
    };
    constexpr std::size_t most = 8;
    static std::mutex mutex;
    static std::list<solution> latest;
    {
        const std::lock_guard lock(mutex);
        for (auto it = latest.begin(); it != latest.end(); ++it) {
            if (it->settings == settings && it->weights == weights) {
                latest.splice(latest.begin(), latest, it);
                return it->model;
            }
        }
    }
    auto model = solve(settings, weights);
    const std::lock_guard lock(mutex);
    latest.push_front({settings, weights, model});
    if (latest.size() > most) latest.pop_back();
    return model;
}

}  // namespace cordage_torch
