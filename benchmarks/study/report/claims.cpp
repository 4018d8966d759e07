// SPDX-License-Identifier: MIT
// From intervals to verdicts.
#include "report/claims.hpp"

#include <algorithm>

#include "report/formatted.hpp"
#include "report/markdown.hpp"
#include "statistics/tests.hpp"

namespace demo {
namespace {

bool is_run(const claim& c, const study_results& results) {
    return c.against.empty() ? results.has_row(c.row) : results.can_compare(c.row, c.against);
}

place place_of(measure what, index_t ratio, index_t trained) { return {what, ratio * trained}; }

estimate estimated(const claim& c, const expectation& part, const study_results& results, index_t trained) {
    const place here = place_of(part.what, part.ratio, trained);
    if (c.against.empty()) return results.mean(c.row, here);
    if (part.other_ratio == 0) return results.difference(c.row, c.against, here);
    return results.difference(c.row, here, c.against, place_of(part.what, part.other_ratio, trained));
}

std::string in_lengths(index_t ratio) { return ratio == 1 ? "L" : formatted("%ldL", static_cast<long>(ratio)); }

std::string said_measure(measure what) {
    switch (what) {
        case measure::match:
            return "match";
        case measure::copy_loss:
            return "copy loss";
        case measure::value_loss:
            return "value loss";
        case measure::plain_loss:
            return "plain loss";
        default:
            return "copied tokens guessed";
    }
}

std::string said_bound(const expectation& part) {
    return formatted(" (%s %.2g)", part.expected == side::above ? "above" : "below", part.bound);
}

std::string said_part(const claim& c, const expectation& part, const estimate& e, index_t all_models) {
    std::string text = said_measure(part.what) + " at " + in_lengths(part.ratio);
    if (part.other_ratio != 0) text += " − " + in_lengths(part.other_ratio);
    text += ": " + (c.against.empty() ? said(e, 3) : said_with_sign(e, 3));
    if (c.against.empty() || part.bound != 0.0) text += said_bound(part);
    if (e.models < all_models)
        text += formatted(", %ld model%s", static_cast<long>(e.models), e.models == 1 ? "" : "s");
    return text;
}

std::string said_rows(const claim& c) {
    return c.against.empty() || c.against == c.row ? c.row : c.row + " − " + c.against;
}

index_t models_of(const study_results& results) {
    std::size_t most = 0;
    for (const std::string& row : results.rows()) most = std::max(most, results.seeds(row).size());
    return static_cast<index_t>(most);
}

// Two-sided, for the hypothesis that the mean is the bound.
double p_of(const estimate& e, double bound) {
    if (e.half_width == 0.0) return e.mean == bound ? 1.0 : 0.0;
    return two_sided_p((e.mean - bound) * student_t(0.05, e.degrees) / e.half_width, e.degrees);
}

}  // namespace

std::string said(verdict v) {
    switch (v) {
        case verdict::supported:
            return "supported";
        case verdict::refuted:
            return "refuted";
        default:
            return "inconclusive";
    }
}

verdict verdict_of(const estimate& e, side expected, double bound) {
    const bool is_above = e.low() > bound, is_below = e.high() < bound;
    if (!is_above && !is_below) return verdict::inconclusive;
    return is_above == (expected == side::above) ? verdict::supported : verdict::refuted;
}

std::optional<finding> found(const claim& c, const study_results& results, index_t trained) {
    if (!is_run(c, results)) return {};
    // All parts must be supported, so each is tested as it is; any part refutes, so these tests are corrected.
    finding made{verdict::supported, {}};
    std::vector<double> p;
    for (const expectation& part : c.parts) {
        const estimate& e = made.parts.emplace_back(estimated(c, part, results, trained));
        const verdict alone = verdict_of(e, part.expected, part.bound);
        if (alone != verdict::supported) made.all = verdict::inconclusive;
        p.push_back(alone == verdict::refuted ? p_of(e, part.bound) : 1.0);
    }
    if (std::ranges::any_of(holm_corrected(p), [](double each) { return each < 0.05; })) made.all = verdict::refuted;
    return made;
}

claim_counts counted(const std::vector<claim_group>& groups, const study_results& results, index_t trained) {
    claim_counts counts;
    for (const claim_group& group : groups) {
        for (const claim& c : group.claims) {
            const std::optional<finding> came_out = found(c, results, trained);
            ++(!came_out                                ? counts.not_run
               : came_out->all == verdict::supported    ? counts.supported
               : came_out->all == verdict::inconclusive ? counts.inconclusive
                                                        : counts.refuted);
        }
    }
    return counts;
}

std::string claims_in_markdown(const std::vector<claim_group>& groups, const study_results& results, index_t trained,
                               const std::string& heading) {
    const index_t all_models = models_of(results);
    std::string text, not_run;
    for (const claim_group& group : groups) {
        std::vector<table_line> lines;
        for (const claim& c : group.claims) {
            const std::optional<finding> came_out = found(c, results, trained);
            if (!came_out) {
                not_run += "\n- " + c.text + " *(" + said_rows(c) + ")*";
                continue;
            }
            std::string cell;
            for (std::size_t i = 0; i < c.parts.size(); ++i) {
                cell += (i == 0 ? "" : "<br>") + said_part(c, c.parts[i], came_out->parts[i], all_models);
            }
            lines.push_back({c.text, {said_rows(c), cell, "**" + said(came_out->all) + "**"}});
        }
        if (lines.empty()) continue;
        text += heading + " " + group.title + "\n\n" +
                markdown_table({"claim", "rows", "result, 95 % interval", "verdict"}, lines) + "\n";
    }
    const claim_counts counts = counted(groups, results, trained);
    text += formatted("Claims supported: %d, inconclusive: %d, refuted: %d, not run: %d.\n", counts.supported,
                      counts.inconclusive, counts.refuted, counts.not_run);
    return text + (not_run.empty() ? "" : "Not run:\n" + not_run + "\n");
}

}  // namespace demo
