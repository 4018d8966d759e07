// SPDX-License-Identifier: MIT
// Kernels that nvcc compiled, against C++.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "ptx/compiled_kernels.hpp"
#include "ptx/launch.hpp"
#include "ptx/module.hpp"
#include "ptx/small_floats.hpp"
#include "ptx/text.hpp"

using namespace cordage_test::ptx;

namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& argument) {
    return std::as_bytes(std::span(&argument, 1));
}
template <class T>
memory_block block_of(std::vector<T>& numbers) {
    return memory_block::of(numbers.data(), numbers.size() * sizeof(T));
}

module& compiled() {
    const std::string path = CORDAGE_TEST_COMPILED_KERNELS;
    if (path.empty()) throw error("skipped: no nvcc");
    static module& m = *new module(module::of_file(path));
    return m;
}

// Runs one kernel of two arrays in a block of `threads`.
template <class X, class Y>
std::vector<finding> run(const char* name, std::vector<X>& x, std::vector<Y>& y, std::size_t threads) {
    const X* const from = x.data();
    Y* const to = y.data();
    return launch(compiled().kernel(name), {{}, {static_cast<u32>(threads), 1, 1}}, {bytes_of(from), bytes_of(to)},
                  global_memory({block_of(x), block_of(y)}));
}

}  // namespace

TEST_CASE("ptx/compiled: sums of blocks by shuffles and shared memory of the launch") {
    std::vector<float> x(1000), y(4);
    std::iota(x.begin(), x.end(), 1.0f);
    const float* const from = x.data();
    float* const to = y.data();
    const int count = 1000;
    const auto sums = [&](std::size_t shared_bytes) {
        return launch(compiled().kernel("sums"), {{4, 1, 1}, {256, 1, 1}, shared_bytes},
                      {bytes_of(from), bytes_of(to), bytes_of(count)}, global_memory({block_of(x), block_of(y)}));
    };
    CHECK(sums(32).empty());
    for (std::size_t i = 0; i < 4; ++i) {
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(256 * i);
        CHECK(y[i] == std::accumulate(first, i < 3 ? first + 256 : x.end(), 0.0f));
    }
    const auto findings = sums(28);
    REQUIRE(findings.size() == 2);  // the last warp writes past the end, and a thread reads there
    CHECK(findings[0].kind == "out of bounds");
    CHECK(findings[1].kind == "out of bounds");
}

TEST_CASE("ptx/compiled: exp, log and sqrt, as nvcc computes them") {
    std::vector<double> x, y(6 * 256);
    for (int i = 0; i < 256; ++i) x.push_back((i - 127.3) * std::pow(1.03, i) / 100.0);
    CHECK(run("functions", x, y, 256).empty());
    for (std::size_t i = 0; i < 256; ++i) {
        const double a = x[i], size = std::fabs(a);
        const auto f = static_cast<float>(a);
        const double wanted[] = {std::exp(a), std::log(size),         std::sqrt(size) / a,
                                 std::exp(f), std::log(std::fabs(f)), 1.0f / std::sqrt(std::fabs(f))};
        for (std::size_t k = 0; k < 6; ++k) {
            CAPTURE(a);
            CAPTURE(k);
            const double room = k < 3 ? 4e-16 : 3e-7;
            REQUIRE((y[6 * i + k] == wanted[k] ||
                     std::fabs(y[6 * i + k] - wanted[k]) <= room * (0.5 + std::fabs(wanted[k]))));
        }
    }
}

TEST_CASE("ptx/compiled: loops of different lengths, and an array in local memory") {
    std::vector<int> x, y(64);
    for (int i = 0; i < 64; ++i) x.push_back(3 + 7 * i);
    CHECK(run("loops", x, y, 64).empty());
    const auto last_of = [](int number) {
        std::vector<int> last(8);
        for (std::size_t i = 0; number != 1; ++i) {
            last[i % 8] = number;
            number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        }
        return last;
    };
    for (std::size_t i = 0; i < 64; ++i) {
        REQUIRE(y[i] == last_of(x[i])[static_cast<std::size_t>(x[i] % 8)] + last_of(x[i ^ 1])[3]);
    }
}

TEST_CASE("ptx/compiled: pairs of 16-bit floats") {
    std::vector<float> x;
    std::vector<u32> y(4 * 128);
    for (int i = 0; i < 256; ++i) x.push_back(std::ldexp(std::sin(static_cast<float>(i)), i % 29 - 14));
    std::vector<std::array<float, 2>> pairs(128);
    std::memcpy(pairs.data(), x.data(), sizeof(float) * x.size());
    CHECK(run("halves", pairs, y, 128).empty());
    for (std::size_t i = 0; i < 128; ++i) {
        const float low = x[2 * i], high = x[2 * i + 1];
        REQUIRE(y[4 * i] == (u32{f16::nearest(high).bits} << 16 | f16::nearest(low).bits));
        REQUIRE(y[4 * i + 1] == (u32{nearest_bf16(high).bits} << 16 | nearest_bf16(low).bits));
        REQUIRE(std::bit_cast<float>(y[4 * i + 2]) == float_of(nearest_bf16(low)));
        REQUIRE(std::bit_cast<float>(y[4 * i + 3]) == float_of(nearest_bf16(high)));
    }
}

TEST_CASE("ptx/compiled: a struct that nvcc lays out otherwise than the host is refused") {
    std::vector<double> y(1);
    double* const to = y.data();
    const auto run_with = [&](const char* name, const auto& value) {
        return launch(compiled().kernel(name), {}, {bytes_of(value), bytes_of(to)}, global_memory({block_of(y)}));
    };
    CHECK(run_with("takes_none", without_attribute{2.5, {}}).empty());
    CHECK(y[0] == 2.5);
    CHECK_THROWS_WITH_AS(run_with("takes_attribute", with_attribute{2.5, {}}),
                         "PTX: parameter 0 has 8 bytes on the host and 16 in the kernel: takes_attribute", error);
}

TEST_CASE("ptx/compiled: a missing barrier is a race") {
    std::vector<float> x(64, 1.0f), y(64);
    const auto findings = run("misses_barrier", x, y, 64);
    REQUIRE(!findings.empty());
    CHECK(findings.back().kind == "race");
}
