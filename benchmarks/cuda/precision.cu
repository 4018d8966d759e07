// SPDX-License-Identifier: MIT
// cordage_gpu_precision [FILE]: the error of the device's cos and sin against long double, at positions up to 2^31 - 1;
// exit status 1 if it exceeds 2e-7. Also built with --use_fast_math.
#include <cmath>
#include <random>

#include "description.cuh"
#include "workload.cuh"

using namespace cordage;
using namespace cordage::benchmarks;

namespace {

constexpr index_t tokens = 4096, pairs = head_dim / 2;
constexpr double allowed = 2e-7;

// (1, 0) rotated by an angle is its (cos, sin).
std::vector<float> rotated(const basis& b, const std::vector<std::int32_t>& ids) {
    std::vector<float> x(static_cast<std::size_t>(tokens * head_dim));
    for (std::size_t lane = 0; lane < x.size(); lane += 2) x[lane] = 1.0f;
    const std::vector<std::uint64_t> all_words = device_words(b);
    const device_array<std::uint64_t> words{std::span<const std::uint64_t>(all_words)};
    const device_array<std::int32_t> device_ids{std::span<const std::int32_t>(ids)};
    const device_array<float> device_x{std::span<const float>(x)};
    rotate_forward<interleaved>(
        on(nullptr), device_angles<std::int32_t>(device_basis(words.data(), pairs), {device_ids.data(), 1, tokens, 0}),
        in_place(token_major(device_x.data(), {1, tokens, 1, head_dim})));
    check("cudaMemcpy", cudaMemcpy(x.data(), device_x.data(), x.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return x;
}

// position * inv_freq in long double is off by 2^-33 at most, and its cos and sin are reduced exactly.
double largest_error(const basis& b, const std::vector<std::int32_t>& ids) {
    const std::vector<float> found = rotated(b, ids);
    long double largest = 0.0L;
    for (std::size_t token = 0; token < ids.size(); ++token) {
        for (std::size_t pair = 0; pair < b.inv_freq().size(); ++pair) {
            const long double angle = static_cast<long double>(ids[token]) * b.inv_freq()[pair];
            const float* const at = found.data() + token * static_cast<std::size_t>(head_dim) + 2 * pair;
            if (std::isnan(at[0]) || std::isnan(at[1])) return 2.0;  // larger than any error
            const long double cos_error = std::fabs(at[0] - std::cos(angle));
            const long double sin_error = std::fabs(at[1] - std::sin(angle));
            largest = std::fmax(largest, std::fmax(cos_error, sin_error));
        }
    }
    return static_cast<double>(largest);
}

}  // namespace

int main(int argc, char** argv) {
    return run_main([&] {
        results found;
        describe_device(found);
        std::mt19937 random(1);
        double largest = 0.0;
        for (const std::int64_t limit : {std::int64_t{1} << 16, std::int64_t{1} << 24, std::int64_t{1} << 31}) {
            std::vector<std::int32_t> ids;
            for (index_t i = 0; i < tokens; ++i) {
                const std::int64_t magnitude = i < tokens / 2 ? limit - 1 - i : random() % limit;
                ids.push_back(static_cast<std::int32_t>(i % 4 == 3 ? -magnitude : magnitude));
            }
            const double error_below = largest_error(usual_basis(), ids);
            largest = std::fmax(largest, error_below);
            std::fprintf(stderr, "positions below 2^%d: largest error of cos and sin %.2g\n",
                         static_cast<int>(std::log2(static_cast<double>(limit))), error_below);
            found.add("cos_sin/positions_below:" + std::to_string(limit), {{"largest_error", error_below}});
        }
        write(found, argc > 1 ? argv[1] : "");
        if (largest > allowed) throw error(message("cos and sin: largest error ", largest, " must be <= ", allowed));
    });
}
