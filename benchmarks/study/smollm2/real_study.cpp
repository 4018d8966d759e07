// SPDX-License-Identifier: MIT
// The study's parts: search, learning, windows of chunks, documents.
#include "smollm2/real_study.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "report/formatted.hpp"
#include "runner/files.hpp"
#include "runner/programs.hpp"
#include "smollm2/llama_config.hpp"
#include "smollm2/measures.hpp"
#include "smollm2/study_tables.hpp"

namespace demo {
namespace {

constexpr study_amount whole{12288, 6, 8, 4, 24, 18, 3}, trial{2560, 2, 2, 1, 2, 2, 1};
constexpr double seconds_wanted = 5400.0;  // on two cores
const char* const documents[]{"document_rust",    "document_library", "document_kjv",
                              "document_nomicon", "document_c_api",   "document_reference"};

const study_amount& amount_of(const real_options& o) { return o.is_trial ? trial : whole; }

std::string job_of(const study_row& r) { return r.job + (r.seed == 0 ? "" : formatted("_%ld", n(r.seed))); }

double cost_of_document(index_t context) {
    const auto tokens = static_cast<double>(context);
    return tokens / static_cast<double>(block_tokens) * (1.0 + tokens / 8000.0);
}

std::vector<stage_of_parts> stages_of(const study_amount& a, index_t document_count, const cordage::rope_config& rope) {
    const std::string searched = formatted("points=%zu", a.points), learned = formatted("steps=%ld", n(a.steps)),
                      all = formatted("window=%ld windows=%ld keys=%ld ", n(a.window), n(a.windows), n(a.keys)) +
                            searched + " " + learned;
    stage_of_parts search{"search, by windows of other texts", {}}, decision{"the best of them in a true window", {}},
        learning{"learning, the weights frozen", {}}, judging{"rules in the windows of the search", {}},
        chunks{"held-out windows of chunks", {}}, reading{"true documents", {}};
    const std::vector<rule> points = searched_points(rope);
    for (std::size_t i = 0; i < a.points; ++i) search.parts.push_back({points[i].job, points[i].name, 12.0, "search"});
    for (std::size_t i = 0; i < a.decided; ++i) {
        decision.parts.push_back({formatted("decide_%zu", i), formatted("number %zu of the search", i + 1),
                                  cost_of_document(a.window), formatted("window=%ld ", n(a.window)) + searched});
    }
    for (const rule& r : study_rules(rope, a.steps)) {
        if (r.learning.steps == 0) continue;
        learning.parts.push_back({"learn_" + r.job, r.name, 3.6 * static_cast<double>(a.steps), learned});
    }
    for (const study_row& r : study_rows) {
        if (r.job == std::string("searched")) continue;
        judging.parts.push_back({"judge_" + job_of(r), r.name, 12.0, learned});
    }
    for (const study_row& r : study_rows) {
        const auto windows = static_cast<double>(a.windows) * (1.0 + 0.07 * static_cast<double>(a.keys));
        chunks.parts.push_back({"chunks_" + job_of(r), r.name, 3.0 * windows, all});
    }
    for (index_t d = 0; d < document_count; ++d) {
        for (const study_row& r : study_rows) {
            double cost = cost_of_document(a.window);
            for (const index_t context : shorter_contexts) {
                if (r.job == std::string(job_of_rule::unscaled)) cost += cost_of_document(context);
            }
            reading.parts.push_back({formatted("document_%ld_", n(d)) + job_of(r), r.name, cost, all});
        }
    }
    return {search, decision, learning, judging, chunks, reading};
}

double cost_of(const std::vector<stage_of_parts>& stages) {
    double cost = 0.0;
    for (const stage_of_parts& stage : stages) {
        for (const part& p : stage.parts) cost += p.cost;
    }
    return cost;
}

// Which of made_for is for a context.
std::size_t place_of_length(index_t context) { return context <= made_for.front() ? 0 : 1; }

// The points of the search by their score at made_for[where], the best first.
std::vector<std::size_t> ranked(const real_options& o, std::size_t where) {
    std::vector<double> scores;
    for (std::size_t i = 0; i < amount_of(o).points; ++i) {
        scores.push_back(score(result_of(o, formatted("search_%zu", i)), made_for[where]));
    }
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
    return order;
}

// The searched point for made_for[where]: the shorter length has a true window, which decides between the best few.
std::size_t chosen(const real_options& o, std::size_t where) {
    const std::vector<std::size_t> order = ranked(o, where);
    if (where != 0) return order.front();
    double least = std::numeric_limits<double>::infinity();
    std::size_t best = order.front();
    for (std::size_t i = 0; i < amount_of(o).decided; ++i) {
        const double loss =
            mean_of(result_of(o, formatted("decide_%zu", i)).observations, measure::plain_loss, amount_of(o).window);
        if (loss < least) best = order[i];
        least = std::min(least, loss);
    }
    return best;
}

rule rule_called(const cordage::rope_config& rope, index_t steps, const std::string& job) {
    for (const rule& r : study_rules(rope, steps)) {
        if (r.job == job) return r;
    }
    throw std::runtime_error("study: no rule is called '" + job + "'");
}

// The rule of a row for a context: where a row has one for some lengths, the next of them. With what it has learned.
rule rule_for(const real_options& o, const cordage::rope_config& rope, const study_row& r, index_t context) {
    const std::size_t where = place_of_length(context);
    if (r.is_made_for_n && r.seed == 0) return searched_points(rope)[chosen(o, where)];
    const std::string job = r.is_made_for_n ? formatted("%s_%ld_%ld", r.job, n(made_for[where]), n(r.seed)) : job_of(r);
    rule found = rule_called(rope, amount_of(o).steps, job);
    if (found.learning.steps > 0) {
        found.policy = found.policy.with_parameters(result_of(o, "learn_" + job).policy_parameters);
    }
    return found;
}

void append(std::vector<observation>& all, const std::vector<observation>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

void show(const part& p, const row_result* done, progress& shown) {
    if (done == nullptr) return;
    shown.line(formatted("      %-24s %-40s text loss %.3f   (%.0f s)", p.name.c_str(), p.title.c_str(),
                         mean_of(done->observations, measure::plain_loss), done->seconds));
}

study_tables tables_of(const study_options& o, const cordage::rope_config& rope, index_t document_count) {
    study_tables t{amount_of(o), {}, {}, {}, {}, {}, {}, 0};
    const std::vector<stage_of_parts> stages = stages_of(t.amount, document_count, rope);
    const auto results_of = [&](std::size_t stage) {
        std::vector<row_result> results;
        for (const part& p : stages[stage].parts) {
            if (auto r = result_if_done(o, p)) results.push_back(*r);
        }
        return results;
    };
    t.searched = results_of(0);
    t.decided = results_of(1);
    t.judged = results_of(3);
    t.chunks = results_of(4);
    if (t.searched.size() == t.amount.points && t.decided.size() == t.amount.decided) {
        for (std::size_t where = 0; where < made_for.size(); ++where) t.chosen.push_back(chosen(o, where));
        for (std::size_t i = 0; i < t.decided.size(); ++i) t.decided[i].row = t.searched[ranked(o, 0)[i]].row;
    }
    // A document counts when all rows have read it.
    std::vector<row_result> documents_read;
    for (const study_row& r : study_rows) {
        documents_read.push_back({"", r.name, static_cast<std::uint64_t>(r.seed), 0, 0.0, {}, {}});
    }
    for (index_t d = 0; d < document_count; ++d) {
        std::vector<row_result> of_document;
        for (const part& p : stages[5].parts) {
            if (!p.name.starts_with(formatted("document_%ld_", n(d)))) continue;
            if (auto r = result_if_done(o, p)) of_document.push_back(*r);
        }
        if (of_document.size() < documents_read.size()) continue;
        ++t.documents_read;
        for (std::size_t i = 0; i < of_document.size(); ++i) {
            append(documents_read[i].observations, of_document[i].observations);
        }
    }
    if (t.documents_read > 0) t.documents = documents_read;
    return t;
}

}  // namespace

void run_real_study(const study_options& o) {
    require_program("gnuplot", "gnuplot-nox");
    std::filesystem::create_directories(o.out / "work");
    const cordage::rope_config rope = config_of(cordage::gguf_file(o.model)).rope;
    const study_amount& a = amount_of(o);
    progress shown(8);
    shown.stage("how fast this machine is");
    index_t documents_wanted = o.documents.value_or(a.documents);
    if (!o.only_reports && !o.is_trial) {
        const double seconds = seconds_of_block(o, {"study", "--part"});
        const auto minutes_of = [&](index_t count) {
            return cost_of(stages_of(a, count, rope)) * seconds / 2.0 / 60.0;
        };
        while (!o.documents && documents_wanted > 2 && minutes_of(documents_wanted) * 60.0 > seconds_wanted) {
            --documents_wanted;
        }
        shown.line(
            formatted("      1024 tokens take %.1f s of a core: %ld documents, about %.0f minutes on two cores "
                      "without other work",
                      seconds, n(documents_wanted), minutes_of(documents_wanted)));
    }
    if (!o.only_reports) run_parts(o, {"study", "--part"}, stages_of(a, documents_wanted, rope), shown, show);
    shown.stage("tables and pictures");
    const study_tables t = tables_of(o, rope, documents_wanted);
    const std::string text = in_markdown(t);
    write(o.out / "study.md", text);
    write(o.out / "study.csv", as_csv(t));
    plot_study(t, o.out);
    std::printf("\n%s\nwritten to %s: study.md, study.csv and study.svg\n", text.c_str(), o.out.c_str());
}

void run_study_part(const real_options& o, const std::string& name) {
    const measured_model model(o.model, o.texts);
    if (name.starts_with("speed_")) {
        return run_part(o, {name, name, 0.0, "speed"}, [&](row_result& made, const auto&) {
            const std::clock_t begin = std::clock();  // of this process: other programs may use the cores, too
            model.seconds_of_block();
            made.seconds = 4.0 * static_cast<double>(std::clock() - begin) / static_cast<double>(CLOCKS_PER_SEC);
        });
    }
    const study_amount& a = amount_of(o);
    const cordage::rope_config& rope = model.rope();
    part found;
    for (const stage_of_parts& stage : stages_of(a, a.documents, rope)) {
        for (const part& p : stage.parts) {
            if (p.name == name) found = p;
        }
    }
    if (found.name.empty()) throw std::runtime_error("study: no part is called '" + name + "'");
    const auto row_named = [&](const std::string& job) {
        return *std::ranges::find_if(study_rows, [&](const study_row& r) { return job_of(r) == job; });
    };
    const std::string job = name.substr(name.find('_') + 1);
    run_part(o, found, [&](row_result& made, const measuring_report& report) {
        std::vector<observation>& seen = made.observations;
        if (name.starts_with("search_")) {
            const rule point = searched_points(rope)[std::stoul(job)];
            for (const index_t context : made_for) append(seen, model.judged(point, context));
        } else if (name.starts_with("decide_")) {
            const rule point = searched_points(rope)[ranked(o, 0)[std::stoul(job)]];
            seen = model.end_of_document(point, "dev_document", 0, a.window, a.window, 0);
        } else if (name.starts_with("learn_")) {
            const auto [learned, losses] = model.learned(rule_called(rope, a.steps, job), report);
            seen = losses;
            made.policy_parameters = learned.policy.parameters();
        } else if (name.starts_with("judge_")) {
            made.seed = static_cast<std::uint64_t>(row_named(job).seed);
            for (const index_t context : made_for) {
                append(seen, model.judged(rule_for(o, rope, row_named(job), context), context));
            }
        } else if (name.starts_with("chunks_")) {
            made.seed = static_cast<std::uint64_t>(row_named(job).seed);
            double done = 0.0;
            for (const index_t context : chunk_contexts) {
                append(seen, model.chunks(rule_for(o, rope, row_named(job), context), context, a.windows, a.keys,
                                          [&](double share, const auto& some) { report((done + share) / 3.0, some); }));
                ++done;
            }
        } else {
            const std::size_t end = job.find('_');
            const study_row r = row_named(job.substr(end + 1));
            made.seed = static_cast<std::uint64_t>(r.seed);
            const auto number = static_cast<index_t>(std::stoul(job.substr(0, end)));
            const auto read = [&](index_t context) {
                append(seen, model.end_of_document(rule_for(o, rope, r, context), documents[number], number, a.window,
                                                   context, a.keys));
                report(static_cast<double>(context) / static_cast<double>(a.window), seen);
            };
            if (job_of(r) == job_of_rule::unscaled) {
                for (const index_t context : shorter_contexts) {
                    if (context < a.window) read(context);
                }
            }
            read(a.window);
        }
    });
}

}  // namespace demo
