// SPDX-License-Identifier: MIT
// The table of methods.
#include "methods.hpp"

#include <cctype>
#include <cmath>

#include "cordage/clex/clex.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/linear.hpp"
#include "cordage/scaling/ntk_aware.hpp"
#include "cordage/scaling/unscaled.hpp"

namespace demo {
namespace {

ratio_sampler always(double t) {
    return [t](generator&) { return t; };
}

// The paper's t': uniform in [1, t_train).
ratio_sampler uniform_ratio(double t_train) {
    return [t_train](generator& draw) { return cordage::sample_ratio(draw, t_train); };
}

// For a basis that learns on true lengths: t_train itself three times in ten, otherwise every octave alike.
ratio_sampler often_the_longest(double t_train) {
    return [t_train](generator& draw) {
        const bool longest = cordage::draw_real(draw, 0.0, 1.0) < 0.3;
        const double octave = cordage::draw_real(draw, 0.0, std::log(t_train));
        return longest ? t_train : std::exp(octave);
    };
}

const position_sampler true_positions;
const position_sampler random_positions = [](generator& draw, const cordage::sampled_range& range) {
    return cordage::sorted_random_positions(draw, range);
};
const position_sampler two_runs = [](generator& draw, const cordage::sampled_range& range) {
    return cordage::two_contiguous_runs(draw, range);
};

method frozen(const std::string& name, cordage::any_policy policy) {
    return {"frozen: " + name, std::move(policy), {}, 1.0, {}};
}

method frozen_learned(const settings& s, const std::string& name, cordage::any_policy policy, double basis_rate,
                      std::vector<std::string> compared_with) {
    const training_recipe recipe{false, 0, often_the_longest(s.t_train), true_positions, basis_rate};
    return {"frozen: " + name, std::move(policy), recipe, 1.0, std::move(compared_with)};
}

method tuned_longer(const settings& s, const std::string& name, cordage::any_policy policy, double t) {
    const training_recipe recipe{true, 4 * s.train_length, always(t), true_positions};
    return {"tuned at 4L: " + name, std::move(policy), recipe, t, {}};
}

// Chosen on the dev text from 0, 1e-5 and 3e-5: larger ones serve the training positions and lose long texts.
constexpr double basis_rate_beside_weights = 1e-5;

method tuned_short(const settings& s, const std::string& name, cordage::any_policy policy, position_sampler positions,
                   std::vector<std::string> compared_with) {
    const training_recipe recipe{true, s.train_length, uniform_ratio(s.t_train), std::move(positions),
                                 basis_rate_beside_weights};
    return {"tuned at L: " + name, std::move(policy), recipe, 1.0, std::move(compared_with)};
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

std::vector<method> methods(const settings& s) {
    using namespace cordage;
    const rope_config config = s.rope();
    const by_parts parts{0.5, 4.0};  // YaRN's ramp of 1 to 32 rotations does not suit so short an L
    const learned_table<by_parts> table(config, {2, 4, 8, 16}, parts);
    const clex_options solver{.t_max = s.t_train};
    const clex_weights beginning = clex_initial_weights(config, 1, s.seed);
    return {
        frozen("no scaling", unscaled{}),
        frozen("PI", linear{}),
        frozen("NTK-aware", ntk_aware{}),
        frozen("by parts", parts),
        frozen_learned(s, "learned table", table, 1e-3, {"frozen: by parts"}),
        frozen_learned(s, "CLEX in log time", clex<by_parts, log_time>(config, beginning, solver, parts), 1e-3,
                       {"frozen: by parts", "frozen: learned table"}),
        tuned_longer(s, "no scaling", unscaled{}, 1.0),
        tuned_longer(s, "NTK-aware", ntk_aware{}, s.t_train),
        tuned_short(s, "CLEX + random positions", clex<ntk_aware, paper_time>(config, beginning, solver),
                    random_positions, {"tuned at L: CLEX + two runs", "tuned at 4L: no scaling"}),
        tuned_short(s, "CLEX + two runs", clex<ntk_aware, paper_time>(config, beginning, solver), two_runs,
                    {"tuned at L: NTK-aware + two runs", "tuned at 4L: no scaling"}),
        tuned_short(s, "NTK-aware + two runs", ntk_aware{}, two_runs, {"tuned at 4L: no scaling"}),
    };
}

method pretraining(const settings& s) {
    const training_recipe recipe{true, s.train_length, always(1.0), true_positions};
    return {"pretraining", cordage::unscaled{}, recipe, 1.0, {}};
}

}  // namespace demo
