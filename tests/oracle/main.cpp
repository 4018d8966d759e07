// SPDX-License-Identifier: MIT
// cordage_oracle [CASES [SEED]]: random angles through every kernel against MPFR. Prints the largest error of each
// kernel and its arguments; fails if one exceeds its bound (docs/precision.md).
//
// A case is one theta and one position. Kernels rotate the lanes (1, 0) of a head, which gives cos and sin.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <random>
#include <thread>
#include <vector>

#include "cordage/kernels.hpp"
#include "exact_cos_sin.hpp"

namespace {

using cordage::index_t;

/// Above it, the errors of fractional positions depend on theta (bound::at) and would hide all others.
constexpr double largest_theta = 0x1p32;

/// The largest error of one kind of case for |theta| <= largest_theta, its arguments, and the largest ratio of an error
/// to its bound.
struct worst {
    double error = 0.0;
    double theta = 0.0;
    double position = 0.0;
    double share = 0.0;

    void see(double found, double allowed, double at_theta, double at_position) {
        const bool is_number = cordage::is_finite(found);
        if (std::fabs(at_theta) <= largest_theta && !(found <= error)) {
            error = found, theta = at_theta, position = at_position;
        }
        share = std::max(share, is_number ? found / allowed : HUGE_VAL);
    }
    void see(const worst& other) {
        if (!(other.error <= error)) error = other.error, theta = other.theta, position = other.position;
        share = std::max(share, other.share);
    }
};

/// |error| <= base + a term in position: half a unit of 2^-64 turn per position. Fractional positions are truncated at
/// 2^-64, which adds theta times that.
struct bound {
    double base;
    double at(double theta, double position) const {
        const double cut = std::floor(position) == position ? 0.0 : std::fabs(theta) * 0x1p-64;
        return base + 1.8e-19 * std::fabs(position) + cut;
    }
};
constexpr bound bound_float{8e-8}, bound_double{2.5e-16};

class draw {
 public:
    explicit draw(std::uint64_t seed) : random_(seed) {}

    double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
    bool one_in(unsigned n) { return random_() % n == 0; }
    double log_uniform(double low, double high) { return low * std::pow(high / low, unit()); }

    /// Typical of models, and others: from 2^-60 to 2^62, either sign, integers and multiples of pi too.
    double theta() {
        const double sign = one_in(8) ? -1.0 : 1.0;
        switch (random_() % 8) {
            case 0:
                return sign * log_uniform(0x1p-60, 0x1p62);
            case 1:
                return sign * log_uniform(1.0, 1e4);
            case 2:
                return sign * std::numbers::pi * std::ldexp(1.0, static_cast<int>(random_() % 40) - 20);
            case 3:
                return sign * static_cast<double>(random_() % 1000);
            default: {
                const double base = log_uniform(100.0, 1e8), t = one_in(2) ? 1.0 : log_uniform(1.0, 64.0);
                const auto pairs = static_cast<double>(2 + random_() % 127);
                return std::pow(base, -std::floor(unit() * pairs) / pairs) / t;
            }
        }
    }

    /// Near 0 and far from it, and uniform integers; up to 2^24 in float, 2^31 - 1 else.
    template <class P>
    P position() {
        constexpr double farthest = std::is_same_v<P, float> ? 0x1p24 : 0x1p31 - 1.0;
        const double sign = one_in(2) ? -1.0 : 1.0;
        const double size = one_in(2) ? unit() * farthest : log_uniform(std::is_integral_v<P> ? 1.0 : 1e-6, farthest);
        if constexpr (std::is_integral_v<P>) return static_cast<P>(sign * std::min(std::round(size), farthest));
        return static_cast<P>(one_in(3) ? std::round(sign * size) : sign * size);
    }

 private:
    std::mt19937_64 random_;
};

/// cos and sin of every position (rows) and theta (columns) by one kernel.
template <class T>
struct cos_and_sin {
    std::vector<T> lanes;  // [positions, 2 * thetas], half_split: cos, then sin

    template <class Backend, class Source>
    void make(Backend, const Source& angles) {
        const index_t pairs = angles.pairs();
        lanes.assign(static_cast<std::size_t>(angles.tokens() * 2 * pairs), T(0));
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            if (static_cast<index_t>(i) % (2 * pairs) < pairs) lanes[i] = T(1);
        }
        const auto x = cordage::token_major(lanes.data(), {1, angles.tokens(), 1, 2 * pairs});
        cordage::rotate_forward<cordage::half_split, Backend>(angles, cordage::in_place(x));
    }
    double cos(std::size_t token, std::size_t pair, std::size_t pairs) const {
        return static_cast<double>(lanes[token * 2 * pairs + pair]);
    }
    double sin(std::size_t token, std::size_t pair, std::size_t pairs) const { return cos(token, pair + pairs, pairs); }
};

namespace backend = cordage::backend;
#if defined(CORDAGE_HAS_SIMD)
using avx2_or_fastest =
#if XSIMD_WITH_AVX512F
    backend::simd<xsimd::fma3<xsimd::avx2>>;
#else
    backend::fastest;
#endif
#else
using avx2_or_fastest = backend::fastest;
#endif

constexpr const char* kernel_names[] = {"double, scalar", "double, vectors", "float, scalar", "float, vectors",
                                        "float, AVX2"};
constexpr const char* position_names[] = {"int32", "float", "double"};
constexpr std::size_t kernels = std::size(kernel_names), position_types = std::size(position_names);

using worst_by_kernel = std::array<worst, kernels>;
using report = std::array<worst_by_kernel, position_types>;

/// Some thetas, an odd number so that vectors have a remainder, times some positions.
constexpr std::size_t thetas = 37, positions = 27, cases_of_block = thetas * positions;

template <class P>
void check_block(draw& d, oracle::exact_cos_sin& exact, worst_by_kernel& found) {
    std::vector<double> theta(thetas);
    std::generate(theta.begin(), theta.end(), [&] { return d.theta(); });
    std::vector<P> position(positions);
    std::generate(position.begin(), position.end(), [&] { return d.template position<P>(); });

    const cordage::basis basis(theta);
    const cordage::exact_angles angles(basis, position);
    std::array<cos_and_sin<double>, 2> by_double;
    std::array<cos_and_sin<float>, 3> by_float;
    by_double[0].make(backend::scalar{}, angles);
    by_double[1].make(backend::fastest{}, angles);
    by_float[0].make(backend::scalar{}, angles);
    by_float[1].make(backend::fastest{}, angles);
    by_float[2].make(avx2_or_fastest{}, angles);

    for (std::size_t i = 0; i < positions; ++i) {
        const auto p = static_cast<double>(position[i]);
        for (std::size_t j = 0; j < thetas; ++j) {
            exact.set(p, theta[j]);
            const auto see = [&](worst& of, const auto& by, const bound& allowed) {
                of.see(exact.error_of(by.cos(i, j, thetas), by.sin(i, j, thetas)), allowed.at(theta[j], p), theta[j],
                       p);
            };
            for (std::size_t k = 0; k < 2; ++k) see(found[k], by_double[k], bound_double);
            for (std::size_t k = 0; k < 3; ++k) see(found[2 + k], by_float[k], bound_float);
        }
    }
}

/// Blocks first, first + step, ... of `blocks`, each with positions of every type; independent of the thread.
report check_blocks(std::uint64_t seed, std::uint64_t first, std::uint64_t step, std::uint64_t blocks) {
    report found;
    oracle::exact_cos_sin exact;
    for (std::uint64_t block = first; block < blocks; block += step) {
        draw d(seed * 1'000'000'007u + block);
        if (block % position_types == 0) check_block<std::int32_t>(d, exact, found[0]);
        if (block % position_types == 1) check_block<float>(d, exact, found[1]);
        if (block % position_types == 2) check_block<double>(d, exact, found[2]);
    }
    return found;
}

/// Whether the oracle detects an angle computed in float32, wrong by about 0.01.
bool sees_float32_angles() {
    oracle::exact_cos_sin exact;
    const double position = 999'983.0, theta = 0.3;
    exact.set(position, theta);
    const auto angle = static_cast<double>(static_cast<float>(position) * static_cast<float>(theta));
    return exact.error_of(std::cos(angle), std::sin(angle)) > 1e-3;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    const std::uint64_t blocks = std::max<std::uint64_t>(position_types, (cases + cases_of_block - 1) / cases_of_block);
    const std::uint64_t workers = std::max(1u, std::thread::hardware_concurrency());

    std::vector<report> parts(workers);
    {
        std::vector<std::jthread> running;
        for (std::uint64_t i = 0; i < workers; ++i) {
            running.emplace_back([&, i] { parts[i] = check_blocks(seed, i, workers, blocks); });
        }
    }

    bool all_within = true;
    const unsigned long long checked = blocks * cases_of_block;
    std::printf("%llu cases, seed %llu\n%-9s %-16s %-11s %-11s %s\n", checked, static_cast<unsigned long long>(seed),
                "positions", "kernel", "worst error", "of its bound", "at theta, position");
    for (std::size_t type = 0; type < position_types; ++type) {
        for (std::size_t kernel = 0; kernel < kernels; ++kernel) {
            worst all;
            for (const report& part : parts) all.see(part[type][kernel]);
            all_within = all_within && all.share <= 1.0;
            std::printf("%-9s %-16s %-11.3e %-12.3f %.17g, %.17g\n", position_names[type], kernel_names[kernel],
                        all.error, all.share, all.theta, all.position);
        }
    }
    const bool sees = sees_float32_angles();
    if (!sees) std::puts("failed: the reference must differ from an angle made in float32");
    if (!all_within) std::puts("failed: an error is beyond its bound");
    return all_within && sees ? EXIT_SUCCESS : EXIT_FAILURE;
}
