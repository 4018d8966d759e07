// SPDX-License-Identifier: MIT
// The backend that chooses kernels when the program runs.
#include "cordage/backend/dispatched.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cordage/kernels.hpp"
#include "cordage/tensors/hadamard.hpp"
#include "cordage/tensors/lane_groups.hpp"
#include "message_of_error.hpp"

namespace {

using namespace cordage;
using backend::dispatched;

constexpr index_t tokens = 21, heads = 3, head_dim = 96, pairs = 40;
constexpr auto size = static_cast<std::size_t>(tokens * heads * head_dim);

/// A format that no table has.
struct halved {
    using compute = float;
    static float load(float x) noexcept { return 2.0f * x; }
    static float store(float x) noexcept { return x / 2.0f; }
};

struct call {
    std::vector<std::int32_t> position_ids;
    basis b;

    call()
        : b([] {
              std::vector<double> inv_freq;
              for (index_t i = 0; i < pairs; ++i)
                  inv_freq.push_back(std::pow(10000.0, -static_cast<double>(i) / pairs));
              return basis(inv_freq, 1.25);
          }()) {
        for (std::int32_t i = 0; i < tokens; ++i) position_ids.push_back(1000 * i + 7);
    }
    exact_angles<std::int32_t> angles() const { return {b, position_ids}; }
};

template <class T>
std::vector<T> numbers(unsigned seed, std::size_t count = size) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<T> made(count);
    for (T& x : made) x = element_traits<T>::store(static_cast<compute_of<T>>(normal(random)));
    return made;
}
template <class T, class Format = element_traits<T>>
heads_view<T, Format> view(std::vector<T>& of, const Format& format = {}) {
    return token_major(of.data(), {1, tokens, heads, head_dim}, format);
}
template <class T>
std::vector<unsigned char> bytes_of(const std::vector<T>& of) {
    std::vector<unsigned char> bytes(of.size() * sizeof(T));
    std::memcpy(bytes.data(), of.data(), bytes.size());
    return bytes;
}

/// What calls of every kind write, by a backend. (Not of every type, as this unit compiles each kernel once more.)
template <class Pairing, class Backend>
std::vector<std::vector<unsigned char>> written_by() {
    const call c;
    const auto angles = c.angles();
    std::vector<std::vector<unsigned char>> all;
    const auto keep = [&](const auto&... of) { (all.push_back(bytes_of(of)), ...); };

    const auto of_type = [&]<class T>(T) {
        auto q = numbers<T>(1), k = numbers<T>(2), v = numbers<T>(3);
        std::vector<T> y(q.size());
        rotate_forward<Pairing, Backend>(angles, in_place(view(q)), in_place(view(k), 8));
        rotate_inverse<Pairing, Backend>(angles, from_to(view(q), view(y)), in_place(view(v)).unrotated());
        keep(q, k, v, y);
        const auto weights = numbers<T>(4, static_cast<std::size_t>(head_dim));
        const auto of_all_heads = numbers<float>(5, static_cast<std::size_t>(heads * head_dim));
        const rms_norm<T> norm{.weight = weights.data(), .adds_one = true};
        rms_norm<T> rounded = norm;
        rounded.is_rounded_between = true;
        const rms_norm<float> over_all{.weight = of_all_heads.data(), .is_over_all_heads = true};
        rotate_forward<Pairing, Backend>(angles, in_place(view(k)).normalized(over_all));
        rotate_forward<Pairing, Backend>(angles, in_place(view(q)).normalized(norm),
                                         from_to(view(v), view(y)).normalized(rounded));
        std::vector<float> wide(q.size());
        rotate_forward<Pairing, Backend>(angles, from_to(view(v), view(wide)).normalized(rounded));
        keep(q, k, y, wide);

        std::vector<double> inv_freq(pairs), factor(1), weight(static_cast<std::size_t>(head_dim)), weight_of_k(weight);
        auto g = numbers<T>(6), g_of_k = numbers<T>(7), g_of_v = numbers<T>(8);
        rotate_backward<Pairing, Backend>(
            angles, rotation_gradients{.inv_freq = inv_freq, .attention_factor = factor},
            grad_through(view(g), view(q), view(g)).normalized(norm, weight),
            grad_through(view(g_of_v), view(v), view(g_of_v)),
            grad_through(view(g_of_k), view(k), view(g_of_k)).normalized(norm, weight_of_k));
        keep(g, g_of_k, g_of_v, weight, weight_of_k);
    };
    of_type(bfloat16{});

    // format_of(scales): a format, with its scales at an address if it has any
    const auto to_format = [&]<class T>(T, std::size_t count, bool has_norm, const auto& format_of) {
        auto q = numbers<float>(9), k = numbers<float>(10);
        auto v = numbers<bfloat16>(11);
        const auto weights = numbers<float>(12, static_cast<std::size_t>(head_dim));
        std::vector<T> of_k(count), of_v(count), moved(count);
        std::vector<float> scales_of_k(size), scales_of_v(size), scales_of_moved(size);
        const auto in = [&](std::vector<T>& of, std::vector<float>& scales) {
            const auto format = format_of(scales.data());
            if constexpr (requires { format.elements_of_group; }) {
                return group_major(of.data(), {1, tokens, heads, head_dim}, format.elements_of_group, format.inner);
            } else {
                return view(of, format);
            }
        };
        const auto from_k = from_to(view(k), in(of_k, scales_of_k), 8);
        const auto from_v = from_to(view(v), in(of_v, scales_of_v)).unrotated();
        if (has_norm) {
            const rms_norm<> norm{weights.data()};
            rotate_forward<Pairing, Backend>(angles, in_place(view(q)), from_k.normalized(norm), from_v);
        } else {
            rotate_forward<Pairing, Backend>(angles, in_place(view(q)), from_k, from_v);
        }
        std::vector<std::int32_t> later = c.position_ids;
        for (std::int32_t& id : later) id += 5;
        rebase<Pairing, Backend>(exact_angles(c.b, later) - angles,
                                 from_to(in(of_k, scales_of_k), in(moved, scales_of_moved), 8));
        keep(q, of_k, of_v, moved, scales_of_k, scales_of_v, scales_of_moved);
    };
    const auto with_scales = [&]<class Code>(Code code) {
        const auto format_of = [](float* scales) {
            return scaled_bytes<Code>{{scales, 0, 3 * heads, 3}, head_dim / 3};
        };
        to_format(code, size, true, format_of);
        to_format(code, size, false, [&](float* scales) {
            return hadamard<scaled_bytes<Code>>{32, format_of(scales)};
        });
    };
    to_format(float16{}, size, true, [](float*) { return lane_groups<element_traits<float16>>{16, 0, {}}; });
    to_format(float{}, size, true, [](float*) { return halved{}; });
    with_scales(std::int8_t{});
    to_format(fp8_e4m3{}, size, true, [](float* scales) {
        return mxfp8_e4m3{{reinterpret_cast<e8m0*>(scales), 0, 3 * heads, 3}, head_dim / 3, scale_rounding::up};
    });
    to_format(q8_0_block{}, size / 32, false, [](float*) { return q8_0{}; });

    const cos_sin_table<float> table(angles, serial{}, Backend{});
    keep(std::vector<float>(table.view().cos_data, table.view().cos_data + tokens * pairs),
         std::vector<float>(table.view().sin_data, table.view().sin_data + tokens * pairs));
    return all;
}

/// Whether the kernels of this unit are those of a table.
bool are_compiled(std::string_view name) {
    using arch = xsimd::default_arch;
    constexpr bool is_avx2 = std::is_same_v<arch, xsimd::fma3<xsimd::avx2>>;
#if defined(__AVX512BF16__)
    return false;  // no table has these instructions
#endif
    return name == (backend::simd_detail::is_avx512<arch> ? "avx512" : is_avx2 ? "avx2" : "baseline");
}

/// Selects kernels, and those of before at the end.
struct selected {
    const backend::kernel_table* before = backend::chosen_kernels().load();

    explicit selected(const backend::kernel_table* of) { backend::chosen_kernels().store(of); }
    ~selected() { backend::chosen_kernels().store(before); }
    selected(const selected&) = delete;
    selected& operator=(const selected&) = delete;
};

}  // namespace

TEST_CASE("dispatched: the kernels of a table write the bytes of the same kernels compiled here") {
    for (const auto& [table, is_usable] : backend::all_kernels()) {
        if (!is_usable || !are_compiled(table->name)) continue;
        const selected kernels(table);
        CHECK(written_by<half_split, dispatched>() == written_by<half_split, backend::compiled>());
    }
}

TEST_CASE("dispatched: all kernels that run here rotate as the scalar backend") {
    const call c;
    const auto x = numbers<float>(1);
    std::vector<float> oracle = x;
    rotate_forward<half_split, backend::scalar>(c.angles(), in_place(view(oracle)));
    int count = 0;
    for (const auto& [table, is_usable] : backend::all_kernels()) {
        if (!is_usable) continue;
        const selected kernels(table);
        std::vector<float> y = x;
        rotate_forward<half_split>(c.angles(), in_place(view(y)));
        float worst = 0.0f;
        for (std::size_t i = 0; i < y.size(); ++i) worst = std::max(worst, std::fabs(y[i] - oracle[i]));
        CHECK(worst < 2e-6f);
        CHECK(worst > 0.0f);  // floats of vectors, not the scalar backend itself
        ++count;
    }
    CHECK(count >= 1);
    CHECK(std::same_as<backend::fastest, dispatched>);
}

TEST_CASE("dispatched: a norm with more weights than a table takes runs on the compiled kernels") {
    constexpr index_t many = 100;
    const call c;
    const auto weights = numbers<bfloat16>(1, static_cast<std::size_t>(many * head_dim));
    static_assert(many * head_dim > backend::most_norm_weights);
    const auto result_by = [&]<class Backend>(Backend) {
        auto q = numbers<bfloat16>(2, static_cast<std::size_t>(tokens * many * head_dim));
        rotate_forward<half_split, Backend>(
            c.angles(), in_place(token_major(q.data(), {1, tokens, many, head_dim}))
                            .normalized(rms_norm<bfloat16>{.weight = weights.data(), .is_over_all_heads = true}));
        return bytes_of(q);
    };
    CHECK(result_by(dispatched{}) == result_by(backend::compiled{}));
}

TEST_CASE("dispatched: a norm over all heads between two types is one mean, of more heads than are staged at once") {
    constexpr index_t many = 24;  // of 96 lanes; 10 are staged
    const call c;
    auto x = numbers<float>(1, static_cast<std::size_t>(tokens * many * head_dim));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= static_cast<float>(1 + i / head_dim % many);
    const auto weights = numbers<float>(2, static_cast<std::size_t>(many * head_dim));
    const auto of_all = [&](auto& all) { return token_major(all.data(), {1, tokens, many, head_dim}); };
    const auto result_by = [&]<class Backend>(Backend) {
        std::vector<bfloat16> y(x.size());
        rotate_forward<half_split, Backend>(
            c.angles(),
            from_to(of_all(x), of_all(y)).normalized({.weight = weights.data(), .is_over_all_heads = true}));
        return bytes_of(y);
    };
    CHECK(result_by(dispatched{}) == result_by(backend::compiled{}));
}

TEST_CASE("dispatched: operands of two types in double run on the compiled kernels") {
    const call c;
    const auto weights = numbers<double>(1, head_dim);
    const auto result_by = [&]<class Backend>(Backend) {
        auto q = numbers<double>(2, static_cast<std::size_t>(tokens * heads * head_dim)), v = q;
        rotate_forward<half_split, Backend>(
            c.angles(), in_place(view(q)).normalized(rms_norm<double>{.weight = weights.data()}), in_place(view(v)));
        q.insert(q.end(), v.begin(), v.end());
        return bytes_of(q);
    };
    CHECK(result_by(dispatched{}) == result_by(backend::compiled{}));
}

TEST_CASE("dispatched: heads of two types with more lanes than a table stages run on the compiled kernels") {
    const std::vector<double> ones(64, 1.0);
    const basis b(ones);
    const std::vector<std::int32_t> ids{7};
    const exact_angles angles(b, ids);
    for (const index_t lanes : {2050, 4096, 8192}) {
        const auto of_dim = [&](const auto& x) { return token_major(x.data(), {1, 1, 1, lanes}); };
        const auto x = numbers<float>(1, static_cast<std::size_t>(lanes));
        const auto weights = numbers<float>(2, static_cast<std::size_t>(lanes));
        for (const bool is_normalized : {false, true}) {
            const auto result_by = [&]<class Backend>(Backend) {
                std::vector<bfloat16> y(x.size());
                const auto o = from_to(of_dim(x), token_major(y.data(), {1, 1, 1, lanes}));
                if (is_normalized) {
                    rotate_forward<half_split, Backend>(angles, o.normalized(rms_norm<>{weights.data()}));
                } else {
                    rotate_forward<half_split, Backend>(angles, o);
                }
                return bytes_of(y);
            };
            CHECK(result_by(dispatched{}) == result_by(backend::compiled{}));
        }
    }
}

TEST_CASE("dispatched: a table of cos and sin is written to its end and no further") {
    std::vector<double> inv_freq;
    for (index_t i = 0; i < 37; ++i) inv_freq.push_back(1.0 / static_cast<double>(1 + i));  // no whole vectors
    const basis b(inv_freq);
    const std::vector<std::int32_t> position_ids{3, 70'000};
    const exact_angles angles(b, position_ids);
    std::vector<float> cos(2 * 37 + 16, 7.0f), sin = cos;
    backend::fill_range(dispatched{}, angles, cos.data(), sin.data(), 0, 2);
    for (std::size_t i = 0; i < cos.size(); ++i) {
        const auto token = static_cast<index_t>(i / 37), pair = static_cast<index_t>(i % 37);
        const auto at = token < 2 ? cos_sin_at<double>(angles, 0, token, pair) : cos_sin<double>{7.0, 7.0};
        CHECK(static_cast<double>(cos[i]) == doctest::Approx(at.cos).epsilon(1e-6));
        CHECK(static_cast<double>(sin[i]) == doctest::Approx(at.sin).epsilon(1e-6));
    }
}

TEST_CASE("dispatched: kernels have names") {
    CHECK(backend::kernels_named("f", "baseline") == &backend::baseline_kernels);
    CHECK(backend::kernels_named("f", "best") == backend::chosen_kernels().load());
    const std::string message = cordage_test::message_of_error([] { (void)backend::kernels_named("f", "avx3"); });
    CHECK(message.starts_with("f: name 'avx3' must be one that this library and processor support: "));
    CHECK(message.ends_with("'baseline', 'best'"));
}
