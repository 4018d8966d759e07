// SPDX-License-Identifier: MIT
// The results of the C interface, through the shared library, equal those of the C++ calls, with every instruction set
// of the machine.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cordage/c/cordage.h"
#include "cordage/kernels.hpp"
#include "cordage/models/config/read.hpp"
#include "models/checkpoint/written_files.hpp"

namespace {

using namespace cordage;

#define REQUIRE_OK(call)                    \
    do {                                    \
        const cordage_status status = call; \
        INFO(cordage_last_error());         \
        REQUIRE(status == CORDAGE_OK);      \
    } while (false)

constexpr index_t tokens = 9, heads = 3, head_dim = 64, pairs = 24, first_lane = 8, count = tokens * heads * head_dim;
constexpr heads_shape shape{1, tokens, heads, head_dim};

template <class T>
constexpr std::int32_t dtype_of = CORDAGE_FLOAT32;
template <>
constexpr std::int32_t dtype_of<double> = CORDAGE_FLOAT64;
template <>
constexpr std::int32_t dtype_of<float16> = CORDAGE_FLOAT16;
template <>
constexpr std::int32_t dtype_of<bfloat16> = CORDAGE_BFLOAT16;
template <class P>
constexpr std::int32_t pairing_of = std::same_as<P, half_split> ? CORDAGE_HALF_SPLIT : CORDAGE_INTERLEAVED;

template <class T>
std::vector<T> random_numbers(index_t size, std::uint32_t seed) {
    std::vector<T> numbers;
    for (index_t i = 0; i < size; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const double x = static_cast<double>(seed >> 8) / 8388608.0 - 1.0;
        numbers.push_back(element_traits<T>::store(static_cast<compute_of<T>>(x)));
    }
    return numbers;
}
template <class T>
double number(T x) {
    return static_cast<double>(element_traits<T>::load(x));
}
template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(number(a[i]) - number(b[i])));
    return largest;
}
// One rounding of numbers below 4, and the error of cos and sin.
template <class T>
constexpr double tolerance = 2e-6;
template <>
constexpr double tolerance<double> = 1e-12;
template <>
constexpr double tolerance<float16> = 0x1p-9;
template <>
constexpr double tolerance<bfloat16> = 0x1p-6;

template <class T>
cordage_tensor tensor(std::vector<T>& x) {
    return cordage_dense(x.data(), dtype_of<T>, 1, tokens, heads, head_dim);
}

// Handles of one basis, for these positions and others.
struct handles {
    std::vector<double> inv_freq = std::vector<double>(pairs);
    std::vector<std::int64_t> ids{100000, 3, -7, 12, 12, 2147483647, 9, 0, 5}, new_ids = ids;
    cordage_basis* basis = nullptr;
    cordage_angles *angles = nullptr, *new_angles = nullptr, *difference = nullptr;

    handles() {
        for (std::size_t i = 0; i < inv_freq.size(); ++i) inv_freq[i] = std::pow(1e4, -static_cast<double>(i) / pairs);
        for (std::int64_t& id : new_ids) id = id == 12 ? 12 : id - 2;
        REQUIRE_OK(cordage_basis_from_numbers(CORDAGE_ABI, inv_freq.data(), pairs, 1.25, &basis));
        REQUIRE_OK(make(ids, &angles));
        REQUIRE_OK(make(new_ids, &new_angles));
        REQUIRE_OK(cordage_angles_difference(new_angles, angles, &difference));
    }
    handles(const handles&) = delete;
    ~handles() {
        cordage_basis_destroy(basis);
        cordage_angles_destroy(angles);
        cordage_angles_destroy(new_angles);
        cordage_angles_destroy(difference);
    }
    cordage_status make(std::vector<std::int64_t>& positions, cordage_angles** made) const {
        const cordage_tensor t{positions.data(), CORDAGE_INT64, 1, {tokens}, {}, 0};
        const cordage_basis* one = basis;
        return cordage_angles_create(&one, 1, &t, nullptr, made);
    }
    cordage::basis numbers() const { return cordage::basis(inv_freq, 1.25); }
};

// Calls f() with each instruction set that the library and this machine support.
template <class F>
void by_every_instruction_set(const F& f) {
    int selected = 0;
    for (const char* name : {"baseline", "avx2", "avx512", "native"}) {
        if (cordage_select_kernels(name) != CORDAGE_OK) continue;
        CAPTURE(name);
        CHECK(std::string(cordage_kernels()) == name);
        ++selected;
        f();
    }
    CHECK(selected >= 1);
    REQUIRE_OK(cordage_select_kernels("best"));
}

template <class T, class P>
void check_rotation() {
    const handles h;
    const basis b = h.numbers();
    const std::vector<T> x = random_numbers<T>(count, 1);
    std::vector<T> wanted = x, wanted_back;
    rotate_forward<P, backend::scalar>(exact_angles(b, h.ids), in_place(token_major(wanted.data(), shape), first_lane));
    wanted_back = wanted;
    rotate_inverse<P, backend::scalar>(exact_angles(b, h.ids),
                                       in_place(token_major(wanted_back.data(), shape), first_lane));
    by_every_instruction_set([&] {
        std::vector<T> y = x, z(x.size());
        cordage_operand o{};
        o.x.tensor = tensor(y);
        o.first_lane = first_lane;
        REQUIRE_OK(cordage_rotate_forward(nullptr, h.angles, pairing_of<P>, &o, 1));
        CHECK(largest_difference(y, wanted) <= tolerance<T>);
        CHECK(largest_difference(y, x) > 0.1);
        o.y.tensor = tensor(z);
        REQUIRE_OK(cordage_rotate_inverse(nullptr, h.angles, pairing_of<P>, &o, 1));
        CHECK(largest_difference(z, wanted_back) <= 2.0 * tolerance<T>);
    });
}
TEST_CASE("c/rotate: forward and inverse equal the C++ calls") {
    check_rotation<float, half_split>();
    check_rotation<float, interleaved>();
    check_rotation<double, half_split>();
    check_rotation<double, interleaved>();
    check_rotation<float16, half_split>();
    check_rotation<bfloat16, half_split>();
    check_rotation<bfloat16, interleaved>();
}

template <class T, class W>
void check_norm(bool over_all_heads) {
    const handles h;
    const basis b = h.numbers();
    const std::vector<T> x = random_numbers<T>(count, 2);
    std::vector<W> weight = random_numbers<W>(over_all_heads ? heads * head_dim : head_dim, 3);
    std::vector<T> wanted = x;
    rotate_forward<half_split, backend::scalar>(
        exact_angles(b, h.ids), in_place(token_major(wanted.data(), shape), first_lane)
                                    .normalized(rms_norm<W>{weight.data(), 1e-5, true, over_all_heads}));
    cordage_norm norm{};
    norm.weight = {
        weight.data(), dtype_of<W>, over_all_heads ? 2 : 1, {over_all_heads ? heads : head_dim, head_dim}, {}, 0};
    norm.epsilon = 1e-5;
    norm.adds_one = 1;
    norm.is_over_all_heads = over_all_heads ? 1 : 0;
    by_every_instruction_set([&] {
        std::vector<T> y = x;
        cordage_operand o{};
        o.x.tensor = tensor(y);
        o.first_lane = first_lane;
        o.norm = &norm;
        REQUIRE_OK(cordage_rotate_forward(nullptr, h.angles, CORDAGE_HALF_SPLIT, &o, 1));
        CHECK(largest_difference(y, wanted) <= 8.0 * tolerance<T>);
    });
}
TEST_CASE("c/rotate: norms and their weights of any type equal those of the C++ calls") {
    check_norm<float, float>(false);
    check_norm<float, bfloat16>(true);
    check_norm<double, double>(false);
    check_norm<bfloat16, bfloat16>(false);
    check_norm<float16, float>(true);
}

// A cache with two blocks more than the tokens need, and the tokens' slots.
constexpr index_t blocks = 4, block_size = 4;
constexpr heads_shape cache_shape{blocks, block_size, heads, head_dim};
std::vector<std::int32_t> slots{11, 3, -1, 0, 15, 7, 8, 9, 2};

// All heads of a cache as floats.
template <class View>
std::vector<float> floats_of(const View& cache) {
    std::vector<float> all;
    std::vector<float> lanes(head_dim);
    for (index_t block = 0; block < blocks; ++block) {
        for (index_t slot = 0; slot < block_size; ++slot) {
            for (index_t head = 0; head < heads; ++head) {
                tensors_detail::load_lanes<float>(cache.format, cache.head(block, slot, head), {block, slot, head},
                                                  lanes.data(), head_dim);
                all.insert(all.end(), lanes.begin(), lanes.end());
            }
        }
    }
    return all;
}
// Nearly all are equal, and none differs by more than a step of the format.
void check_stored(const std::vector<float>& got, const std::vector<float>& wanted, double step) {
    REQUIRE(got.size() == wanted.size());
    std::size_t differ = 0, filled = 0;
    double largest = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double difference = std::fabs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
        largest = std::max(largest, difference);
        if (difference > 4e-6) ++differ;
        if (wanted[i] != 0.0f) ++filled;
    }
    CHECK(largest <= step);
    CHECK(differ * 100 <= got.size());
    CHECK(filled * 3 > got.size());
}

// k, normalized and rotated, stored into a cache of elements E; then moved to other positions.
template <class E, class MakeView>
void check_cache(std::int32_t dtype, double step, const MakeView& view_of, cordage_heads c, index_t elements) {
    CAPTURE(dtype);
    const handles h;
    const basis b = h.numbers();
    std::vector<float> k = random_numbers<float>(count, 4), weight = random_numbers<float>(head_dim, 5);
    std::vector<E> wanted(static_cast<std::size_t>(elements)), cache = wanted;
    std::vector<float> wanted_scales(blocks * block_size * heads, 1.0f), scales = wanted_scales;
    const rms_norm<> norm{weight.data(), 1e-6};
    cordage_norm c_norm{};
    c_norm.weight = {weight.data(), CORDAGE_FLOAT32, 1, {head_dim}, {}, 0};
    c_norm.epsilon = 1e-6;

    const auto in_cache = [&](std::vector<E>& of, std::vector<float>& its_scales) {
        return view_of(of.data(), its_scales.data());
    };
    rotate_forward<half_split, backend::scalar>(
        exact_angles(b, h.ids), from_to(token_major(k.data(), shape),
                                        in_slots(in_cache(wanted, wanted_scales), slots.data(), 1, tokens), first_lane)
                                    .normalized(norm));
    const std::vector<float> stored = floats_of(in_cache(wanted, wanted_scales));
    rebase<half_split, backend::scalar>(
        exact_angles(b, h.new_ids) - exact_angles(b, h.ids),
        in_place(in_slots(in_cache(wanted, wanted_scales), slots.data(), 1, tokens), first_lane));
    const std::vector<float> moved = floats_of(in_cache(wanted, wanted_scales));

    const cordage_tensor slot_tensor{slots.data(), CORDAGE_INT32, 1, {tokens}, {}, 0};
    const cordage_tensor scale_tensor{scales.data(), CORDAGE_FLOAT32, 3, {blocks, block_size, heads}, {}, 0};
    c.tensor.data = cache.data();
    c.tensor.dtype = dtype;
    c.slot_mapping = &slot_tensor;
    const bool is_e8m0 = c.scales_round_up != 0, is_nvfp4 = c.tensor_scale != 0.0f;
    const cordage_tensor byte_tensor{
        scales.data(), is_e8m0 ? CORDAGE_FLOAT8_E8M0 : CORDAGE_FLOAT8_E4M3, 4, {blocks, block_size, heads, 4}, {}, 0};
    if (is_e8m0 || is_nvfp4) {
        c.scales = &byte_tensor;
    } else if (dtype == CORDAGE_INT8 || dtype == CORDAGE_FLOAT8_E4M3 || dtype == CORDAGE_FLOAT8_E5M2) {
        c.scales = &scale_tensor;
    }
    by_every_instruction_set([&] {
        std::fill(cache.begin(), cache.end(), E{});
        cordage_operand o{};
        o.x.tensor = tensor(k);
        o.y = c;
        o.norm = &c_norm;
        o.first_lane = first_lane;
        REQUIRE_OK(cordage_rotate_forward(nullptr, h.angles, CORDAGE_HALF_SPLIT, &o, 1));
        check_stored(floats_of(in_cache(cache, scales)), stored, step);
        cordage_operand move{};
        move.x = c;
        move.first_lane = first_lane;
        REQUIRE_OK(cordage_rebase(nullptr, h.difference, CORDAGE_HALF_SPLIT, &move, 1));
        check_stored(floats_of(in_cache(cache, scales)), moved, 2.0 * step);
    });
}
TEST_CASE("c/cache: stores and moves equal the C++ calls, in every format") {
    cordage_heads dense{};
    dense.tensor = cordage_dense(nullptr, 0, blocks, block_size, heads, head_dim);
    constexpr index_t all = blocks * block_size * heads * head_dim;
    check_cache<float>(
        CORDAGE_FLOAT32, 4e-6, [](float* p, float*) { return token_major(p, cache_shape); }, dense, all);
    check_cache<float16>(
        CORDAGE_FLOAT16, 0x1p-9, [](float16* p, float*) { return token_major(p, cache_shape); }, dense, all);
    check_cache<bfloat16>(
        CORDAGE_BFLOAT16, 0x1p-6, [](bfloat16* p, float*) { return token_major(p, cache_shape); }, dense, all);
    const auto coded = []<class Code>(Code* p, float* scales) {
        return token_major(p, cache_shape, scaled_bytes<Code>{.scales = {scales, block_size * heads, heads, 1}});
    };
    check_cache<std::int8_t>(CORDAGE_INT8, 4.0 / 127.0, coded, dense, all);
    check_cache<fp8_e4m3>(CORDAGE_FLOAT8_E4M3, 0.5, coded, dense, all);
    check_cache<fp8_e5m2>(CORDAGE_FLOAT8_E5M2, 1.0, coded, dense, all);
    // Scales of one byte: four lie in the float of a head.
    const auto in_bytes = []<class Code>(Code* p, float* scales) {
        const scale_table_of<e8m0> table{reinterpret_cast<e8m0*>(scales), 4 * block_size * heads, 4 * heads, 4};
        return token_major(p, cache_shape, mx_blocks<Code>{table, head_dim / 4, scale_rounding::up, 0x1p-20f});
    };
    cordage_heads mx = dense;
    mx.scales_round_up = 1;
    mx.scale_least = 0x1p-20f;
    check_cache<fp8_e4m3>(CORDAGE_FLOAT8_E4M3, 0.5, in_bytes, mx, all);
    check_cache<fp4_e2m1_x2>(CORDAGE_FLOAT4_E2M1_X2, 2.0, in_bytes, mx, all / 2);
    cordage_heads nv = dense;
    nv.tensor_scale = 0.01f;
    check_cache<fp4_e2m1_x2>(
        CORDAGE_FLOAT4_E2M1_X2, 2.0,
        [](fp4_e2m1_x2* p, float* scales) {
            auto* const small = reinterpret_cast<fp8_e4m3*>(scales);
            return token_major(p, cache_shape, nvfp4{{small, 4 * block_size * heads, 4 * heads, 4}, 0.01f});
        },
        nv, all / 2);
    check_cache<q8_0_block>(
        CORDAGE_Q8_0, 4.0 / 127.0, [](q8_0_block* p, float*) { return token_major(p, cache_shape, q8_0{}); }, dense,
        all / 32);
    check_cache<q4_0_block>(
        CORDAGE_Q4_0, 0.8, [](q4_0_block* p, float*) { return token_major(p, cache_shape, q4_0{}); }, dense, all / 32);
    cordage_heads transformed = dense;
    transformed.hadamard_size = 64;
    check_cache<q8_0_block>(
        CORDAGE_Q8_0, 8.0 / 127.0,
        [](q8_0_block* p, float*) { return token_major(p, cache_shape, hadamard<q8_0>{64}); }, transformed, all / 32);
    cordage_heads grouped{};  // vLLM's [blocks, heads, head_dim / 8, block_size, 8]
    grouped.tensor = {nullptr,
                      0,
                      5,
                      {blocks, block_size, heads, head_dim / 8, 8},
                      {block_size * heads * head_dim, 8, head_dim * block_size, 8 * block_size, 1},
                      0};
    check_cache<bfloat16>(
        CORDAGE_BFLOAT16, 0x1p-6, [](bfloat16* p, float*) { return group_major(p, cache_shape, 8); }, grouped, all);
}

TEST_CASE("c/cache: quantised keys that are not rotated keep their bytes, in place and in other slots") {
    const handles h;  // tokens 3 and 4 stay at position 12
    // No code reaches 127, so that quantising again would change all of them.
    std::vector<std::int8_t> codes(blocks * block_size * heads * head_dim);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int8_t>(static_cast<int>(i % 61) - 30);
    std::vector<float> scales(blocks * block_size * heads, 0.25f);
    std::vector<std::int32_t> from{1, 2, 3, 4, 5, 6, 7, 8, 9}, to{1, 2, 3, 4, 14, 6, 7, 8, 9};
    const std::vector<std::int8_t> before = codes;
    const cordage_tensor from_tensor{from.data(), CORDAGE_INT32, 1, {tokens}, {}, 0};
    const cordage_tensor to_tensor{to.data(), CORDAGE_INT32, 1, {tokens}, {}, 0};
    const cordage_tensor scale_tensor{scales.data(), CORDAGE_FLOAT32, 3, {blocks, block_size, heads}, {}, 0};
    cordage_operand o{};
    o.x.tensor = cordage_dense(codes.data(), CORDAGE_INT8, blocks, block_size, heads, head_dim);
    o.x.scales = &scale_tensor;
    o.y = o.x;
    o.x.slot_mapping = &from_tensor;
    o.y.slot_mapping = &to_tensor;
    o.first_lane = first_lane;
    REQUIRE_OK(cordage_rebase(nullptr, h.difference, CORDAGE_HALF_SPLIT, &o, 1));
    constexpr std::size_t slot = heads * head_dim;
    const auto is_kept = [&](std::size_t old_slot, std::size_t new_slot) {
        return std::memcmp(&codes[new_slot * slot], &before[old_slot * slot], slot) == 0 &&
               scales[new_slot * heads] == 0.25f;
    };
    CHECK(is_kept(4, 4));
    CHECK(is_kept(5, 14));
    CHECK(is_kept(0, 0));
    CHECK_FALSE(is_kept(1, 1));
    CHECK_FALSE(is_kept(6, 6));
}

template <class T, class P>
void check_backward() {
    const handles h;
    const basis b = h.numbers();
    std::vector<T> x = random_numbers<T>(count, 6), g = random_numbers<T>(count, 7), y = x, gx(x.size());
    std::vector<T> weight = random_numbers<T>(head_dim, 8);
    rotate_forward<P, backend::scalar>(exact_angles(b, h.ids), in_place(token_major(y.data(), shape), first_lane));
    std::vector<double> inv_freq(pairs), position(tokens), factor(1), of_weight(head_dim);
    const auto view = [](auto& v) { return token_major(v.data(), shape); };
    const rms_norm<T> norm{weight.data(), 1e-6};
    std::vector<T> gx_of_norm(x.size());
    rotate_backward<P, backend::scalar>(exact_angles(b, h.ids), rotation_gradients{inv_freq, position, factor},
                                        grad_through(view(g), view(y), view(gx), first_lane));
    rotate_backward<P, backend::scalar>(
        exact_angles(b, h.ids), rotation_gradients{inv_freq, position, factor},
        grad_through(view(g), view(x), view(gx_of_norm), first_lane).normalized(norm, of_weight));
    cordage_norm c_norm{};
    c_norm.weight = {weight.data(), dtype_of<T>, 1, {head_dim}, {}, 0};
    c_norm.epsilon = 1e-6;
    by_every_instruction_set([&] {
        std::vector<T> first(x.size()), second(x.size()), alone = g;
        std::vector<double> c_inv_freq(pairs), c_position(tokens), c_factor(1), c_of_weight(head_dim);
        const cordage_gradients grads{c_inv_freq.data(), pairs, c_position.data(), tokens, c_factor.data(), 1};
        cordage_backward_operand o[2] = {};
        o[0].grad_y = tensor(g);
        o[0].y = tensor(y);
        o[0].grad_x = tensor(first);
        o[1] = o[0];
        o[1].y = tensor(x);
        o[1].grad_x = tensor(second);
        o[1].norm = &c_norm;
        o[1].grad_weight = c_of_weight.data();
        o[1].grad_weight_count = head_dim;
        o[0].first_lane = o[1].first_lane = first_lane;
        REQUIRE_OK(cordage_rotate_backward(nullptr, h.angles, pairing_of<P>, &grads, o, 2));
        CHECK(largest_difference(first, gx) <= tolerance<T>);
        CHECK(largest_difference(second, gx_of_norm) <= 8.0 * tolerance<T>);
        const double relative = std::same_as<T, double> ? 1e-12 : 3e-6;
        const auto check_sums = [&](const std::vector<double>& got, const std::vector<double>& wanted) {
            double most = 0.0;
            for (const double w : wanted) most = std::max(most, std::fabs(w));
            CHECK(most > 0.1);
            CHECK(largest_difference(got, wanted) <= relative * most);
        };
        check_sums(c_inv_freq, inv_freq);
        check_sums(c_position, position);
        check_sums(c_factor, factor);
        check_sums(c_of_weight, of_weight);
        cordage_backward_operand grad_alone{};
        grad_alone.grad_y = grad_alone.grad_x = tensor(alone);
        grad_alone.first_lane = first_lane;
        REQUIRE_OK(cordage_rotate_backward(nullptr, h.angles, pairing_of<P>, nullptr, &grad_alone, 1));
        CHECK(largest_difference(alone, gx) <= tolerance<T>);
    });
}
TEST_CASE("c/backward: all gradients equal those of the C++ calls") {
    check_backward<float, half_split>();
    check_backward<double, interleaved>();
}

TEST_CASE("c/executor: the caller's pool and threads of the library give the bits of one thread") {
    std::vector<std::int64_t> ids(1000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 977);
    const std::vector<double> inv_freq(32, 0.37);
    cordage_basis* b = nullptr;
    cordage_angles* angles = nullptr;
    REQUIRE_OK(cordage_basis_from_numbers(CORDAGE_ABI, inv_freq.data(), 32, 1.0, &b));
    const cordage_tensor t{ids.data(), CORDAGE_INT64, 1, {1000}, {}, 0};
    const cordage_basis* one = b;
    REQUIRE_OK(cordage_angles_create(&one, 1, &t, nullptr, &angles));
    REQUIRE_OK(cordage_basis_destroy(b));  // the angles keep what they need
    struct pool {
        int calls = 0;
        static void run(void* self, std::int64_t n, void (*body)(void*, std::int64_t), void* data) {
            static_cast<pool*>(self)->calls += static_cast<int>(n);
            for (std::int64_t i = n; i-- > 0;) body(data, i);
        }
    } counted;
    const cordage_executor own{pool::run, &counted, 3}, started{nullptr, nullptr, 4};
    const std::vector<float> x = random_numbers<float>(1000 * 16 * 64, 9);
    std::vector<float> expected = x;
    for (const cordage_executor* where : {static_cast<const cordage_executor*>(nullptr), &own, &started}) {
        std::vector<float> y = x;
        cordage_operand o{};
        o.x.tensor = cordage_dense(y.data(), CORDAGE_FLOAT32, 1, 1000, 16, 64);
        REQUIRE_OK(cordage_rotate_forward(where, angles, CORDAGE_INTERLEAVED, &o, 1));
        if (where == nullptr) expected = y;
        CHECK(y == expected);
    }
    CHECK(counted.calls == 3);
    REQUIRE_OK(cordage_angles_destroy(angles));
}

TEST_CASE("c/rule: frequencies, pairing and axes equal those of the config reader") {
    const std::string text = R"({"model_type": "qwen2_vl", "hidden_size": 1536, "num_attention_heads": 12,
        "max_position_embeddings": 32768, "rope_theta": 1000000.0,
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})";
    const auto wanted = hf::read_config(text).of("");
    cordage_rule* rule = nullptr;
    cordage_basis* b = nullptr;
    REQUIRE_OK(cordage_rule_from_config(CORDAGE_ABI, text.c_str(), nullptr, &rule));
    cordage_rule_info info{};
    REQUIRE_OK(cordage_rule_get_info(rule, &info));
    CHECK(info.head_dim == 128);
    CHECK(info.rotary_dim == 128);
    CHECK(info.axes == 3);
    CHECK(info.pairing == CORDAGE_HALF_SPLIT);
    CHECK(info.original_length == wanted.config.original_length);
    std::vector<std::uint8_t> axes(64);
    REQUIRE_OK(cordage_rule_get_axes(rule, axes.data(), 64));
    CHECK(axes == contiguous_axes({16, 24, 24}));
    REQUIRE_OK(cordage_basis_at_length(rule, 50000.0, &b));
    const basis expected = make_basis(wanted.config, wanted.policy, wanted.schedule.ratio(wanted.config, 50000.0));
    std::vector<double> inv_freq(64);
    cordage_basis_info of{};
    REQUIRE_OK(cordage_basis_get_info(b, &of));
    REQUIRE_OK(cordage_basis_get_inv_freq(b, inv_freq.data(), 64));
    CHECK(of.fingerprint == expected.fingerprint());
    CHECK(std::equal(inv_freq.begin(), inv_freq.end(), expected.inv_freq().begin()));

    // Positions of three axes, and a basis for each token.
    std::vector<float> x = random_numbers<float>(2 * 128, 10), y = x;
    std::vector<std::int32_t> ids{5, 70000, 3, 4, 9, 1}, basis_of_token{1, 0};
    cordage_basis* other = nullptr;
    const std::vector<double> rates(64, 0.01);
    REQUIRE_OK(cordage_basis_from_numbers(CORDAGE_ABI, rates.data(), 64, 0.5, &other));
    const cordage_tensor t{ids.data(), CORDAGE_INT32, 2, {3, 2}, {}, 0};
    const cordage_tensor index{basis_of_token.data(), CORDAGE_INT32, 1, {2}, {}, 0};
    const cordage_angle_options options{&index, axes.data(), 0};
    const cordage_basis* both[]{b, other};
    cordage_angles* angles = nullptr;
    REQUIRE_OK(cordage_angles_create(both, 2, &t, &options, &angles));
    cordage_operand o{};
    o.x.tensor = cordage_dense(y.data(), CORDAGE_FLOAT32, 1, 2, 1, 128);
    REQUIRE_OK(cordage_rotate_forward(nullptr, angles, CORDAGE_HALF_SPLIT, &o, 1));
    const basis second(rates, 0.5);
    const basis_list list({&expected, &second});
    rotate_forward<half_split, backend::scalar>(
        axis_angles(list.of(basis_of_token), axes, axis_major(ids.data(), 3, 1, 2)),
        in_place(token_major(x.data(), {1, 2, 1, 128})));
    CHECK(largest_difference(x, y) <= tolerance<float>);
    for (cordage_basis* each : {b, other}) REQUIRE_OK(cordage_basis_destroy(each));
    REQUIRE_OK(cordage_rule_destroy(rule));
    REQUIRE_OK(cordage_angles_destroy(angles));
}

TEST_CASE("c/rule: a released CLEX of a config and a checkpoint has the recorded frequencies") {
    std::ifstream in(CORDAGE_GOLDEN_DIR "/clex_released.json");
    const auto file = nlohmann::json::parse(in);
    const auto is_wanted = [](const auto& c) {
        return c["name"] == "dim 64 factor 1 silu dt 0.1 base 10000 down 0.003";
    };
    const auto golden = std::find_if(file["cases"].begin(), file["cases"].end(), is_wanted);
    REQUIRE(golden != file["cases"].end());
    const auto weights = [&](const char* name) {
        return (*golden)["weights"][name]["data"].get<std::vector<double>>();
    };
    const cordage_test::temporary_folder folder;
    const std::string checkpoint = folder.write(
        "model.safetensors",
        cordage_test::safetensors_bytes({{"m.proj_func.ode_up_proj", "F32", "[32, 64]", weights("up")},
                                         {"m.proj_func.ode_down_proj", "F32", "[64, 32]", weights("down")}}));
    const std::string config = folder.write("config.json", R"({"model_type": "llama", "head_dim": 64,
        "max_position_embeddings": 4096, "log_scale": false, "rope_scaling": {"type": "clex", "max_factor": 16,
        "param_factor": 1, "time_dt": 0.1, "act": "silu"}})");
    cordage_rule* rule = nullptr;
    CHECK(cordage_rule_from_file(CORDAGE_ABI, config.c_str(), nullptr, nullptr, &rule) == CORDAGE_VALUE_ERROR);
    cordage_model* model = nullptr;  // an empty name is no name
    CHECK(cordage_model_from_file(CORDAGE_ABI, config.c_str(), "", &model) == CORDAGE_VALUE_ERROR);
    REQUIRE_OK(cordage_rule_from_file(CORDAGE_ABI, config.c_str(), checkpoint.c_str(), nullptr, &rule));
    const auto t = (*golden)["integer_grid"]["t"].get<std::vector<double>>();
    const auto z = (*golden)["integer_grid"]["z_float64"]["data"].get<std::vector<double>>();
    std::size_t compared = 0;
    for (std::size_t k = 0; k < t.size() && t[k] <= 16.0; ++k, ++compared) {
        cordage_basis* b = nullptr;
        std::vector<double> inv_freq(32);
        REQUIRE_OK(cordage_basis_at_ratio(rule, t[k], &b));
        REQUIRE_OK(cordage_basis_get_inv_freq(b, inv_freq.data(), 32));
        for (std::size_t i = 0; i < 32; ++i) CHECK(std::fabs(std::log(inv_freq[i]) - z[32 * k + i]) < 1e-12);
        REQUIRE_OK(cordage_basis_destroy(b));
    }
    CHECK(compared > 3);
    REQUIRE_OK(cordage_rule_destroy(rule));
}

// Once, the basis of such a config was that without its offsets, and its weights could not be loaded.
TEST_CASE("c/rule: the frequencies of LeRoPE are those of its config and checkpoint, and an error without the latter") {
    std::ifstream in(CORDAGE_GOLDEN_DIR "/lerope.json");
    const auto file = nlohmann::json::parse(in);
    const auto golden = std::ranges::find_if(file["cases"], [](const auto& c) { return c["kind"] == "lerope"; });
    REQUIRE(golden != file["cases"].end());
    const auto offsets = (*golden)["alpha_float32"].template get<std::vector<double>>();
    const auto wanted = (*golden)["inv_freq_float32"].template get<std::vector<double>>();
    const cordage_test::temporary_folder folder;
    const std::string checkpoint = folder.write(
        "model.safetensors", cordage_test::safetensors_bytes({{"model.rotary_emb.alpha", "F32",
                                                               "[" + std::to_string(offsets.size()) + "]", offsets}}));
    const std::string text = (*golden)["config"].dump(), config = folder.write("config.json", text);
    cordage_rule* rule = nullptr;
    CHECK(cordage_rule_from_config(CORDAGE_ABI, text.c_str(), "rope", &rule) == CORDAGE_VALUE_ERROR);
    CHECK(std::string(cordage_last_error()) ==
          "cordage_rule_from_config: a model with LeRoPE needs its weights: give the checkpoint to "
          "cordage_rule_from_file or cordage_model_from_file");
    CHECK(cordage_rule_from_file(CORDAGE_ABI, config.c_str(), nullptr, "rope", &rule) == CORDAGE_VALUE_ERROR);
    REQUIRE_OK(cordage_rule_from_file(CORDAGE_ABI, config.c_str(), checkpoint.c_str(), "rope", &rule));
    cordage_rule_info info{};
    REQUIRE_OK(cordage_rule_get_info(rule, &info));
    CHECK(info.has_head_temperatures == 1);
    cordage_basis* b = nullptr;
    std::vector<double> inv_freq(wanted.size());
    REQUIRE_OK(cordage_basis_at_length(rule, 8.0, &b));
    REQUIRE_OK(cordage_basis_get_inv_freq(b, inv_freq.data(), static_cast<std::int64_t>(inv_freq.size())));
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(inv_freq[i] == doctest::Approx(wanted[i]).epsilon(4e-6));
    REQUIRE_OK(cordage_basis_destroy(b));
    REQUIRE_OK(cordage_rule_destroy(rule));
    REQUIRE_OK(cordage_rule_from_file(CORDAGE_ABI, config.c_str(), nullptr, "no_rope", &rule));  // these do not rotate
    REQUIRE_OK(cordage_rule_destroy(rule));
    cordage_model* model = nullptr;
    REQUIRE_OK(cordage_model_from_file(CORDAGE_ABI, config.c_str(), nullptr, &model));
    const cordage_rule* const before = rule;
    CHECK(cordage_rule_of_indexer(model, 0, &rule) == CORDAGE_VALUE_ERROR);
    CHECK(rule == before);  // once, it was written, to NULL
    CHECK(std::string(cordage_last_error()) ==
          "cordage_rule_of_indexer: a model with LeRoPE needs its weights: give the checkpoint to "
          "cordage_rule_from_file or cordage_model_from_file");
    REQUIRE_OK(cordage_model_destroy(model));
}

TEST_CASE("c/rule: CLEX's factor on scores is told") {
    const cordage_test::temporary_folder folder;
    const auto with_log_scale = [&](const char* flag) {
        const std::string config = folder.write(
            "config.json", std::string(R"({"model_type": "llama", "head_dim": 8, "max_position_embeddings": 64,
                "rope_scaling": {"type": "clex", "max_factor": 2, "param_factor": 1, "log_scale": )") +
                               flag + "}}");
        const std::string zeros =
            folder.write("model.safetensors",
                         cordage_test::safetensors_bytes(
                             {{"clex_layer.proj_func.ode_up_proj", "F32", "[4, 8]", std::vector<double>(32, 0.0)},
                              {"clex_layer.proj_func.ode_down_proj", "F32", "[8, 4]", std::vector<double>(32, 0.0)}}));
        cordage_rule* rule = nullptr;
        cordage_rule_info info{};
        REQUIRE_OK(cordage_rule_from_file(CORDAGE_ABI, config.c_str(), zeros.c_str(), nullptr, &rule));
        REQUIRE_OK(cordage_rule_get_info(rule, &info));
        REQUIRE_OK(cordage_rule_destroy(rule));
        return info.log_scale;
    };
    CHECK(with_log_scale("true") == 1);
    CHECK(with_log_scale("false") == 0);
}

TEST_CASE("c/model: the rule of a layer, and of its indexer") {
    const cordage_test::temporary_folder folder;
    const auto opened = [&](const std::string& text) {
        const std::string config = folder.write("config.json", text);
        cordage_model* model = nullptr;
        REQUIRE_OK(cordage_model_from_file(CORDAGE_ABI, config.c_str(), nullptr, &model));
        return model;
    };
    const auto info_of = [](cordage_rule* rule) {
        cordage_rule_info info{};
        REQUIRE_OK(cordage_rule_get_info(rule, &info));
        REQUIRE_OK(cordage_rule_destroy(rule));
        return info;
    };
    cordage_model* model = opened(R"({"model_type": "smollm3", "head_dim": 64, "num_hidden_layers": 8,
                                      "max_position_embeddings": 4096, "rope_theta": 1e6})");
    cordage_model_info all{};
    REQUIRE_OK(cordage_model_get_info(model, &all));
    CHECK(all.layers == 8);
    CHECK(all.rules == 2);
    CHECK(all.max_length == 4096.0);
    cordage_rule* rule = nullptr;
    for (std::int64_t layer = 0; layer < 8; ++layer) {
        REQUIRE_OK(cordage_rule_of_layer(model, layer, &rule));
        CHECK(info_of(rule).is_unrotated == (layer % 4 == 3 ? 1 : 0));
    }
    CHECK(cordage_rule_of_layer(model, 8, &rule) == CORDAGE_VALUE_ERROR);
    CHECK(std::string(cordage_last_error()) == "model_ropes: layer 8 must be in 0 ... 7");
    REQUIRE_OK(cordage_rule_of_indexer(model, 0, &rule));
    CHECK(rule == nullptr);
    REQUIRE_OK(cordage_model_destroy(model));
    CHECK(cordage_rule_of_layer(model, 0, &rule) == CORDAGE_VALUE_ERROR);

    model = opened(R"({"model_type": "deepseek_v32", "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_theta": 1e4,
                       "index_head_dim": 128, "num_hidden_layers": 2, "max_position_embeddings": 4096})");
    REQUIRE_OK(cordage_rule_of_layer(model, 1, &rule));
    CHECK(info_of(rule).pairing == CORDAGE_INTERLEAVED);
    REQUIRE_OK(cordage_rule_of_indexer(model, 1, &rule));
    const cordage_rule_info indexer = info_of(rule);
    CHECK(indexer.pairing == CORDAGE_HALF_SPLIT);
    CHECK(indexer.head_dim == 128);
    REQUIRE_OK(cordage_model_destroy(model));
}

TEST_CASE("c/errors: each thread has a message of its own, and handles may be destroyed while another call uses them") {
    CHECK(cordage_basis_at_length(nullptr, 1.0, nullptr) == CORDAGE_VALUE_ERROR);
    const std::string mine = cordage_last_error();
    std::string before = "?", after;
    std::thread other([&] {
        before = cordage_last_error();
        CHECK(cordage_select_kernels("none") == CORDAGE_VALUE_ERROR);
        after = cordage_last_error();
    });
    other.join();
    CHECK(before.empty());
    CHECK(after.find("cordage_select_kernels") == 0);
    CHECK(cordage_last_error() == mine);
    const handles h;
    std::vector<float> x = random_numbers<float>(count, 11);
    std::thread destroyer([&] {
        for (int i = 0; i < 200; ++i) {
            cordage_angles* made = nullptr;
            std::vector<std::int64_t> ids = h.ids;
            REQUIRE(h.make(ids, &made) == CORDAGE_OK);
            REQUIRE(cordage_angles_destroy(made) == CORDAGE_OK);
        }
    });
    for (int i = 0; i < 200; ++i) {
        cordage_operand o{};
        o.x.tensor = tensor(x);
        REQUIRE(cordage_rotate_inverse(nullptr, h.angles, CORDAGE_HALF_SPLIT, &o, 1) == CORDAGE_OK);
    }
    destroyer.join();
}

}  // namespace
