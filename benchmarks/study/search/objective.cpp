// SPDX-License-Identifier: MIT
// The trials of a search.
#include "search/objective.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <utility>

#include "cordage/core/error.hpp"

namespace demo {

using cordage::fail;
using cordage::value_error;

const trial& search_result::best() const {
    return *std::min_element(trials.begin(), trials.end(),
                             [](const trial& a, const trial& b) { return a.loss < b.loss; });
}

void write_trials(std::ostream& out, const search_result& r, const std::vector<std::string>& names) {
    out << "trial,loss";
    for (const std::string& name : names) out << ',' << name;
    for (std::size_t i = 0; i < r.trials.size(); ++i) {
        out << '\n' << i << ',' << cordage::digits_of(r.trials[i].loss);
        for (const double x : r.trials[i].point) out << ',' << cordage::digits_of(x);
    }
    out << '\n';
}

trial_recorder::trial_recorder(const objective& what, index_t budget) : what_(what), budget_(budget) {
    if (what.token_forwards < 1) fail<value_error>({"search: token_forwards ", what.token_forwards, " must be >= 1"});
    if (budget < what.token_forwards) {
        fail<value_error>(
            {"search: budget ", budget, " must be >= ", what.token_forwards, ", the token-forwards of one evaluation"});
    }
}

bool trial_recorder::has_tried(std::span<const double> point) const {
    return std::any_of(done_.trials.begin(), done_.trials.end(),
                       [&](const trial& t) { return std::equal(t.point.begin(), t.point.end(), point.begin()); });
}

const trial& trial_recorder::evaluate(std::vector<double> point) {
    CORDAGE_ASSERT(left() >= 1);
    const double loss = what_.loss(point);
    done_.token_forwards += what_.token_forwards;
    done_.trials.push_back({std::move(point), std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss});
    return done_.trials.back();
}

}  // namespace demo
