// SPDX-License-Identifier: MIT
// The stages of the experiment, in order.
#include "experiment.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "corpus.hpp"
#include "cost.hpp"
#include "findings.hpp"
#include "jobs.hpp"
#include "methods.hpp"
#include "plots.hpp"
#include "programs.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "text.hpp"
#include "worker.hpp"

namespace demo {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out(file);
    if (!(out << text).flush()) throw std::runtime_error("demo: cannot write " + file.string());
}

void make_folder(const std::filesystem::path& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) throw std::runtime_error("demo: cannot make the folder " + folder.string() + ": " + failure.message());
}

void make_tokens(const settings& s, progress& shown) {
    const split_text text = king_james();
    byte_pairs encoding(text.train, static_cast<std::size_t>(s.model.vocabulary));
    const corpus tokens{encoding.encode(text.train), encoding.encode(text.dev), encoding.encode(text.test)};
    save(tokens, work_files(s.out).tokens());
    shown.line(formatted("      %zu training, %zu dev and %zu test tokens, %.2f characters a token",
                         tokens.train.size(), tokens.dev.size(), tokens.test.size(),
                         static_cast<double>(text.train.size()) / static_cast<double>(tokens.train.size())));
}

job job_of(const settings& s, const method& how, const std::vector<std::string>& arguments) {
    job made{how.name, arguments, work_files(s.out).folder / (how.file_name() + ".log")};
    made.arguments.insert(made.arguments.end(), {"worker", how.file_name()});
    return made;
}

std::string summary(const row& r) {
    const score &first = r.measured.scores.front(), &last = r.measured.scores.back();
    return formatted("      %-36s perplexity %6.2f at %ld, %6.2f at %ld   (%.0f s)", r.how.name.c_str(),
                     first.perplexity, static_cast<long>(first.length), last.perplexity, static_cast<long>(last.length),
                     r.measured.seconds);
}

// The longest jobs first, so that no core waits for one of them at the end.
std::vector<std::size_t> by_cost(const std::vector<double>& costs) {
    std::vector<std::size_t> order(costs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
    return order;
}

}  // namespace

void run_experiment(const settings& s, const std::vector<std::string>& arguments) {
    require_program("bible", "bible-kjv and bible-kjv-text");
    require_program("gnuplot", "gnuplot-nox");
    make_folder(work_files(s.out).folder);
    prepare_environment();
    progress shown(4);

    shown.stage("King James text to byte-pair tokens");
    make_tokens(s, shown);

    const std::vector<method> all = methods(s);
    std::vector<double> costs;
    for (const method& how : all) costs.push_back(cost(s, how));
    const std::vector<std::size_t> order = by_cost(costs);
    std::vector<double> work{training_cost(s, *pretraining(s).training, s.pretraining.steps)};
    for (const std::size_t i : order) work.push_back(costs[i]);
    work_clock clock(work);

    shown.stage(formatted("pretraining, %ld steps at L = %ld, in two threads", static_cast<long>(s.pretraining.steps),
                          static_cast<long>(s.train_length)));
    run_jobs({job_of(s, pretraining(s), arguments)}, 1, [&](std::size_t, double share) {
        clock.set(0, share);
        shown.bar(share, clock.seconds_left());
    });

    shown.stage(formatted("%zu methods, two processes at a time", all.size()));
    std::vector<job> jobs;
    for (const std::size_t i : order) {
        std::filesystem::remove(work_files(s.out).result_of(all[i]));
        jobs.push_back(job_of(s, all[i], arguments));
    }
    run_jobs(jobs, 2, [&](std::size_t i, double share) {
        clock.set(1 + i, share);
        const method& how = all[order[i]];
        if (share >= 1.0 && std::filesystem::exists(work_files(s.out).result_of(how))) {
            shown.line(summary({how, load_result(work_files(s.out).result_of(how))}));
        }
        shown.bar(clock.share(1, work.size()), clock.seconds_left());
    });

    shown.stage("tables and pictures");
    std::vector<row> rows;
    for (const method& how : all) rows.push_back({how, load_result(work_files(s.out).result_of(how))});
    const std::string tables = main_table(rows) + "\n" + setting(s, rows) + "\n" + findings(rows);
    const std::string last = formatted(
                                 "Perplexity of the last %ld tokens of each stretch of %ld alone, by the length of "
                                 "the window that ends with them:\n\n",
                                 static_cast<long>(s.train_length), static_cast<long>(s.longest())) +
                             last_tokens_table(rows);
    write(s.out / "table.csv", as_csv(rows));
    write(s.out / "table.md", tables + "\n" + last);
    plot_perplexity(rows, s.out);
    plot_basis(s, rows, s.out);
    std::printf("\n%s\n%s\nwritten: table.csv, table.md, perplexity.svg, .png, basis.svg, .png in %s\n", tables.c_str(),
                last.c_str(), s.out.c_str());
}

}  // namespace demo
