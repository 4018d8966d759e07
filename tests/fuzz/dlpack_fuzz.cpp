// SPDX-License-Identifier: MIT
// Fuzzes views of DLPack tensors: a tensor of any numbers is rejected, or its view has exactly its elements, and a
// rotation of the view stays within the tensor or is rejected.
#include <array>
#include <vector>

#include "cordage/angles/angle_source.hpp"
#include "cordage/host/dlpack/view.hpp"
#include "cordage/rotate/forward.hpp"
#include "input.hpp"
#include "run_counter.hpp"

namespace {

using namespace cordage;
using fuzz::expect;
using fuzz::input;

constexpr index_t room = 2048;  // number of elements

/// Elements from a tensor's first to one past its last; -1 if one of its numbers is negative.
__int128 extent(const dlpack::tensor& t) {
    __int128 last = 0, dense = 1;
    bool is_empty = false;
    for (int i = t.ndim - 1; i >= 0; --i) {
        const __int128 stride = t.strides == nullptr ? dense : t.strides[i];
        if (t.shape[i] < 0 || (t.shape[i] > 1 && stride < 0)) return -1;
        is_empty = is_empty || t.shape[i] == 0;
        if (t.shape[i] > 1) last += (t.shape[i] - 1) * stride;
        if (t.shape[i] > 1 && dense < (static_cast<__int128>(1) << 60)) dense *= t.shape[i];
        if (last > (static_cast<__int128>(1) << 62)) last = static_cast<__int128>(1) << 62;
    }
    return is_empty ? 0 : last + 1;
}

/// A tensor of up to 4 axes; most fit into the room.
struct random_tensor {
    std::array<std::int64_t, 6> shape{}, strides{};
    dlpack::tensor t{};
    bool is_true = false;  // its elements are there

    random_tensor(input& in, void* data, std::uint8_t code, std::uint8_t bits) {
        t.data = data;
        t.device.device_type = in.rarely() ? static_cast<std::int32_t>(in.between(0, 20)) : dlpack::cpu;
        t.ndim = static_cast<std::int32_t>(in.rarely(16) ? in.between(0, 6) : in.between(3, 4));
        t.dtype = {code, bits, 1};
        if (in.rarely()) t.dtype = {in.bits<std::uint8_t>(), in.bits<std::uint8_t>(), in.bits<std::uint16_t>()};
        index_t inside = 1;
        for (int i = t.ndim - 1; i >= 0; --i) {
            const auto at = static_cast<std::size_t>(i);
            shape[at] = in.between(1, i == t.ndim - 1 ? 12 : 4);
            strides[at] = i == t.ndim - 1 ? 1 : inside + in.between(0, 3);
            inside = shape[at] * strides[at];
        }
        if (in.rarely(8)) shape[static_cast<std::size_t>(in.between(0, 5))] = in.hostile_integer();
        if (in.rarely(8)) strides[static_cast<std::size_t>(in.between(0, 5))] = in.hostile_integer();
        t.shape = shape.data();
        t.strides = in.coin() ? strides.data() : nullptr;
        if (in.rarely()) t.byte_offset = in.coin() ? in.bits<std::uint8_t>() : in.bits<std::uint64_t>();
        if (in.rarely()) t.data = nullptr;
        is_true = extent(t) * 8 + static_cast<__int128>(t.byte_offset) <= room * 8;
        if (in.rarely()) t.shape = nullptr;
    }
};

bool run(input& in) {
    std::vector<double> memory(room, 1.0);  // double, so that elements of any type are aligned
    const random_tensor x(in, memory.data(), dlpack::floating, 32);
    try {
        const auto order = in.coin() ? dlpack::axes::tokens_heads : dlpack::axes::heads_tokens;
        const heads_view<float> view = dlpack::view<float>(x.t, order);
        expect(view.shape.head_dim == x.t.shape[x.t.ndim - 1], "the last axis is head_dim");
        // A rotation of a tensor larger than its memory must be rejected, unless the size is possible. The bound is
        // compared in double, so sizes near it may be either.
        if (!x.is_true && (extent(x.t) <= 2 * most_elements || x.t.byte_offset > 0)) return false;
        const basis one({1.0});
        const std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min<index_t>(view.shape.tokens, room)));
        rotate_forward<half_split>(exact_angles(one, ids), in_place(view));
    } catch (const error&) {
        return false;
    }
    const random_tensor p(in, memory.data(), dlpack::floating, 64);
    try {
        const auto ids = dlpack::positions<double>(p.t);
        expect(ids.tokens == p.t.shape[p.t.ndim - 1], "the last axis is tokens");
    } catch (const error&) {
    }
    try {
        dlpack::axis_positions<double>(p.t);
        dlpack::for_element_type(p.t, [](auto) {});
        dlpack::for_position_type(p.t, [](auto) {});
    } catch (const error&) {
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("rotated a view");
    input in(data, size);
    run(in) ? counter.passed() : counter.refused();
    return 0;
}
