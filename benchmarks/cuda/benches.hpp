// SPDX-License-Identifier: MIT
// The benchmarks of cordage_gpu_bench, one unit each.
#pragma once

namespace cordage::benchmarks {

class runner;

void measure_prefill(runner& run);
void measure_decode(runner& run);
void measure_rebase(runner& run);
void measure_cache(runner& run);

}  // namespace cordage::benchmarks
