// SPDX-License-Identifier: MIT
// The parts in order, two processes at a time.
#include "smollm2/real_demo.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>

#include "cordage/config/longrope.hpp"
#include "report/formatted.hpp"
#include "runner/files.hpp"
#include "runner/jobs.hpp"
#include "runner/programs.hpp"
#include "runner/progress.hpp"
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

struct part {
    std::string name, title;
    double cost;
};

struct stage_of_parts {
    std::string title;
    std::vector<part> parts;
};

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

std::vector<stage_of_parts> stages_of(const real_amount& a, const std::vector<rule>& rules) {
    stage_of_parts documents{formatted("one true document of %ld tokens", static_cast<long>(a.window)), {}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.documents); ++i) {
        const rule& r = rule_of(rules, document_rows[i]);
        documents.parts.push_back({"document_" + r.job, r.name, cost_of_document(a)});
    }
    stage_of_parts learning{"learning from plain text, the weights frozen", {}};
    for (const char* job : {job_of_rule::clex, job_of_rule::table}) {
        const rule& r = rule_of(rules, job);
        learning.parts.push_back({"learn_" + r.job, r.name, static_cast<double>(r.learning.steps)});
    }
    stage_of_parts rows{"held-out windows of chunks, up to 65536 tokens", {}};
    for (const rule& r : rules) {
        if (r.job == job_of_rule::table) continue;
        rows.parts.push_back({chunks_of(r.job, longest_context), r.name, cost_of_chunks(a.windows, a.keys)});
    }
    for (const char* job : table_rows) {
        const rule& r = rule_of(rules, job);
        rows.parts.push_back({chunks_of(job, table_context), r.name + ", 16384", cost_of_chunks(a.windows, 0)});
    }
    return {documents, learning, rows};
}

// What a part's result depends on; one with another line belongs to another run.
std::string described(const real_amount& a, const std::string& name) {
    if (name.starts_with("document_")) return formatted("window=%ld", static_cast<long>(a.window));
    const std::string steps =
        formatted("table_steps=%ld clex_steps=%ld", static_cast<long>(a.table_steps), static_cast<long>(a.clex_steps));
    if (name.starts_with("learn_")) return steps;
    return formatted("windows=%ld keys=%ld ", static_cast<long>(a.windows), static_cast<long>(a.keys)) + steps;
}

std::filesystem::path result_of(const real_options& o, const std::string& name) {
    return o.out / "work" / (name + ".txt");
}
std::filesystem::path seen_of(const real_options& o, const std::string& name) {
    return o.out / "work" / (name + ".seen.txt");
}

// The result, if there is one of these settings.
std::optional<row_result> done(const std::filesystem::path& file, const std::string& settings) {
    try {
        row_result r = load_row_result(file);
        if (r.settings == settings) return r;
    } catch (const std::runtime_error&) {
    }
    return {};
}

job process_of(const real_options& o, const std::string& name, std::size_t level) {
    return {name,
            {"part", name, "--level", std::to_string(level), "--out", o.out.string(), "--model", o.model.string(),
             "--texts", o.texts.string()},
            o.out / "work" / (name + ".log")};
}

// Two processes read a block at the same time, as all parts will; the slower one counts.
std::size_t level_of(const real_options& o, const cordage::rope_config& rope, progress& shown) {
    if (o.is_trial) return trial_level;
    double slowest = 0.0;
    const std::array<std::string, 2> names{"speed_0", "speed_1"};
    std::vector<job> jobs;
    for (const std::string& name : names) {
        if (!done(result_of(o, name), "speed")) jobs.push_back(process_of(o, name, 0));
    }
    run_jobs(jobs, 2, [](std::size_t, double) {});
    for (const std::string& name : names) slowest = std::max(slowest, load_row_result(result_of(o, name)).seconds);
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

// The blocks of a document as they are read.
class reading_along {
 public:
    explicit reading_along(const real_options& o) : o_(o) {}
    void show(const part& p, progress& shown) {
        if (!p.name.starts_with("document_")) return;
        try {
            const auto seen = load_row_result(seen_of(o_, p.name)).observations;
            std::size_t& count = shown_[p.name];
            for (; count < seen.size(); ++count) {
                shown.line(formatted("      %-12s tokens from %5ld on: perplexity %8.2f", p.title.c_str(),
                                     static_cast<long>(seen[count].distance), std::exp(seen[count].value)));
            }
        } catch (const std::runtime_error&) {  // nothing there yet
        }
    }

 private:
    const real_options& o_;
    std::map<std::string, std::size_t> shown_;
};

void run_stages(const real_options& o, std::size_t level, std::vector<stage_of_parts> stages, progress& shown) {
    std::vector<double> work;
    for (stage_of_parts& stage : stages) {
        std::erase_if(stage.parts, [&](const part& p) {
            return done(result_of(o, p.name), described(amounts[level], p.name)).has_value();
        });
        for (const part& p : stage.parts) work.push_back(p.cost);
    }
    work_clock clock(work);
    reading_along along(o);
    std::size_t begin = 0;
    for (const stage_of_parts& stage : stages) {
        shown.stage(formatted("%s: %zu to do", stage.title.c_str(), stage.parts.size()));
        std::vector<job> jobs;
        for (const part& p : stage.parts) {
            std::filesystem::remove(seen_of(o, p.name));
            jobs.push_back(process_of(o, p.name, level));
        }
        run_jobs(jobs, 2, [&](std::size_t i, double share) {
            const part& p = stage.parts[i];
            clock.set(begin + i, share);
            along.show(p, shown);
            if (share >= 1.0) shown.line(summary(p, load_row_result(result_of(o, p.name))));
            shown.bar(clock.share(begin, begin + jobs.size()), clock.seconds_left());
        });
        begin += jobs.size();
    }
}

// The rule with what its part has learned.
rule with_learned(const real_options& o, rule r) {
    if (r.learning.steps > 0) {
        r.policy = r.policy.with_parameters(load_row_result(result_of(o, "learn_" + r.job)).policy_parameters);
    }
    return r;
}

void write_results(const real_options& o, std::size_t level, const cordage::rope_config& rope) {
    const real_amount& a = amounts[level];
    real_results r{rope, a, {}, {}, {}, {}};
    for (const rule& each : rules_of(rope, a.table_steps, a.clex_steps)) r.rules.push_back(with_learned(o, each));
    const auto read = [&](const std::string& name) { return load_row_result(result_of(o, name)); };
    for (const stage_of_parts& stage : stages_of(a, r.rules)) {
        for (const part& p : stage.parts) {
            if (p.name.starts_with("document_")) r.documents.push_back(read(p.name));
            if (p.name.starts_with(chunks_of("", longest_context))) r.at_longest.push_back(read(p.name));
            if (p.name.starts_with(chunks_of("", table_context))) r.at_table.push_back(read(p.name));
        }
    }
    const std::string tables = real_tables(r);
    write(o.out / "table.md", tables);
    write(o.out / "table.csv", real_csv(r));
    plot_real(r, o.out);
    for (const rule& each : r.rules) {
        if (each.learning.steps == 0) continue;
        const double t = each.t_at(each.learning.most);
        write(o.out / (each.job + ".longrope.json"),
              cordage::hf::longrope_parameters(rope, each.policy, t).dump(2) + "\n");
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
    run_stages(options, level, stages_of(a, rules_of(rope, a.table_steps, a.clex_steps)), shown);
    shown.stage("tables and pictures");
    write_results(options, level, rope);
}

void run_real_part(const real_options& options, const std::string& name, std::size_t level) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);  // as worker.cpp: memory of tensors that come and go is kept
    mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
    const measured_model model(options.model, options.texts);
    if (level >= amounts.size()) throw std::runtime_error("demo: there is no level " + std::to_string(level));
    const real_amount& a = amounts[level];
    const auto begin = std::chrono::steady_clock::now();
    row_result r;
    r.settings = described(a, name);
    r.row = name;
    const auto report = [&](double share, const std::vector<observation>& seen) {
        r.observations = seen;
        save(r, seen_of(options, name));
        std::printf("progress %.4f\n", share);
        std::fflush(stdout);
    };
    const std::vector<rule> rules = rules_of(model.rope(), a.table_steps, a.clex_steps);
    const auto named = [&](const std::string& prefix) -> const rule* {
        return name.starts_with(prefix) ? &rule_of(rules, name.substr(prefix.size())) : nullptr;
    };
    if (name.starts_with("speed_")) {
        r.settings = "speed";
        r.seconds = model.seconds_of_block();
        return save(r, result_of(options, name));
    }
    if (name == "logits") {  // for a comparison with transformers
        const std::vector<float> all = model.logits(64);
        return write(options.out / "logits.f32", {reinterpret_cast<const char*>(all.data()), 4 * all.size()});
    }
    if (const rule* how = named("document_")) {
        r.row = how->name;
        r.observations = model.document(*how, a.window, report);
    } else if (const rule* start = named("learn_")) {
        r.row = start->name;
        const auto [found, seen] = model.learned(*start, report);
        r.observations = seen;
        r.policy_parameters = found.policy.parameters();
    }
    for (const index_t context : {longest_context, table_context}) {
        if (const rule* how = named(chunks_of("", context))) {
            r.row = how->name;
            const index_t keys = context == longest_context ? a.keys : 0;
            r.observations = model.chunks(with_learned(options, *how), context, a.windows, keys, report);
        }
    }
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    save(r, result_of(options, name));
}

}  // namespace demo
