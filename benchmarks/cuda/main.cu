// SPDX-License-Identifier: MIT
// cordage_gpu_bench [--output FILE] [--filter TEXT] [--arena MIB] [--seconds S]: the CUDA kernels beside copies of as
// many bytes and beside empty kernels; writes JSON, and times to stderr as they are measured.
#include <cstdlib>
#include <cstring>

#include "benches.hpp"
#include "description.cuh"
#include "runner.cuh"

using namespace cordage;
using namespace cordage::benchmarks;

int main(int argc, char** argv) {
    return run_main([&] {
        std::string output, filter;
        std::size_t arena_mib = 2048;
        double seconds = 0.5;
        for (int i = 1; i < argc; i += 2) {
            const std::string option = argv[i];
            const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
            if (value != nullptr && option == "--output") {
                output = value;
            } else if (value != nullptr && option == "--filter") {
                filter = value;
            } else if (value != nullptr && option == "--arena" && std::atol(value) > 0) {
                arena_mib = static_cast<std::size_t>(std::atol(value));
            } else if (value != nullptr && option == "--seconds" && std::atof(value) > 0.0) {
                seconds = std::atof(value);
            } else {
                throw error(
                    message("argument ", option, ": must be --output FILE, --filter TEXT, --arena MIB or --seconds S"));
            }
        }
        runner run(arena_mib << 20, filter, output, seconds);
        describe_device(run.found());
        bool has_failed = false;
        for (const auto measure : {measure_decode, measure_prefill, measure_rebase, measure_cache}) {
            try {
                measure(run);
            } catch (const std::exception& e) {
                std::fprintf(stderr, "%s\n", e.what());
                has_failed = true;
            }
        }
        write(run.found(), output);
        if (has_failed) throw error("not everything could be measured");
    });
}
