// SPDX-License-Identifier: MIT
// Runs what NVRTC compiles of the one file, and compares with the host. CORDAGE_TEST_PTX is the folder of the PTX;
// without it every case says that it is skipped.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cordage/kernels.hpp"
#include "cordage/pair/fp8.hpp"
#include "one_file/registers.hpp"
#include "ptx/launch.hpp"
#include "ptx/module.hpp"

#ifndef CORDAGE_TEST_PTX
#define CORDAGE_TEST_PTX ""
#endif

using namespace cordage;
using namespace cordage_test;

namespace {

using all_bytes = std::array<std::byte, sizeof(exact_results)>;

template <class T>
std::span<const std::byte> argument(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}
template <class T>
ptx::memory_block block_of(std::vector<T>& numbers) {
    return ptx::memory_block::of(numbers.data(), numbers.size() * sizeof(T));
}

void run(const std::string& file, const std::string& kernel, const ptx::launch_sizes& sizes,
         const std::vector<std::span<const std::byte>>& arguments, std::vector<ptx::memory_block> blocks) {
    const std::string folder = CORDAGE_TEST_PTX;
    if (folder.empty()) throw std::runtime_error("skipped: no NVRTC");
    ptx::module m = ptx::module::of_file(folder + "/" + file);
    for (const ptx::memory_block& variable : m.variables()) blocks.push_back(variable);
    for (const ptx::finding& f :
         ptx::launch(m.kernel(kernel), sizes, arguments, ptx::global_memory(std::move(blocks)))) {
        FAIL_CHECK(f.text());
    }
}

// The first frequencies are several turns a position.
basis basis_of(index_t pairs, double attention_factor) {
    std::vector<double> inv_freq;
    for (index_t i = 0; i < pairs; ++i) {
        inv_freq.push_back(100.0 * std::pow(1e8, -static_cast<double>(i) / static_cast<double>(pairs)));
    }
    return basis(std::move(inv_freq), attention_factor);
}

std::vector<given_numbers> numbers_for(const basis& b) {
    std::vector<given_numbers> all;
    unsigned seed = 1;
    const auto next = [&seed] {
        seed = 1664525u * seed + 1013904223u;
        return static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
    };
    for (index_t i = 0; i < b.pairs(); ++i) {
        const double position = std::ldexp(static_cast<double>(next()), static_cast<int>(i % 34));
        all.push_back({.inv_freq = b.inv_freq()[static_cast<std::size_t>(i)],
                       .position = position,
                       .whole_position = static_cast<std::int64_t>(position * 0x1p28),
                       .first = next(),
                       .second = next(),
                       .grad_first = next(),
                       .grad_second = next(),
                       .wide = std::ldexp(next(), static_cast<int>(i % 50) - 27)});
    }
    return all;
}

std::vector<double> values(const close_results& r) {
    return {r.cos,
            r.sin,
            r.cos_of_angle,
            r.sin_of_angle,
            double{r.first},
            double{r.second},
            double{r.grad_x_first},
            double{r.grad_x_second},
            double{r.grad_angle},
            double{r.grad_factor}};
}

}  // namespace

TEST_CASE("one_file/nvrtc: phases, cos, sin and formats have the host's bits, and the rotation its numbers") {
    for (const std::string architecture : {"75", "90"}) {  // fp8 and bfloat16 by integers, and by instructions
        const basis b = basis_of(256, 1.0);
        std::vector<std::uint64_t> fractions, whole_turns;
        std::vector<double> inv_freq(b.inv_freq().begin(), b.inv_freq().end());
        for (const double one : inv_freq) {
            fractions.push_back(turns_of(one).fraction);
            whole_turns.push_back(static_cast<std::uint64_t>(turns_of(one).whole));
        }
        std::vector<double> factors{1.0};
        const basis_view view{.fractions = fractions.data(),
                              .whole_turns = whole_turns.data(),
                              .inv_freq = inv_freq.data(),
                              .attention_factors = factors.data(),
                              .pairs = b.pairs()};
        std::vector<given_numbers> given = numbers_for(b);
        std::vector<exact_results> exact(given.size());
        std::vector<close_results> close(given.size());
        const given_numbers* const given_pointer = given.data();
        exact_results* const exact_pointer = exact.data();
        close_results* const close_pointer = close.data();
        run("registers_" + architecture + ".ptx", "registers", {{2, 1, 1}, {128, 1, 1}},
            {argument(view), argument(given_pointer), argument(exact_pointer), argument(close_pointer)},
            {block_of(fractions), block_of(whole_turns), block_of(given), block_of(exact), block_of(close)});
        for (index_t i = 0; i < b.pairs(); ++i) {
            CAPTURE(architecture);
            CAPTURE(i);
            const auto at = static_cast<std::size_t>(i);
            const exact_results on_host = exact_of(view, i, given[at]);
            CHECK(std::bit_cast<all_bytes>(exact[at]) == std::bit_cast<all_bytes>(on_host));
            CHECK(exact[at].phase == b.phase(i, given[at].position));
            const std::vector<double> here = values(close[at]), expected = values(close_of(given[at]));
            for (std::size_t k = 0; k < here.size(); ++k) {
                CAPTURE(k);
                CHECK(std::fabs(here[k] - expected[k]) <= (k < 4 ? 3e-16 : 5e-7));
            }
        }
    }
}

TEST_CASE("one_file/nvrtc: the kernel of the page for CuPy rotates as the library does") {
    constexpr heads_shape shape{.tokens = 5, .heads = 3, .head_dim = 128};
    const basis b = basis_of(shape.head_dim / 2, 1.25);
    std::vector<std::int64_t> position_ids{0, 1, -7, 131'071, 2'147'483'647};
    std::vector<float16> x, expected;
    for (index_t i = 0; i < shape.tokens * shape.heads * shape.head_dim; ++i) {
        x.push_back(to_float16(static_cast<float>(i * 37 % 1024) * 0x1p-9f - 1.0f));
    }
    expected = x;
    rotate_forward<half_split>(exact_angles(b, position_ids), in_place(token_major(expected.data(), shape)));
    std::vector<double> inv_freq(b.inv_freq().begin(), b.inv_freq().end());
    const double* const inv_freq_pointer = inv_freq.data();
    const auto attention_factor = static_cast<float>(b.attention_factor());
    const std::int64_t* const ids_pointer = position_ids.data();
    float16* const x_pointer = x.data();
    const int heads = shape.heads;
    run("cupy_kernel.ptx", "rotate_heads", {{shape.tokens, 1, 1}, {shape.head_dim / 2, 1, 1}},
        {argument(inv_freq_pointer), argument(attention_factor), argument(ids_pointer), argument(x_pointer),
         argument(heads)},
        {block_of(inv_freq), block_of(position_ids), block_of(x)});
    for (std::size_t i = 0; i < x.size(); ++i) {
        CAPTURE(i);
        CHECK(std::fabs(to_float(x[i]) - to_float(expected[i])) <= 0x1p-10f);  // the last bit of numbers below 2
    }
}
