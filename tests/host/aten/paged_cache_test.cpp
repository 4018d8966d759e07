// SPDX-License-Identifier: MIT
#include "cordage/host/aten/paged_cache.hpp"

#include <doctest/doctest.h>

using namespace cordage;
using aten::angle_tensors;
using aten::cache_tensors;

namespace {

constexpr at::ScalarType floats[] = {at::kFloat, at::kHalf, at::kBFloat16};

/// [1, 5, heads, 8]
at::Tensor drawn(std::int64_t heads, at::ScalarType type = at::kFloat) {
    return at::arange(5 * heads * 8, at::kDouble).mul(0.7).add(heads).sin().view({1, 5, heads, 8}).to(type);
}

angle_tensors some_angles(std::int64_t first = 40) {
    return {at::arange(first, first + 5, at::kLong), at::tensor({1.0, 0.31, 0.017}, at::kDouble), 1.25};
}

/// 3 blocks of 4 slots, 2 heads of 8 lanes, all 3.
cache_tensors cache_of(at::ScalarType type) {
    const auto filled = [](at::IntArrayRef sizes, at::ScalarType of) { return at::full(sizes, 3, of); };
    cache_tensors cache{filled({3, 4, 2, 8}, type), filled({3, 4, 2, 8}, type), {}, {}};
    if (type == at::kChar) {
        cache.key_scales = filled({3, 4, 2}, at::kFloat);
        cache.value_scales = filled({3, 4, 2}, at::kFloat);
    }
    return cache;
}

at::Tensor some_slots() { return at::tensor({6, 0, -1, 7, 11}, at::kInt); }

/// The content of the slots of tokens 0, 1, 3 and 4 in double: [4, 2, 8].
at::Tensor stored(const at::Tensor& cache, const at::Tensor& scales) {
    at::Tensor all = cache.to(at::kDouble);
    if (scales.defined()) all = all * scales.to(at::kDouble).unsqueeze(-1);
    return all.reshape({12, 2, 8}).index_select(0, at::tensor({6, 0, 7, 11}, at::kLong));
}
at::Tensor kept(const at::Tensor& x) {
    return x[0].to(at::kDouble).index_select(0, at::tensor({0, 1, 3, 4}, at::kLong));
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}
/// For numbers up to about 3.
double tolerance(at::ScalarType type) {
    return type == at::kFloat ? 1e-5 : type == at::kHalf ? 4e-3 : type == at::kBFloat16 ? 3e-2 : 2e-2;
}

}  // namespace

TEST_CASE(
    "host/aten/paged_cache: q is returned rotated, k and v lie in their slots, of every type, with a norm and "
    "without") {
    const angle_tensors by = some_angles();
    for (const at::ScalarType type : floats) {
        for (const at::ScalarType in_cache : {at::kFloat, at::kHalf, at::kBFloat16, at::kChar}) {
            if (in_cache != type && in_cache != at::kChar && type != at::kFloat) continue;
            for (const bool has_norm : {false, true}) {
                CAPTURE(at::toString(type));
                CAPTURE(at::toString(in_cache));
                const at::Tensor q = drawn(3, type), k = drawn(2, type), v = drawn(2, type).flip({1});
                std::optional<aten::norm_tensors> norm;
                std::vector<at::Tensor> expected{q, k};
                for (at::Tensor& x : expected) x = x.to(at::kDouble);
                if (has_norm) {
                    norm = aten::norm_tensors{.weights = {at::full({8}, 0.5), at::full({8}, 0.25)}};
                    expected = aten::rotation_forward<half_split>(expected, by, *norm);
                } else {
                    expected = aten::rotation_forward<half_split>(expected, by);
                }
                const cache_tensors cache = cache_of(in_cache);
                const at::Tensor rotated = aten::rotate_and_store<half_split>(q, k, v, cache, some_slots(), by, norm);
                CHECK((rotated.scalar_type() == type));
                CHECK(largest_difference(rotated, expected[0]) < tolerance(type));
                CHECK(largest_difference(stored(cache.keys, cache.key_scales), kept(expected[1])) <
                      tolerance(in_cache));
                CHECK(largest_difference(stored(cache.values, cache.value_scales), kept(v)) < tolerance(in_cache));
                CHECK(cache.keys[1][0].to(at::kDouble).eq(3.0).all().item<bool>());  // an unused slot
            }
        }
    }
}

TEST_CASE("host/aten/paged_cache: moved keys equal those of their new positions, in their new slots") {
    for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16, at::kChar}) {
        const at::Tensor k = drawn(2), v = drawn(2).flip({1});
        const cache_tensors cache = cache_of(type), expected = cache_of(type);
        const at::Tensor old_slots = at::tensor({7, 1, 2, 8, 10}, at::kLong);
        aten::rotate_and_store<half_split>(drawn(3), k, v, cache, old_slots, some_angles(), {});
        aten::rotate_and_store<half_split>(drawn(3), k, v, expected, some_slots(), some_angles(7000), {});
        aten::move<half_split>(cache, old_slots, some_slots(), some_angles(), some_angles(7000));
        CHECK(largest_difference(stored(cache.keys, cache.key_scales), stored(expected.keys, expected.key_scales)) <
              2 * tolerance(type));
        CHECK(at::equal(stored(cache.values, cache.value_scales), stored(expected.values, expected.value_scales)));
    }
}

TEST_CASE("host/aten/paged_cache: int8 keys that are not rotated keep their codes and scales in another slot") {
    const cache_tensors cache = cache_of(at::kChar);
    const at::Tensor old_slots = at::tensor({8, 1, 2, 9, 10}, at::kLong), by_row = some_slots().unsqueeze(0);
    aten::rotate_and_store<half_split>(drawn(3), drawn(2), drawn(2), cache, by_row, some_angles(), {});
    const at::Tensor keys = stored(cache.keys, cache.key_scales);
    aten::move<half_split>(cache, some_slots(), old_slots, some_angles(), some_angles());
    aten::move<half_split>(cache, old_slots, some_slots(), some_angles(), some_angles());
    CHECK(at::equal(stored(cache.keys, cache.key_scales), keys));
}

TEST_CASE("host/aten/paged_cache: scales may follow the codes of their heads") {
    const at::Tensor rows = at::zeros({3, 4, 2, 12}, at::kChar), more = at::zeros({3, 4, 2, 12}, at::kChar);
    const auto scales = [](const at::Tensor& x) {
        return at::from_blob(static_cast<char*>(x.data_ptr()) + 8, {3, 4, 2}, {24, 6, 3}, at::kFloat);
    };
    const cache_tensors cache{rows.slice(3, 0, 8), more.slice(3, 0, 8), scales(rows), scales(more)};
    aten::rotate_and_store<half_split>(drawn(3), drawn(2), drawn(2), cache, some_slots(), some_angles(), {});
    CHECK(largest_difference(stored(cache.values, cache.value_scales), kept(drawn(2))) < 2e-2);
}

TEST_CASE("host/aten/paged_cache: groups of lanes have a scale each") {
    cache_tensors cache = cache_of(at::kChar);
    cache.key_scales = at::ones({3, 4, 2, 4}), cache.value_scales = at::ones({3, 4, 2, 2});
    aten::rotate_and_store<half_split>(drawn(3), drawn(2), drawn(2), cache, some_slots(), some_angles(), {});
    const at::Tensor v = kept(drawn(2)).view({4, 2, 2, 4});
    const at::Tensor scales = stored(cache.value_scales.repeat({1, 1, 1, 4}), {}).slice(2, 0, 2);
    CHECK(largest_difference(scales, v.abs().amax(-1).div(127.0)) < 1e-8);
    const at::Tensor numbers = stored(cache.values, {}).view({4, 2, 2, 4}) * scales.unsqueeze(-1);
    CHECK((numbers - v).abs().le(scales.unsqueeze(-1) * 0.501).all().item<bool>());
}

// Once, the bytes of a stride overflowed, and took part in tests for overlap.
TEST_CASE("host/aten/paged_cache: the stride of an axis of one block is never used, however large") {
    cache_tensors cache{at::zeros({1, 12, 2, 8}, at::kChar), at::zeros({1, 12, 2, 8}, at::kChar), {}, {}};
    for (const std::int64_t stride : {std::int64_t{3} << 60, std::int64_t{1} << 62}) {
        cache.key_scales = at::ones({24}).as_strided({1, 12, 2}, {stride, 2, 1});
        cache.value_scales = at::ones({24}).as_strided({1, 12, 2}, {stride, 2, 1});
        aten::rotate_and_store<half_split>(drawn(3), drawn(2), drawn(2), cache, some_slots(), some_angles(), {});
        CHECK(largest_difference(stored(cache.values, cache.value_scales), kept(drawn(2))) < 2e-2);
    }
}

TEST_CASE("host/aten/paged_cache: invalid combinations are rejected before anything is written") {
    const at::Tensor q = drawn(3), k = drawn(2);
    struct call {
        at::Tensor q, k, v;
        cache_tensors cache;
        at::Tensor slots;
    };
    const auto refused = [&](const char* text, const auto& change) {
        CAPTURE(text);
        call c{q, k, k, cache_of(at::kChar), some_slots()};
        change(c);
        const cache_tensors before = c.cache;
        const bool has_memory = before.keys.defined() && !before.keys.is_meta() && !before.keys.is_sparse();
        const at::Tensor keys = has_memory ? before.keys.clone() : at::Tensor();
        CHECK_THROWS_WITH_AS(aten::rotate_and_store<half_split>(c.q, c.k, c.v, c.cache, c.slots, some_angles(), {}),
                             text, error);
        if (has_memory) CHECK(at::equal(c.cache.keys, keys));
    };
    refused("aten: q must be a defined tensor", [](call& c) { c.q = at::Tensor(); });
    refused("aten: v must be strided; convert it by to_dense()", [&](call& c) { c.v = k.to_sparse(); });
    refused("aten::rotate: v on meta must be on cpu", [&](call& c) { c.v = k.to(at::kMeta); });
    refused("aten::rotate: k of type Half must have the type of q, Float", [&](call& c) { c.k = k.to(at::kHalf); });
    refused("aten::rotate: k has 3 dimensions, must be [batch, tokens, heads, head_dim]", [&](call& c) { c.k = k[0]; });
    refused("aten::rotate_and_store: q of type Double must be float32, float16 or bfloat16",
            [&](call& c) { c.q = q.to(at::kDouble), c.k = c.v = k.to(at::kDouble); });
    refused("aten: keys must be a defined tensor", [](call& c) { c.cache.keys = at::Tensor(); });
    refused("aten: values must be strided; convert it by to_dense()",
            [](call& c) { c.cache.values = c.cache.values.to_sparse(); });
    refused("aten::rotate: keys on meta must be on cpu", [](call& c) { c.cache.keys = c.cache.keys.to(at::kMeta); });
    refused("aten::rotate_and_store: values [4, 2, 8] must be [blocks, block_size, heads, head_dim]",
            [](call& c) { c.cache.values = c.cache.values[0]; });
    refused(
        "aten::rotate_and_store: keys with strides [64, 16, 1, 2] must have a last stride of 1, and no pending "
        "negation",
        [](call& c) { c.cache.keys = c.cache.keys.transpose(2, 3).contiguous().transpose(2, 3); });
    refused(
        "aten::rotate_and_store: keys of type Byte must be of q's type, Float, or float16, bfloat16, int8, "
        "float8_e4m3fn, float8_e5m2 or float4_e2m1fn_x2 (codes in uint8: x.view(torch.float8_e4m3fn))",
        [](call& c) {
            c.cache = {c.cache.keys.to(at::kByte), c.cache.values.to(at::kByte), {}, {}};
        });
    refused(
        "aten::rotate_and_store: key_scales must be given for keys of type Char: float32 [blocks, block_size, heads] "
        "or [blocks, block_size, heads, groups]",
        [](call& c) { c.cache.key_scales = at::Tensor(); });
    refused(
        "aten::rotate_and_store: value_scales of type Float [3, 4] must be float32 [blocks, block_size, heads] or "
        "[blocks, block_size, heads, groups] of values [3, 4, 2, 8]",
        [](call& c) {
            c.cache.value_scales = at::ones({3, 4});
        });
    refused(
        "aten::rotate_and_store: key_scales with strides [2, 0, 1] must have a separate element for each token and "
        "head, and no pending negation",
        [](call& c) {
            c.cache.key_scales = at::ones({3, 1, 2}).expand({3, 4, 2});
        });
    refused("aten::rotate_and_store: key_scales [3, 4, 2, 3] has 3 groups of lanes, must have a divisor of head_dim 8",
            [](call& c) {
                c.cache.key_scales = at::ones({3, 4, 2, 3});
            });
    refused(
        "aten::rotate_and_store: key_scales with strides [64, 16, 8, 2] must have a separate element for each token "
        "and head, a last stride of 1, and no pending negation",
        [](call& c) {
            c.cache.key_scales = at::ones({3, 4, 2, 8}).slice(3, 0, 8, 2);
        });
    refused(
        "aten::rotate_and_store: scales_round_up true and scale_least 0 must be false and 0 unless scales are "
        "float8_e8m0fnu (MXFP8, MXFP4)",
        [](call& c) { c.cache.scales_round_up = true; });
    refused(
        "aten::rotate_and_store: key_tensor_scale 1 and value_tensor_scale 2 must be 1 unless scales are "
        "float8_e4m3fn (NVFP4)",
        [](call& c) { c.cache.value_tensor_scale = 2.0f; });
    refused("aten::rotate_and_store: value_scales must not overlap key_scales, as one of them is written",
            [](call& c) { c.cache.value_scales = c.cache.key_scales; });
    refused("aten::rotate_and_store: key_scales must not overlap k, as one of them is written", [](call& c) {
        c.cache.key_scales = c.k.view({-1}).slice(0, 0, 24).view({3, 4, 2});
    });
    refused("aten::rotate_and_store: keys [3, 4, 2, 8] must have the heads and head_dim of k [1, 5, 3, 8]",
            [&](call& c) { c.k = q; });
    refused(
        "aten::rotate_and_store: slot_mapping of type Float [5] must be int32 or int64 [1, 5], a slot for each token",
        [](call& c) { c.slots = c.slots.to(at::kFloat); });
    refused("aten::rotate_and_store: slot_mapping of type Int [4] must be int32 or int64 [1, 5], a slot for each token",
            [](call& c) { c.slots = c.slots.slice(0, 0, 4); });
    refused("rotate_forward: y's slot [0, 1] 6 must be listed once: two tokens must not be written to one slot",
            [](call& c) {
                c.slots = at::tensor({6, 6, -1, 7, 11}, at::kInt);
            });

    const cache_tensors cache = cache_of(at::kChar);
    const at::Tensor slots = at::arange(5, at::kLong);
    CHECK_THROWS_WITH_AS(aten::move<half_split>(cache, slots, slots.slice(0, 0, 4), some_angles(), some_angles()),
                         "aten::move: to_slots of type Long [4] must be int32 or int64 [5], a slot for each token",
                         value_error);
    CHECK_THROWS_WITH_AS(
        aten::move<half_split>(cache, slots.slice(0, 0, 4), slots.slice(0, 0, 4), some_angles(), some_angles()),
        "aten::move: position_ids [5] of from must be [tokens] = [4], as from_slots", shape_error);
    CHECK_THROWS_AS(aten::move<half_split>(cache, slots, slots + 1, some_angles(), some_angles()), value_error);
    CHECK(cache.keys.eq(3).all().item<bool>());
}
