// SPDX-License-Identifier: MIT
// Files of results, and the processes that write them.
#include "smollm2/parts.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "report/formatted.hpp"
#include "runner/jobs.hpp"

namespace demo {
namespace {

std::filesystem::path file_of(const real_options& o, const std::string& name) {
    return o.out / "work" / (name + ".txt");
}

job process_of(const real_options& o, const std::vector<std::string>& command, const std::string& name) {
    std::vector<std::string> words = command;
    words.insert(words.end(),
                 {name, "--out", o.out.string(), "--model", o.model.string(), "--texts", o.texts.string()});
    if (o.is_trial) words.push_back("--trial");
    return {name, words, o.out / "work" / (name + ".log")};
}

}  // namespace

std::optional<row_result> result_if_done(const real_options& o, const part& p) {
    try {
        row_result r = result_of(o, p.name);
        if (r.settings == p.settings) return r;
    } catch (const std::runtime_error&) {
    }
    return {};
}

row_result result_of(const real_options& o, const std::string& name) { return load_row_result(file_of(o, name)); }

std::vector<observation> seen_by(const real_options& o, const std::string& name) {
    try {
        return load_row_result(file_of(o, name + ".seen")).observations;
    } catch (const std::runtime_error&) {  // nothing there yet
        return {};
    }
}

void run_parts(const real_options& o, const std::vector<std::string>& command, std::vector<stage_of_parts> stages,
               progress& shown, const part_shown& show) {
    std::vector<double> work;
    for (stage_of_parts& stage : stages) {
        std::erase_if(stage.parts, [&](const part& p) { return result_if_done(o, p).has_value(); });
        for (const part& p : stage.parts) work.push_back(p.cost);
    }
    work_clock clock(work);
    std::size_t begin = 0;
    for (const stage_of_parts& stage : stages) {
        shown.stage(formatted("%s: %zu to do", stage.title.c_str(), stage.parts.size()));
        std::vector<job> jobs;
        for (const part& p : stage.parts) {
            std::filesystem::remove(file_of(o, p.name + ".seen"));
            jobs.push_back(process_of(o, command, p.name));
        }
        run_jobs(jobs, 2, [&](std::size_t i, double share) {
            const part& p = stage.parts[i];
            clock.set(begin + i, share);
            show(p, nullptr, shown);
            if (share >= 1.0) {
                const row_result made = result_of(o, p.name);
                show(p, &made, shown);
            }
            shown.bar(clock.share(begin, begin + jobs.size()), clock.seconds_left());
        });
        begin += jobs.size();
    }
}

void run_part(const real_options& o, const part& p, const part_work& work) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);  // as worker.cpp: memory of tensors that come and go is kept
    mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
    const auto begin = std::chrono::steady_clock::now();
    row_result r;
    r.settings = p.settings;
    r.row = p.title;
    work(r, [&](double share, const std::vector<observation>& seen) {
        row_result up_to_now = r;
        up_to_now.observations = seen;
        save(up_to_now, file_of(o, p.name + ".seen"));
        std::printf("progress %.4f\n", share);
        std::fflush(stdout);
    });
    if (r.seconds == 0.0) {
        r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    save(r, file_of(o, p.name));
}

double seconds_of_block(const real_options& o, const std::vector<std::string>& command) {
    std::filesystem::create_directories(o.out / "work");
    const std::array<std::string, 2> names{"speed_0", "speed_1"};
    std::vector<job> jobs;
    for (const std::string& name : names) {
        if (!result_if_done(o, {name, "", 0.0, "speed"})) jobs.push_back(process_of(o, command, name));
    }
    run_jobs(jobs, 2, [](std::size_t, double) {});
    double slowest = 0.0;
    for (const std::string& name : names) slowest = std::max(slowest, result_of(o, name).seconds);
    return slowest;
}

}  // namespace demo
