// SPDX-License-Identifier: MIT
// Evolution in which a point's first numbers stay in order.
#include "search/monotone_evolution.hpp"

#include <algorithm>
#include <random>

#include "cordage/core/error.hpp"
#include "cordage/positions/sampler.hpp"

namespace demo {
namespace {

using cordage::draw_below;
using cordage::draw_real;
using cordage::fail;
using cordage::validate_finite;
using cordage::value_error;

void validate(const evolution_options& o) {
    if (o.starts.empty()) fail<value_error>({"search_monotone: starts must have a point or more"});
    const auto size = static_cast<index_t>(o.starts.front().size());
    if (o.ordered < 1 || o.ordered > size) {
        fail<value_error>(
            {"search_monotone: ordered ", o.ordered, " must be in 1 ... ", size, ", the size of a start"});
    }
    validate_finite({"search_monotone: lowest"}, o.lowest);
    cordage::validate_number({"search_monotone: highest"}, o.highest, o.highest > o.lowest, {"> lowest ", o.lowest});
    cordage::validate_positive({"search_monotone: reach"}, o.reach);
    cordage::validate_number({"search_monotone: mutation_share"}, o.mutation_share,
                             o.mutation_share > 0.0 && o.mutation_share <= 1.0, {"in (0, 1]"});
    if (o.parents < 1 || o.parents > o.population) {
        fail<value_error>({"search_monotone: parents ", o.parents, " must be in 1 ... population ", o.population});
    }
    for (std::size_t s = 0; s < o.starts.size(); ++s) {
        const std::vector<double>& start = o.starts[s];
        if (static_cast<index_t>(start.size()) != size) {
            fail<value_error>(
                {"search_monotone: starts[", s, "] size ", start.size(), " must be ", size, " as that of starts[0]"});
        }
        for (std::size_t i = 0; i < start.size(); ++i) {
            const bool is_ordered = static_cast<index_t>(i) < o.ordered;
            const double below = is_ordered && i > 0 ? start[i - 1] : o.lowest;
            cordage::validate_number({"search_monotone: starts[", s, "][", i, "]"}, start[i],
                                     !is_ordered || (start[i] >= below && start[i] <= o.highest),
                                     {"in ", below, " ... ", o.highest});
        }
    }
}

class evolution {
 public:
    explicit evolution(const evolution_options& options) : o_(options), generator_(options.seed) {}

    std::vector<double> mutated(std::vector<double> point) {
        for (std::size_t i = 0; i < point.size(); ++i) {
            if (draw_real(generator_, 0.0, 1.0) >= o_.mutation_share) continue;
            point[i] += draw_real(generator_, -o_.reach, o_.reach);
            if (static_cast<index_t>(i) < o_.ordered) point[i] = std::clamp(point[i], o_.lowest, o_.highest);
        }
        return in_order(std::move(point));
    }
    // Each number from one of the two.
    std::vector<double> crossed(std::vector<double> point, const std::vector<double>& other) {
        for (std::size_t i = 0; i < point.size(); ++i) {
            if (draw_below(generator_, 2) == 1) point[i] = other[i];
        }
        return in_order(std::move(point));
    }
    const trial& any_of(const std::vector<trial>& parents) { return parents[draw_below(generator_, parents.size())]; }

 private:
    std::vector<double> in_order(std::vector<double> point) const {
        std::sort(point.begin(), point.begin() + o_.ordered);
        return point;
    }

    const evolution_options& o_;
    std::mt19937_64 generator_;
};

}  // namespace

search_result search_monotone(const objective& what, const evolution_options& options, index_t budget) {
    trial_recorder trials(what, budget);
    validate(options);
    evolution random(options);
    std::vector<trial> population;
    const auto add = [&](std::vector<double> point) {
        if (trials.left() > 0) population.push_back(trials.evaluate(std::move(point)));
    };
    for (const std::vector<double>& start : options.starts) add(start);
    for (std::size_t i = 0; static_cast<index_t>(population.size()) < options.population && trials.left() > 0; ++i) {
        add(random.mutated(options.starts[i % options.starts.size()]));
    }
    while (trials.left() > 0) {
        std::stable_sort(population.begin(), population.end(),
                         [](const trial& a, const trial& b) { return a.loss < b.loss; });
        population.resize(std::min(population.size(), static_cast<std::size_t>(options.parents)));
        const std::vector<trial> parents = population;
        for (index_t i = 0; i < options.population; ++i) {
            const trial& first = random.any_of(parents);
            std::vector<double> child =
                i % 2 == 0 ? random.mutated(first.point) : random.crossed(first.point, random.any_of(parents).point);
            add(trials.has_tried(child) ? random.mutated(child) : child);
        }
    }
    return trials.done();
}

}  // namespace demo
