// SPDX-License-Identifier: MIT
// The rows of the demo and of the replication study.
#include "methods.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/schedule/schedules.hpp"
#include "model/bases.hpp"

namespace demo {
namespace {

using namespace cordage;

// Laws for the t of a training step.
ratio_sampler always(double t) {
    return [t](generator&) { return t; };
}
// The paper's t': uniform in [1, t_train).
ratio_sampler uniform_ratio(double t_train) {
    return [t_train](generator& draw) { return sample_ratio(draw, t_train); };
}
// Every octave alike.
ratio_sampler uniform_octave(double t_train) {
    return [t_train](generator& draw) { return std::exp(draw_real(draw, 0.0, std::log(t_train))); };
}
// For a basis that learns on true lengths: t_train itself three times in ten, otherwise every octave alike.
ratio_sampler often_the_longest(double t_train) {
    return [t_train, octave = uniform_octave(t_train)](generator& draw) {
        const bool longest = draw_real(draw, 0.0, 1.0) < 0.3;
        const double other = octave(draw);
        return longest ? t_train : other;
    };
}

const position_sampler true_positions;
const position_sampler random_positions = [](generator& draw, const sampled_range& range) {
    return sorted_random_positions(draw, range);
};
const position_sampler even_positions = [](generator&, const sampled_range& range) { return uniform_positions(range); };
const position_sampler two_runs = [](generator& draw, const sampled_range& range) {
    return two_contiguous_runs(draw, range);
};

// The weights stay as they are.
method frozen(const std::string& name, any_policy policy, any_schedule schedule = continuous{}) {
    return {"frozen: " + name, std::move(policy), {}, std::move(schedule)};
}

// The basis alone learns, on texts of true lengths.
method frozen_learned(const std::string& name, any_policy policy, double basis_rate, ratio_sampler t) {
    const training_recipe recipe{false, 0, std::move(t), true_positions, basis_rate};
    return {name, std::move(policy), recipe};
}

// Weights learn on longer windows at one t, and are evaluated at it.
method tuned_longer(const settings& s, const std::string& name, any_policy policy, double t) {
    const training_recipe recipe{true, 4 * s.train_length, always(t), true_positions};
    return {"tuned at 4L: " + name, std::move(policy), recipe, fixed{t}};
}

// The same evaluated at max(t, length / L): what the paper calls self-extending.
method self_extending(const method& trained_at_t, double t) {
    return {trained_at_t.name + ", self-extending", trained_at_t.policy, {}, continuous{t}, trained_at_t.name};
}

// Chosen on the dev text from 0, 1e-5 and 3e-5: larger ones serve the training positions and lose long texts.
constexpr double basis_rate_beside_weights = 1e-5;

// Weights, and the basis if it is learned, on windows of `times` L whose positions reach t' L.
method tuned_to_reach(const settings& s, index_t times, const std::string& name, any_policy policy,
                      position_sampler positions) {
    const training_recipe recipe{true, times * s.train_length, uniform_ratio(s.t_train), std::move(positions),
                                 basis_rate_beside_weights};
    const std::string length = times == 1 ? "L" : std::to_string(times) + "L";
    return {"tuned at " + length + ": " + name, std::move(policy), recipe};
}
method tuned_short(const settings& s, const std::string& name, any_policy policy, position_sampler positions) {
    return tuned_to_reach(s, 1, name, std::move(policy), std::move(positions));
}

// Another row, evaluated in another way.
method evaluated(const method& other, const std::string& how, any_schedule schedule) {
    return {other.name + ", " + how, other.policy, {}, std::move(schedule), other.name};
}
method with_log_scaling(const method& other) {
    method made{other.name + ", log scaling", other.policy, {}, other.schedule, other.name};
    if (!other.training) made.starts_from.clear();
    made.has_log_scaling = true;
    return made;
}

// No rotation, and a penalty that grows with distance.
method alibi(const settings& s) {
    const masked<> at_rest{{}, std::vector<unsigned char>(static_cast<std::size_t>(s.rope().pairs()), 0)};
    method made = tuned_to_reach(s, 1, "ALiBi", at_rest, true_positions);
    made.has_alibi = true;
    return made;
}

void append(std::vector<method>& rows, std::vector<method> more) {
    std::move(more.begin(), more.end(), std::back_inserter(rows));
}

std::vector<method> closed_forms() {
    return {
        frozen("no scaling", unscaled{}),
        frozen("PI", linear{}),
        frozen("NTK-aware", ntk_aware{}),
        frozen("dynamic NTK", ntk_aware{}, dynamic{2.0}),
        frozen("base change", base_change{}),
        frozen("by parts", parts_for_short_length),
        frozen("YaRN", yarn_for_short_length),
        frozen("Llama 3", by_parts{}),
        frozen("p-RoPE", three_quarters_turning, fixed{1.0}),
    };
}

// Table 1 of the paper, and what came later.
std::vector<method> systems(const settings& s) {
    const method pi = tuned_longer(s, "PI", linear{}, 4.0), ntk = tuned_longer(s, "NTK-aware", ntk_aware{}, s.t_train);
    const auto clex_of = [&](index_t times, const std::string& name, position_sampler positions) {
        return tuned_to_reach(s, times, "CLEX + " + name, paper_clex(s), std::move(positions));
    };
    return {
        tuned_longer(s, "no scaling", unscaled{}, 1.0),
        pi,
        self_extending(pi, 4.0),
        ntk,
        self_extending(ntk, s.t_train),
        tuned_longer(s, "NTK-aware, t = 32", ntk_aware{}, 32.0),
        tuned_longer(s, "base change", base_change{}, 1.0),
        tuned_longer(s, "by parts", parts_for_short_length, s.t_train),
        tuned_longer(s, "YaRN", yarn_for_short_length, s.t_train),
        tuned_longer(s, "p-RoPE", three_quarters_turning, 1.0),
        tuned_short(s, "no scaling", unscaled{}, true_positions),
        alibi(s),
        tuned_short(s, "RandomPos", unscaled{}, random_positions),
        clex_of(1, "random positions", random_positions),
        clex_of(2, "random positions", random_positions),
        clex_of(4, "random positions", random_positions),
        clex_of(1, "two runs", two_runs),
        clex_of(4, "two runs", two_runs),
        tuned_short(s, "NTK-aware + two runs", ntk_aware{}, two_runs),
        tuned_short(s, "by parts + two runs", parts_for_short_length, two_runs),
    };
}

std::vector<method> ablations(const settings& s) {
    const method clex_two_runs = tuned_short(s, "CLEX + two runs", paper_clex(s), two_runs);
    std::vector<method> rows{
        tuned_short(s, "NTK-aware + random positions", ntk_aware{}, random_positions),
        tuned_short(s, "CLEX + true positions", paper_clex(s), true_positions),
        tuned_short(s, "CLEX + uniform positions", paper_clex(s), even_positions),
        tuned_short(s, "CLEX, lambda 2 + two runs", paper_clex(s, 2), two_runs),
        tuned_short(s, "CLEX, lambda 4 + two runs", paper_clex(s, 4), two_runs),
        tuned_short(s, "CLEX without xi + two runs", clex_without_drift(s), two_runs),
        tuned_short(s, "CLEX, released field + two runs", released_clex(s), two_runs),
        tuned_short(s, "CLEX, continuous adjoint + two runs", clex_by_continuous_adjoint(s), two_runs),
        tuned_short(s, "CLEX over by parts + two runs", paper_clex_over_parts(s), two_runs),
        tuned_short(s, "CLEX in log time over by parts + two runs", log_time_clex(s), two_runs),
        with_log_scaling(clex_two_runs),
        with_log_scaling(frozen("by parts", parts_for_short_length)),
    };
    for (const index_t kept : {1, 2, 4, 8, 16}) {
        std::vector<double> cached;
        for (index_t k = 1; k <= kept; ++k) {
            cached.push_back(s.t_train * static_cast<double>(k) / static_cast<double>(kept));
        }
        rows.push_back(evaluated(clex_two_runs, "cached t, K = " + std::to_string(kept), nearest_upper_bound(cached)));
    }
    return rows;
}

// A basis that learns alone: which form, over which prior, at which rate.
std::vector<method> learned_bases(const settings& s) {
    std::vector<method> rows;
    for (const learned_basis& basis : learned_basis_forms(s)) {
        for (const double rate : basis.rates) {
            rows.push_back(frozen_learned(row_name(basis, rate), basis.policy, rate, often_the_longest(s.t_train)));
        }
    }
    const auto in_log_time = [&](const std::string& how, ratio_sampler t) {
        return frozen_learned("frozen: CLEX in log time, " + how, log_time_clex(s), usual_basis_rate, std::move(t));
    };
    rows.push_back(in_log_time("t uniform", uniform_ratio(s.t_train)));
    rows.push_back(in_log_time("octave uniform", uniform_octave(s.t_train)));
    rows.push_back(in_log_time("t = 16 always", always(s.t_train)));
    rows.push_back(in_log_time("to 4L", often_the_longest(4.0)));
    rows.push_back(in_log_time("to 8L", often_the_longest(8.0)));
    rows.push_back(in_log_time("three times the steps", often_the_longest(s.t_train)));
    rows.back().training->times_steps = 3;

    const std::string tuned = "tuned at L: by parts + two runs";
    for (const std::string& name : {std::string("CLEX in log time"), std::string("learned table")}) {
        method then_learned = find(rows, "frozen: " + name);
        then_learned.name = tuned + ", then frozen: " + name;
        then_learned.starts_from = tuned;
        rows.push_back(then_learned);
    }
    const method& whole = find(rows, "frozen: CLEX in log time");
    for (index_t pair = 0; pair < s.rope().pairs(); ++pair) {
        rows.push_back(whole);
        rows.back().name += ", pair " + std::to_string(pair) + " alone";
        rows.back().policy = one_learned_pair(whole.policy, pair);
        rows.back().training.reset();
        rows.back().starts_from = whole.name;
    }
    return rows;
}

}  // namespace

std::string method::file_name() const {
    std::string made;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            made.push_back(c);
        } else if (!made.empty() && made.back() != '_') {
            made.push_back('_');
        }
    }
    return made;
}

const method& find(const std::vector<method>& rows, const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const method& m) { return m.name == name; });
    if (found == rows.end()) throw std::runtime_error("demo: no method is called '" + name + "'");
    return *found;
}

std::vector<method> all_methods(const settings& s) {
    std::vector<method> rows = closed_forms();
    append(rows, systems(s));
    append(rows, ablations(s));
    append(rows, learned_bases(s));
    return rows;
}

std::vector<method> demo_methods(const settings& s) {
    const std::vector<method> all = all_methods(s);
    std::vector<method> rows;
    for (const char* name :
         {"frozen: no scaling", "frozen: PI", "frozen: NTK-aware", "frozen: by parts", "frozen: learned table",
          "frozen: CLEX in log time", "tuned at 4L: no scaling", "tuned at 4L: NTK-aware",
          "tuned at L: CLEX + random positions", "tuned at L: CLEX + two runs", "tuned at L: NTK-aware + two runs"}) {
        rows.push_back(find(all, name));
    }
    return rows;
}

method pretraining(const settings& s) {
    const training_recipe recipe{true, s.train_length, always(1.0), true_positions};
    return {"pretraining", unscaled{}, recipe};
}

}  // namespace demo
