// SPDX-License-Identifier: MIT
// From observations to samples.
#include "statistics/results.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "cordage/core/error.hpp"

namespace demo {
namespace {

using cordage::fail;
using cordage::in_quotes;
using cordage::value_error;
using seed_list = std::vector<std::uint64_t>;

auto question(const observation& o) { return std::tuple(o.what, o.length, o.window, o.distance); }

std::string named(const row_result& r) { return cordage::message("row ", in_quotes(r.row), " of seed ", r.seed); }

bool is_at(const observation& o, const place& where) {
    return o.what == where.what && o.length == where.length && o.distance >= where.shortest &&
           o.distance < where.longest;
}

void require_same_questions(const row_result& first, const row_result& r) {
    const bool same =
        std::equal(r.observations.begin(), r.observations.end(), first.observations.begin(), first.observations.end(),
                   [](const observation& a, const observation& b) { return question(a) == question(b); });
    if (!same) {
        fail<value_error>({"study: windows and distances of ", named(r), " must be those of ", named(first),
                           "; evaluate both on the same windows"});
    }
}

}  // namespace

study_results::study_results(std::vector<row_result> results) : results_(std::move(results)) {
    if (results_.empty()) fail<value_error>({"study: there must be one result or more"});
    for (row_result& r : results_) {
        std::stable_sort(r.observations.begin(), r.observations.end(),
                         [](const observation& a, const observation& b) { return question(a) < question(b); });
        require_same_questions(results_.front(), r);
        const auto same = [&](const row_result& other) { return other.row == r.row && other.seed == r.seed; };
        if (std::count_if(results_.begin(), results_.end(), same) > 1) {
            fail<value_error>({"study: ", named(r), " must be there once"});
        }
        if (std::find(rows_.begin(), rows_.end(), r.row) == rows_.end()) rows_.push_back(r.row);
    }
    for (const observation& o : results_.front().observations) lengths_.push_back(o.length);
    std::sort(lengths_.begin(), lengths_.end());
    lengths_.erase(std::unique(lengths_.begin(), lengths_.end()), lengths_.end());
}

seed_list study_results::seeds(const std::string& row) const {
    seed_list found;
    for (const row_result& r : results_) {
        if (r.row == row) found.push_back(r.seed);
    }
    if (found.empty()) fail<value_error>({"study: no row is called ", in_quotes(row)});
    std::sort(found.begin(), found.end());
    return found;
}

seed_list study_results::common_seeds(const std::string& first, const std::string& second) const {
    const seed_list a = seeds(first), b = seeds(second);
    seed_list common;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
    if (common.empty()) {
        fail<value_error>(
            {"study: rows ", in_quotes(first), " and ", in_quotes(second), " must have a model in common"});
    }
    return common;
}

bool study_results::has(const place& where) const {
    const std::vector<observation>& observed = results_.front().observations;
    return std::any_of(observed.begin(), observed.end(), [&](const observation& o) { return is_at(o, where); });
}

bool study_results::has_row(const std::string& row) const {
    return std::find(rows_.begin(), rows_.end(), row) != rows_.end();
}

bool study_results::can_compare(const std::string& first, const std::string& second) const {
    if (!has_row(first) || !has_row(second)) return false;
    const seed_list a = seeds(first), b = seeds(second);
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

const row_result& study_results::of(const std::string& row, std::uint64_t seed) const {
    const auto found = std::find_if(results_.begin(), results_.end(),
                                    [&](const row_result& r) { return r.row == row && r.seed == seed; });
    if (found == results_.end()) fail<value_error>({"study: no row is called ", in_quotes(row), " of seed ", seed});
    return *found;
}

sample study_results::sample_of(const std::string& row, const place& where, const seed_list& of_seeds) const {
    std::vector<index_t> windows;
    for (const observation& o : results_.front().observations) {
        if (o.what == where.what && o.length == where.length) windows.push_back(o.window);
    }
    windows.erase(std::unique(windows.begin(), windows.end()), windows.end());  // they are in order
    if (!has(where)) {
        fail<value_error>({"study: nothing was observed of ", name_of(where.what), " at length ", where.length,
                           ", distances ", where.shortest, " ... ", where.longest});
    }
    sample made(static_cast<index_t>(of_seeds.size()), static_cast<index_t>(windows.size()));
    for (std::size_t m = 0; m < of_seeds.size(); ++m) {
        for (const observation& o : of(row, of_seeds[m]).observations) {
            if (!is_at(o, where)) continue;
            const auto window = std::lower_bound(windows.begin(), windows.end(), o.window) - windows.begin();
            cell& c = made.at(static_cast<index_t>(m), window);
            c.sum += o.value;
            c.count += 1.0;
        }
    }
    return made;
}

estimate study_results::mean(const std::string& row, const place& where) const {
    return estimated(sample_of(row, where, seeds(row)));
}

double study_results::mean_of_model(const std::string& row, const place& where, std::uint64_t seed) const {
    return sample_of(row, where, {seed}).mean();
}

estimate study_results::difference(const std::string& first, const std::string& second, const place& where) const {
    const seed_list common = common_seeds(first, second);
    return estimated(paired_difference(sample_of(first, where, common), sample_of(second, where, common)));
}

estimate study_results::difference(const std::string& first, const place& first_place, const std::string& second,
                                   const place& second_place) const {
    const seed_list common = common_seeds(first, second);
    return estimated_difference(sample_of(first, first_place, common), sample_of(second, second_place, common));
}

study_results::ahead study_results::models_ahead(const std::string& first, const std::string& second,
                                                 const place& where) const {
    ahead found{0, 0};
    for (const std::uint64_t seed : common_seeds(first, second)) {
        ++found.of;
        if (mean_of_model(first, where, seed) > mean_of_model(second, where, seed)) ++found.models;
    }
    return found;
}

study_results::discordant study_results::discordant_matches(const std::string& first, const std::string& second,
                                                            index_t length) const {
    discordant found{0, 0};
    const place where{measure::match, length};
    for (const std::uint64_t seed : common_seeds(first, second)) {
        const std::vector<observation>&a = of(first, seed).observations, &b = of(second, seed).observations;
        for (std::size_t i = 0; i < a.size(); ++i) {  // the same questions in the same order
            if (!is_at(a[i], where)) continue;
            if (a[i].value > b[i].value) ++found.first;
            if (a[i].value < b[i].value) ++found.second;
        }
    }
    return found;
}

reach study_results::reach_of(const std::string& row, std::optional<std::uint64_t> seed) const {
    std::vector<double> lengths, matches;
    for (const index_t length : lengths_) {
        const place where{measure::match, length};
        if (!has(where)) continue;
        lengths.push_back(static_cast<double>(length));
        matches.push_back(sample_of(row, where, seed ? seed_list{*seed} : seeds(row)).mean());
    }
    for (std::size_t i = lengths.size(); i-- > 0;) {
        if (matches[i] < 0.5) continue;
        if (i + 1 == lengths.size()) return {lengths[i], true};
        const double share = (matches[i] - 0.5) / (matches[i] - matches[i + 1]);
        return {lengths[i] * std::pow(lengths[i + 1] / lengths[i], share), false};
    }
    return {0.0, false};
}

}  // namespace demo
