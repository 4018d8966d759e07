// SPDX-License-Identifier: MIT
#include "cordage/host/dlpack/view.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cordage/kernels.hpp"

/// A host's own binary16.
struct own_half {
    std::uint16_t bits;
};
template <>
struct cordage::element_traits<own_half> {
    using compute = float;
    using same_bits_as = cordage::float16;
    static float load(own_half x) noexcept { return to_float(float16::from_bits(x.bits)); }
    static own_half store(float x) noexcept { return {to_float16(x).bits}; }
};

using namespace cordage;
namespace dl = cordage::dlpack;

namespace {

/// A tensor with its own shape and strides; the data is the test's.
struct described {
    std::vector<std::int64_t> shape, strides;
    dl::tensor t{};

    described(void* data, dl::data_type dtype, std::vector<std::int64_t> sizes,
              const std::optional<std::vector<std::int64_t>>& steps = std::nullopt)
        : shape(std::move(sizes)), strides(steps.value_or(std::vector<std::int64_t>{})) {
        t.data = data;
        t.device = {dl::cpu, 0};
        t.dtype = dtype;
        t.ndim = static_cast<std::int32_t>(shape.size());
        t.shape = shape.data();
        t.strides = steps ? strides.data() : nullptr;
    }
};

constexpr dl::data_type float32{dl::floating, 32, 1}, int32{dl::signed_integer, 32, 1};
alignas(64) float buffer[256];

template <class Error, class Call>
void check_refused(const char* text, const Call& call) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(call(), text, Error);
}

/// A managed tensor that counts how often its deleter runs.
struct counted {
    described in{buffer, float32, {3, 2, 8}};
    int releases = 0;
    dl::managed_tensor_versioned managed{
        {1, 3},
        &releases,
        [](dl::managed_tensor_versioned* self) { ++*static_cast<int*>(self->manager_ctx); },
        0,
        in.t};
};

}  // namespace

TEST_CASE("host/dlpack/abi: structs have the layout of the ABI of DLPack 1") {
    if constexpr (sizeof(void*) == 8) {
        CHECK(offsetof(dl::tensor, device) == 8);
        CHECK(offsetof(dl::tensor, ndim) == 16);
        CHECK(offsetof(dl::tensor, dtype) == 20);
        CHECK(offsetof(dl::tensor, strides) == 32);
        CHECK(offsetof(dl::tensor, byte_offset) == 40);
        CHECK(offsetof(dl::managed_tensor_versioned, manager_ctx) == 8);
        CHECK(offsetof(dl::managed_tensor_versioned, deleter) == 16);
        CHECK(offsetof(dl::managed_tensor_versioned, flags) == 24);
        CHECK(offsetof(dl::managed_tensor_versioned, dl_tensor) == 32);
        CHECK(offsetof(dl::managed_tensor, manager_ctx) == 48);
        CHECK(offsetof(dl::managed_tensor, deleter) == 56);
    }
}

TEST_CASE("host/dlpack/view: a dense tensor is a view in the order named") {
    const described in(buffer, float32, {2, 3, 4, 8});
    const auto by_tokens = dl::view<float>(in.t, dl::axes::tokens_heads);
    CHECK(by_tokens == token_major(buffer, {.batch = 2, .tokens = 3, .heads = 4, .head_dim = 8}));
    const auto by_heads = dl::view<const float>(in.t, dl::axes::heads_tokens);
    CHECK(by_heads ==
          heads_view<const float>(head_major(buffer, {.batch = 2, .tokens = 4, .heads = 3, .head_dim = 8})));
}

TEST_CASE("host/dlpack/view: strides, byte_offset and a left out batch are followed") {
    described in(buffer, float32, {3, 2, 8}, {{32, 16, 1}});
    in.t.byte_offset = 8 * sizeof(float);
    const auto v = dl::view<float>(in.t, dl::axes::tokens_heads);
    CHECK(v.data == buffer + 8);
    CHECK(v.shape == heads_shape{1, 3, 2, 8});
    CHECK(v.token_stride == 32);
    CHECK(v.head_stride == 16);
}

TEST_CASE("host/dlpack/view: the stride of an axis of one step means nothing") {
    const described in(buffer, float32, {1, 3, 1, 8}, {{-7, 8, 1000, 1}});
    const auto v = dl::view<float>(in.t, dl::axes::tokens_heads);
    CHECK(v.batch_stride == 0);
    CHECK(v.head_stride == 0);
    CHECK(v.token_stride == 8);
}

TEST_CASE("host/dlpack/view: an empty tensor has no data") {
    const described in(nullptr, float32, {0, 2, 8});
    CHECK(dl::view<float>(in.t, dl::axes::tokens_heads).shape.tokens == 0);
}

TEST_CASE("host/dlpack/view: types are distinguished by code, bits and lanes") {
    const auto called = [](dl::data_type dtype) {
        const described in(buffer, dtype, {3, 2, 8});
        int size = 0;
        dl::for_element_type(in.t, [&]<class T>(T) {
            size = static_cast<int>(sizeof(T)) + (std::same_as<T, bfloat16> ? 100 : 0);
            CHECK(dl::view<T>(in.t, dl::axes::tokens_heads).shape.tokens == 3);
        });
        return size;
    };
    CHECK(called({dl::floating, 64, 1}) == 8);
    CHECK(called(float32) == 4);
    CHECK(called({dl::floating, 16, 1}) == 2);
    CHECK(called({dl::brain_floating, 16, 1}) == 102);
    check_refused<value_error>("dlpack: x of type int32 must be float16, bfloat16, float32 or float64",
                               [&] { called(int32); });
    check_refused<value_error>(
        "dlpack: x of type (code 2, bits 32, lanes 4) must be float16, bfloat16, float32 or float64", [&] {
            called({dl::floating, 32, 4});
        });
}

TEST_CASE("host/dlpack/view: a host's own 16-bit type is viewed by the bits that it has") {
    described in(buffer, {dl::floating, 16, 1}, {3, 2, 8});
    CHECK(dl::view<own_half>(in.t, dl::axes::tokens_heads).shape.tokens == 3);
    in.t.dtype.code = dl::brain_floating;
    check_refused<value_error>("dlpack: x of type bfloat16 must be float16",
                               [&] { dl::view<own_half>(in.t, dl::axes::tokens_heads); });
}

TEST_CASE("host/dlpack/view: positions of one and of several axes are views") {
    std::int32_t ids[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const described row(ids, int32, {4}), rows(ids, int32, {3, 4}), shared(ids, int32, {3, 4}, {{0, 1}});
    CHECK(dl::positions<std::int32_t>(row.t).tokens == 4);
    CHECK(dl::positions<std::int32_t>(rows.t).at(2, 1) == 9);
    CHECK(dl::positions<std::int32_t>(shared.t).at(2, 1) == 1);
    const described transposed(ids, int32, {3, 4}, {{1, 3}});
    CHECK(dl::axis_positions<std::int32_t>(transposed.t).at(0, 2, 1) == 7);
    CHECK(dl::axis_positions<std::int32_t>(described(ids, int32, {3, 2, 2}).t).at(1, 0, 2) == 10);
    check_refused<shape_error>("dlpack: position_ids has last stride 3, must be 1",
                               [&] { dl::positions<std::int32_t>(transposed.t); });
    check_refused<value_error>("dlpack: position_ids of type int32 must be int64",
                               [&] { dl::positions<std::int64_t>(row.t); });
    int calls = 0;
    dl::for_position_type(row.t, [&]<class P>(P) { calls += std::same_as<P, std::int32_t> ? 1 : 100; });
    CHECK(calls == 1);
    check_refused<value_error>("dlpack: position_ids of type uint8 must be int32, int64, float32 or float64", [&] {
        dl::for_position_type(described(ids, {dl::unsigned_integer, 8, 1}, {4}).t, [](auto) {});
    });
}

TEST_CASE("host/dlpack/view: every invalid field gives one error that names it") {
    const auto refused = [](const char* text, const auto& change) {
        described in(buffer, float32, {3, 2, 8}, {{16, 8, 1}});
        change(in);
        const auto view = [&] { dl::view<float>(in.t, dl::axes::tokens_heads, {.name = "q"}); };
        CAPTURE(text);
        CHECK_THROWS_WITH_AS(view(), text, error);
    };
    refused("dlpack: q on device_type 2 (CUDA) must be on 1 (CPU)",
            [](described& in) { in.t.device.device_type = dl::cuda; });
    refused("dlpack: q of type float64 must be float32", [](described& in) { in.t.dtype.bits = 64; });
    refused("dlpack: q of type bfloat32 must be float32", [](described& in) { in.t.dtype.code = dl::brain_floating; });
    refused("dlpack: q of type (code 2, bits 32, lanes 2) must be float32",
            [](described& in) { in.t.dtype.lanes = 2; });
    refused("dlpack: q has 2 axes, must be [batch, tokens, heads, head_dim]", [](described& in) { in.t.ndim = 2; });
    refused("dlpack: q.shape[1] -2 must not be negative", [](described& in) { in.shape[1] = -2; });
    refused("dlpack: q.strides[0] -16 must not be negative", [](described& in) { in.strides[0] = -16; });
    refused("dlpack: q has last stride 2, must be 1", [](described& in) { in.strides[2] = 2; });
    refused("dlpack: q.data nullptr must point to the elements of [batch, tokens, heads, head_dim]",
            [](described& in) { in.t.data = nullptr; });
    // Once, an absent shape was read, and an offset wrapped around.
    refused("dlpack: q.shape nullptr must point to 3 sizes", [](described& in) { in.t.shape = nullptr; });
    described far(buffer, float32, {3, 2, 8});
    far.t.byte_offset = ~std::uint64_t{0} - 3;
    CHECK_THROWS_AS(dl::view<float>(far.t, dl::axes::tokens_heads), value_error);
    CHECK_THROWS_AS(dl::positions<float>(described(buffer, float32, {}).t), shape_error);
    described below_zero(buffer, float32, {3, 2, 8});
    below_zero.t.ndim = -3;
    CHECK_THROWS_AS(dl::view<float>(below_zero.t, dl::axes::tokens_heads), shape_error);
    // The strides of a dense tensor are products of its sizes, which may overflow 64 bits.
    described wide(buffer, float32, {index_t{1} << 40, index_t{1} << 40, 8});
    const auto view_of_wide = dl::view<float>(wide.t, dl::axes::tokens_heads);
    const std::vector<std::int32_t> ids(1);
    const basis four({1.0, 0.5, 0.25, 0.125});
    CHECK_THROWS_AS(rotate_forward<half_split>(exact_angles(four, ids), in_place(view_of_wide)), shape_error);
    described shifted(buffer, float32, {3, 2, 8});
    shifted.t.byte_offset = 2;
    CHECK_THROWS_AS(dl::view<float>(shifted.t, dl::axes::tokens_heads), value_error);
    shifted.t.byte_offset = 4;
    CHECK(dl::view<float>(shifted.t, dl::axes::tokens_heads).data == buffer + 1);
}

TEST_CASE("host/dlpack/view: pinned host memory is on the host, and GPU memory is accepted only if expected") {
    described in(buffer, float32, {3, 2, 8});
    in.t.device.device_type = dl::cuda_host;
    CHECK(dl::view<float>(in.t, dl::axes::tokens_heads).data == buffer);
    in.t.device.device_type = dl::cuda;
    CHECK(dl::view<float>(in.t, dl::axes::tokens_heads, {.device_type = dl::cuda}).data == buffer);
    in.t.device.device_type = dl::cpu;
    CHECK_THROWS_AS(dl::view<float>(in.t, dl::axes::tokens_heads, {.device_type = dl::cuda}), value_error);
}

TEST_CASE("host/dlpack/view: an owned tensor is released once, with its holder") {
    counted tensor;
    {
        dl::owned first(&tensor.managed);
        const dl::owned second(std::move(first));
        CHECK(second.view<float>(dl::axes::tokens_heads).data == buffer);
        CHECK(tensor.releases == 0);
    }
    CHECK(tensor.releases == 1);
}

TEST_CASE("host/dlpack/view: a tensor of another major version is released unread") {
    counted tensor;
    tensor.managed.version = {2, 0};
    check_refused<value_error>("dlpack: version 2.0 must be 1.x", [&] { dl::owned refused(&tensor.managed); });
    CHECK(tensor.releases == 1);
    CHECK_THROWS_AS(dl::owned(static_cast<dl::managed_tensor_versioned*>(nullptr)), value_error);
}

TEST_CASE("host/dlpack/view: a read-only tensor is viewed as const alone") {
    counted tensor;
    tensor.managed.flags = dl::read_only_flag;
    const dl::owned held(&tensor.managed);
    CHECK(held.is_read_only());
    CHECK(held.view<const float>(dl::axes::tokens_heads).data == buffer);
    check_refused<value_error>("dlpack: k is read-only, must be writable or viewed as const",
                               [&] { held.view<float>(dl::axes::tokens_heads, {.name = "k"}); });
}

TEST_CASE("host/dlpack/view: a tensor of before version 1 is held too, with or without a deleter") {
    counted tensor;
    dl::managed_tensor old{tensor.in.t, nullptr, nullptr};
    const dl::owned held(&old);
    CHECK_FALSE(held.is_read_only());
    CHECK(held.view<float>(dl::axes::heads_tokens).shape == heads_shape{1, 2, 3, 8});
}

TEST_CASE("host/dlpack/view: a rotation through views is the rotation of the array") {
    const basis b({1.0, 0.5, 0.25, 0.125});
    std::vector<float> x(48), expected;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3.0f;
    expected = x;
    std::vector<std::int64_t> ids{5, 70000, 1'000'000};
    rotate_forward<half_split>(exact_angles(b, ids), in_place(token_major(expected.data(), {1, 3, 2, 8})));
    const described q(x.data(), float32, {3, 2, 8}), where(ids.data(), {dl::signed_integer, 64, 1}, {3});
    rotate_forward<half_split>(exact_angles(b, dl::positions<std::int64_t>(where.t)),
                               in_place(dl::view<float>(q.t, dl::axes::tokens_heads)));
    CHECK(x == expected);
}
