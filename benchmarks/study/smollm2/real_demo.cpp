// SPDX-License-Identifier: MIT
// The parts in order, two processes at a time.
#include "smollm2/real_demo.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

#include "../../../examples/own_methods/longrope_parameters.hpp"
#include "report/formatted.hpp"
#include "runner/files.hpp"
#include "runner/programs.hpp"
#include "smollm2/llama_config.hpp"
#include "smollm2/measures.hpp"
#include "smollm2/real_report.hpp"

namespace demo {
namespace {

// From the fastest machine to the slowest; the last is the trial's.
constexpr std::array<real_amount, 5> amounts{{{16384, 3, 8, 4, 16, 48},
                                              {16384, 2, 8, 4, 16, 32},
                                              {12288, 2, 6, 4, 14, 24},
                                              {12288, 2, 4, 4, 12, 24},
                                              {2048, 2, 2, 1, 2, 2}}};
constexpr std::size_t trial_level = amounts.size() - 1;
constexpr double seconds_wanted = 400.0;

// Costs in units of a block of tokens without attention to earlier ones.
double cost_of_document(const real_amount& a) {
    const auto n = static_cast<double>(a.window);
    return n / static_cast<double>(block_tokens) * (1.0 + n / 8000.0);
}
double cost_of_chunks(index_t windows, index_t keys) {
    return static_cast<double>(windows) * (0.8 + 0.06 * static_cast<double>(keys));
}

const rule& rule_of(const std::vector<rule>& rules, const std::string& job) {
    const auto found = std::ranges::find(rules, job, &rule::job);
    if (found == rules.end()) throw std::runtime_error("demo: no rule is called '" + job + "'");
    return *found;
}

std::string chunks_of(const std::string& job, index_t context) {
    return formatted("chunks_%ld_%s", static_cast<long>(context), job.c_str());
}

constexpr std::array document_rows{job_of_rule::unscaled, job_of_rule::yarn, job_of_rule::by_parts};
constexpr std::array table_rows{job_of_rule::unscaled, job_of_rule::by_parts, job_of_rule::table};

// What a part's result depends on; one with another line belongs to another run.
std::string described(const real_amount& a, const std::string& name) {
    if (name.starts_with("document_")) return formatted("window=%ld", static_cast<long>(a.window));
    const std::string steps =
        formatted("table_steps=%ld clex_steps=%ld", static_cast<long>(a.table_steps), static_cast<long>(a.clex_steps));
    if (name.starts_with("learn_")) return steps;
    return formatted("windows=%ld keys=%ld ", static_cast<long>(a.windows), static_cast<long>(a.keys)) + steps;
}

std::vector<stage_of_parts> stages_of(const real_amount& a, const std::vector<rule>& rules) {
    stage_of_parts documents{formatted("one true document of %ld tokens", static_cast<long>(a.window)), {}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.documents); ++i) {
        const rule& r = rule_of(rules, document_rows[i]);
        documents.parts.push_back({"document_" + r.job, r.name, cost_of_document(a), {}});
    }
    stage_of_parts learning{"learning from plain text, the weights frozen", {}};
    for (const char* job : {job_of_rule::clex, job_of_rule::table}) {
        const rule& r = rule_of(rules, job);
        learning.parts.push_back({"learn_" + r.job, r.name, static_cast<double>(r.learning.steps), {}});
    }
    stage_of_parts rows{"held-out windows of chunks, up to 65536 tokens", {}};
    for (const rule& r : rules) {
        if (r.job == job_of_rule::table) continue;
        rows.parts.push_back({chunks_of(r.job, longest_context), r.name, cost_of_chunks(a.windows, a.keys), {}});
    }
    for (const char* job : table_rows) {
        const rule& r = rule_of(rules, job);
        rows.parts.push_back({chunks_of(job, table_context), r.name + ", 16384", cost_of_chunks(a.windows, 0), {}});
    }
    std::vector<stage_of_parts> all{documents, learning, rows};
    for (stage_of_parts& stage : all) {
        for (part& p : stage.parts) p.settings = described(a, p.name);
    }
    return all;
}

std::vector<std::string> command_at(std::size_t level) { return {"part", "--level", std::to_string(level)}; }

std::size_t level_of(const real_options& o, const cordage::rope_config& rope, progress& shown) {
    if (o.is_trial) return trial_level;
    const double slowest = seconds_of_block(o, command_at(0));
    for (std::size_t level = 0;; ++level) {
        const real_amount& a = amounts[level];
        double total = 0.0;
        for (const stage_of_parts& stage : stages_of(a, rules_of(rope, a.table_steps, a.clex_steps))) {
            for (const part& p : stage.parts) total += p.cost;
        }
        const double seconds = total * slowest / 2.0;
        if (seconds > seconds_wanted && level + 1 < trial_level) continue;
        shown.line(
            formatted("      1024 tokens take %.1f s on a core: the document is cut to %ld tokens; about %s in all",
                      slowest, static_cast<long>(a.window), minutes(seconds).c_str()));
        return level;
    }
}

std::string summary(const part& p, const row_result& r) {
    std::string text = formatted("      %-44s", p.title.c_str());
    if (p.name.starts_with("learn_")) {
        text += formatted("loss of its windows %.2f … %.2f", r.observations.front().value, r.observations.back().value);
    } else {
        text += formatted("perplexity %.2f", std::exp(mean_of(r.observations, measure::plain_loss)));
        const double found = mean_of(r.observations, measure::match);
        if (!std::isnan(found)) text += formatted(", pass keys %.2f", found);
    }
    return text + formatted("   (%.0f s)", r.seconds);
}

// The blocks of a document as they are read, and each part when it is done.
class reading_along {
 public:
    explicit reading_along(const real_options& o) : o_(o) {}
    void operator()(const part& p, const row_result* done, progress& shown) {
        if (done != nullptr) return shown.line(summary(p, *done));
        if (!p.name.starts_with("document_")) return;
        const std::vector<observation> seen = seen_by(o_, p.name);
        std::size_t& count = shown_[p.name];
        for (; count < seen.size(); ++count) {
            shown.line(formatted("      %-12s tokens from %5ld on: perplexity %8.2f", p.title.c_str(),
                                 static_cast<long>(seen[count].distance), std::exp(seen[count].value)));
        }
    }

 private:
    const real_options& o_;
    std::map<std::string, std::size_t> shown_;
};

// The rule with what its part has learned.
rule with_learned(const real_options& o, rule r) {
    if (r.learning.steps > 0) {
        r.policy = r.policy.with_parameters(result_of(o, "learn_" + r.job).policy_parameters);
    }
    return r;
}

void write_results(const real_options& o, std::size_t level, const cordage::rope_config& rope) {
    const real_amount& a = amounts[level];
    real_results r{rope, a, {}, {}, {}, {}};
    for (const rule& each : rules_of(rope, a.table_steps, a.clex_steps)) r.rules.push_back(with_learned(o, each));
    for (const stage_of_parts& stage : stages_of(a, r.rules)) {
        for (const part& p : stage.parts) {
            if (p.name.starts_with("document_")) r.documents.push_back(result_of(o, p.name));
            if (p.name.starts_with(chunks_of("", longest_context))) r.at_longest.push_back(result_of(o, p.name));
            if (p.name.starts_with(chunks_of("", table_context))) r.at_table.push_back(result_of(o, p.name));
        }
    }
    const std::string tables = real_tables(r);
    write(o.out / "table.md", tables);
    write(o.out / "table.csv", real_csv(r));
    plot_real(r, o.out);
    for (const rule& each : r.rules) {
        if (each.learning.steps == 0) continue;
        const double t = each.t_at(each.learning.most);
        write(o.out / (each.job + ".longrope.json"), own::longrope_parameters(rope, each.policy, t).dump(2) + "\n");
    }
    std::printf(
        "\n%s\nwritten to %s: table.md, table.csv, perplexity.svg, keys.svg (both also as .png) and *.longrope.json, "
        "rope_scaling of a config.json; the next run reuses the results in its folder work\n",
        tables.c_str(), o.out.c_str());
}

}  // namespace

void run_real_demo(const real_options& options) {
    require_program("gnuplot", "gnuplot-nox");
    std::filesystem::create_directories(options.out / "work");
    progress shown(5);
    shown.stage("how fast this machine is");
    const cordage::rope_config rope = config_of(cordage::gguf_file(options.model)).rope;
    const std::size_t level = level_of(options, rope, shown);
    const real_amount& a = amounts[level];
    run_parts(options, command_at(level), stages_of(a, rules_of(rope, a.table_steps, a.clex_steps)), shown,
              reading_along(options));
    shown.stage("tables and pictures");
    write_results(options, level, rope);
}

void run_real_part(const real_options& options, const std::string& name, std::size_t level) {
    const measured_model model(options.model, options.texts);
    if (level >= amounts.size()) throw std::runtime_error("demo: there is no level " + std::to_string(level));
    const real_amount& a = amounts[level];
    if (name == "logits") {  // for a comparison with transformers
        const std::vector<float> all = model.logits(64);
        return write(options.out / "logits.f32", {reinterpret_cast<const char*>(all.data()), 4 * all.size()});
    }
    if (name.starts_with("speed_")) {
        return run_part(options, {name, name, 0.0, "speed"},
                        [&](row_result& made, const auto&) { made.seconds = model.seconds_of_block(); });
    }
    const std::vector<rule> rules = rules_of(model.rope(), a.table_steps, a.clex_steps);
    // The rule of whose job `prefix` makes the part's name.
    const auto named = [&](const std::string& prefix) {
        return name.starts_with(prefix) ? &rule_of(rules, name.substr(prefix.size())) : nullptr;
    };
    const auto run = [&](const rule& r, const part_work& work) {
        run_part(options, {name, r.name, 0.0, described(a, name)}, work);
    };
    if (const rule* how = named("document_")) {
        run(*how, [&](row_result& made, const measuring_report& report) {
            made.observations = model.document(*how, a.window, report);
        });
    } else if (const rule* start = named("learn_")) {
        run(*start, [&](row_result& made, const measuring_report& report) {
            const auto [found, seen] = model.learned(*start, report);
            made.observations = seen;
            made.policy_parameters = found.policy.parameters();
        });
    }
    for (const index_t context : {longest_context, table_context}) {
        if (const rule* by = named(chunks_of("", context))) {
            run(*by, [&](row_result& made, const measuring_report& report) {
                const index_t keys = context == longest_context ? a.keys : 0;
                made.observations = model.chunks(with_learned(options, *by), context, a.windows, keys, report);
            });
        }
    }
}

}  // namespace demo
