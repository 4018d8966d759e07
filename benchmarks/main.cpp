// SPDX-License-Identifier: MIT
// main of cordage_bench: Google Benchmark's, with CSV output for benchmarks with different counters.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Google Benchmark's CSV takes its columns from the first benchmark and aborts at a counter without a column. This
/// reporter collects all benchmarks first: every counter is a column, empty where a benchmark lacks it.
class csv_of_all : public benchmark::CSVReporter {
 public:
    void ReportRuns(const std::vector<Run>& runs) override { runs_.insert(runs_.end(), runs.begin(), runs.end()); }
    void Finalize() override { CSVReporter::ReportRuns(runs_); }

 private:
    std::vector<Run> runs_;
};

#pragma GCC diagnostic pop

/// The value of --NAME=VALUE, else of the environment variable, as Google Benchmark reads them.
std::string_view value_of(std::string_view name, const char* variable, const std::vector<std::string_view>& arguments) {
    const std::string flag = "--" + std::string(name) + "=";
    const auto found =
        std::find_if(arguments.rbegin(), arguments.rend(), [&](auto text) { return text.starts_with(flag); });
    if (found != arguments.rend()) return found->substr(flag.size());
    const char* value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> copies(argv, argv + argc);
    const std::vector<std::string_view> arguments(copies.begin(), copies.end());
    const bool is_csv = value_of("benchmark_format", "BENCHMARK_FORMAT", arguments) == "csv";
    const bool is_csv_file = value_of("benchmark_out_format", "BENCHMARK_OUT_FORMAT", arguments) == "csv" &&
                             !value_of("benchmark_out", "BENCHMARK_OUT", arguments).empty();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    csv_of_all display, file;
    benchmark::RunSpecifiedBenchmarks(is_csv ? &display : nullptr, is_csv_file ? &file : nullptr);
    benchmark::Shutdown();
}
