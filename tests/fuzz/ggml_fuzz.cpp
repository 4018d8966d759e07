// SPDX-License-Identifier: MIT
// Fuzzes ggml's custom operations: tensors of any numbers and arguments of any values are rejected before anything is
// written, or dst is x rotated, by all slices together, and nothing else is written; or cached keys are moved in place,
// and those with shift 0 keep their bytes.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "cordage/host/ggml/key_shift.hpp"
#include "host/ggml/tensor_struct.hpp"
#include "input.hpp"
#include "run_counter.hpp"

namespace {

using namespace cordage;
namespace gg = cordage::ggml;
using fuzz::expect;
using fuzz::input;

constexpr index_t room = 4096;  // bytes of a tensor's memory

/// Whether a tensor's elements, of so many lanes each, lie within `room` bytes; the adapter cannot know.
bool is_true(const fake_tensor& t, std::size_t element_size, index_t lanes = 1) {
    __int128 last = 0;
    for (int i = 0; i < 4; ++i) {
        if (t.ne[i] <= 0) return true;  // none
        if (t.ne[i] > room) return false;
        last += static_cast<__int128>(rounded_up_quotient(t.ne[i], i == 0 ? lanes : 1) - 1) *
                static_cast<__int128>(t.nb[i]);
    }
    return last + static_cast<__int128>(element_size) <= room;
}

void make_hostile(input& in, fake_tensor& t) {
    const auto axis = static_cast<std::size_t>(in.between(0, 3));
    switch (in.between(0, 3)) {
        case 0:
            t.ne[axis] = in.coin() ? in.hostile_integer() : t.ne[axis] + in.between(0, 2) - 1;
            break;
        case 1:
            t.nb[axis] = in.coin() ? in.bits<std::size_t>() : t.nb[axis] + static_cast<std::size_t>(in.between(0, 8));
            break;
        case 2:
            t.type = static_cast<int>(in.coin() ? in.hostile_integer() : in.between(0, 40));
            break;
        default:
            t.data = in.coin() ? nullptr : static_cast<char*>(t.data) + in.between(0, 64);
    }
}

float hostile_float(input& in) { return static_cast<float>(in.hostile_number()); }

/// Most of them fit a head of `head_dim` lanes.
gg::rope_arguments draw_arguments(input& in, index_t head_dim) {
    constexpr int modes[] = {gg::normal, gg::neox, gg::mrope, gg::vision, gg::imrope};
    gg::rope_arguments a{.n_dims = static_cast<int>(2 * in.between(1, head_dim / 2)), .mode = in.one_of(modes)};
    if (a.mode == gg::vision) a.n_dims = static_cast<int>(head_dim / 2);
    for (int& section : a.sections) section = static_cast<int>(in.between(0, 3));
    if (in.coin()) {
        a.n_ctx_orig = static_cast<int>(in.between(1, 200));
        a.ext_factor = static_cast<float>(in.share()), a.freq_scale = static_cast<float>(in.share());
        a.beta_slow = 1.0f, a.beta_fast = static_cast<float>(in.between(1, 64));
    }
    if (in.rarely(8)) {
        float* const numbers[] = {&a.freq_base,   &a.freq_scale, &a.ext_factor,
                                  &a.attn_factor, &a.beta_fast,  &a.beta_slow};
        *in.one_of(numbers) = hostile_float(in);
    }
    if (in.rarely(16)) a.n_dims = static_cast<int>(in.hostile_integer());
    if (in.rarely(16)) a.mode = static_cast<int>(in.between(0, 64));
    if (in.rarely(16)) a.n_ctx_orig = static_cast<int>(in.hostile_integer());
    if (in.rarely(8)) a.sections[static_cast<std::size_t>(in.between(0, 3))] = static_cast<int>(in.hostile_integer());
    return a;
}

/// One tensor's bytes, a separate block with every element a small number.
template <class T>
std::vector<T> drawn(std::mt19937_64& random) {
    std::vector<T> values(static_cast<std::size_t>(room) / sizeof(T));
    for (T& one : values) one = element_traits<T>::store(static_cast<compute_of<T>>(fuzz::uniform(random, -2.0, 2.0)));
    return values;
}

template <class T>
double number(T x) {
    return static_cast<double>(element_traits<T>::load(x));
}

/// x rotated in one call, its elements dense.
template <class T>
std::vector<T> rotated(const gg::rotation& rotation, const fake_tensor& x, const fake_tensor& position_ids) {
    const heads_view<const T> from = gg::view<const T>(x);
    const heads_shape& s = from.shape;
    std::vector<T> y(static_cast<std::size_t>(s.batch * s.tokens * s.heads * s.head_dim));
    fake_tensor dst{x.type, {s.head_dim, s.heads, s.tokens, s.batch}, {sizeof(T)}, {}, y.data()};
    for (int i = 1; i < 4; ++i) dst.nb[i] = dst.nb[i - 1] * static_cast<std::size_t>(dst.ne[i - 1]);
    rotation.run(x, position_ids, dst, 0, 1);
    return y;
}

template <class T>
bool run(input& in) {
    auto random = in.generator();
    std::vector<T> x_memory = drawn<T>(random), y_memory = drawn<T>(random);
    fake_tensor x{gg::detail::type_of<T>(),
                  {2 * in.between(1, 8), in.between(1, 3), in.between(1, 6), in.between(1, 2)},
                  {sizeof(T)},
                  {},
                  x_memory.data()};
    for (int i = 1; i < 4; ++i) {
        x.nb[i] = x.nb[i - 1] * static_cast<std::size_t>(x.ne[i - 1]) + sizeof(T) * (in.rarely(4) ? 3 : 0);
    }
    if (in.coin()) std::swap(x.ne[1], x.ne[2]), std::swap(x.nb[1], x.nb[2]);
    const gg::rope_arguments arguments = draw_arguments(in, x.ne[0]);
    std::vector<float> factors(in.coin() ? static_cast<std::size_t>(in.between(1, 16)) : 0, 1.5f);
    if (in.rarely(8) && !factors.empty()) factors.back() = hostile_float(in);

    std::vector<std::int32_t> ids(static_cast<std::size_t>(room) / sizeof(std::int32_t));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % 100'000) - 1000;
    if (in.rarely(4)) ids[0] = std::numeric_limits<std::int32_t>::min();
    fake_tensor position_ids{
        26, {gg::has_axes(arguments.mode) ? 4 * x.ne[2] : x.ne[2], 1, 1, 1}, {4, 4, 4, 4}, {}, ids.data()};
    fake_tensor dst = x;
    if (in.coin()) dst.data = y_memory.data();
    for (fake_tensor* t : {&x, &position_ids, &dst}) {
        if (in.rarely(12)) make_hostile(in, *t);
    }
    const int nth = static_cast<int>(in.rarely() ? in.hostile_integer() : in.between(1, 5));

    const std::vector<T> x_before = x_memory, y_before = y_memory;
    const auto differs = [](const std::vector<T>& a, const std::vector<T>& b) {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) != 0;
    };
    std::vector<T> expected;
    try {
        const gg::rotation rotation(arguments, factors);
        rotation.check(x, position_ids, dst);  // reads no elements, so also without data
        if (!is_true(x, sizeof(T)) || !is_true(position_ids, 4) || !is_true(dst, sizeof(T))) return false;
        rotation.run(x, position_ids, dst, 0, std::numeric_limits<int>::max());  // mostly an empty slice
        x_memory = x_before, y_memory = y_before;
        expected = rotated<T>(rotation, x, position_ids);
        const int calls = std::clamp(nth, 1, 64);  // more than there are tokens; an nth below 1 is refused by one call
        for (int ith = 0; ith < calls; ++ith) rotation.run(x, position_ids, dst, ith, nth);
    } catch (const error&) {
        expect(!differs(x_memory, x_before) && !differs(y_memory, y_before), "what is refused writes nothing");
        return false;
    }
    const heads_view<T> y = gg::view<T>(dst);
    const T* next = expected.data();
    for (index_t row = 0; row < y.shape.batch; ++row) {
        for (index_t token = 0; token < y.shape.tokens; ++token) {
            for (index_t head = 0; head < y.shape.heads; ++head) {
                for (index_t lane = 0; lane < y.shape.head_dim; ++lane, ++next) {
                    T& found = y.head(row, token, head)[lane];
                    const double a = number(found), b = number(*next);
                    expect(!(std::fabs(a - b) > 0.02 * (1.0 + std::fabs(b))), "slices make what one call makes");
                    const auto of = [&](std::vector<T>& now, const std::vector<T>& before) {
                        const auto i = &found - now.data();
                        if (i >= 0 && i < std::ssize(now)) found = before[static_cast<std::size_t>(i)];
                    };
                    of(x_memory, x_before), of(y_memory, y_before);
                }
            }
        }
    }
    expect(!differs(x_memory, x_before) && !differs(y_memory, y_before), "nothing but dst is written");
    return true;
}

/// A cache of keys, of any bytes, that are moved.
template <class T>
bool shift(input& in) {
    constexpr index_t lanes = lanes_of_element<gg::format_of<T>>;
    auto random = in.generator();
    std::vector<std::uint8_t> memory(static_cast<std::size_t>(room) + 64);
    for (std::uint8_t& byte : memory) byte = static_cast<std::uint8_t>(random());
    fake_tensor keys{gg::detail::type_of<T>(),
                     {lanes > 1 ? lanes * in.between(1, 3) : 2 * in.between(1, 8), in.between(1, 3), in.between(1, 6),
                      in.between(1, 2)},
                     {sizeof(T)},
                     {},
                     memory.data()};
    keys.nb[1] = sizeof(T) * static_cast<std::size_t>(keys.ne[0] / lanes + (in.rarely(4) ? 2 : 0));
    for (int i = 2; i < 4; ++i) keys.nb[i] = keys.nb[i - 1] * static_cast<std::size_t>(keys.ne[i - 1]);
    if (in.coin()) std::swap(keys.ne[1], keys.ne[2]), std::swap(keys.nb[1], keys.nb[2]);
    const gg::rope_arguments arguments = draw_arguments(in, keys.ne[0]);
    const index_t size = in.rarely(8) ? in.hostile_integer() : in.coin() ? index_t{1} << in.between(0, 6) : 0;

    std::vector<std::int32_t> ids(static_cast<std::size_t>(room) / sizeof(std::int32_t));
    for (std::int32_t& id : ids) id = random() % 3 == 0 ? 0 : static_cast<std::int32_t>(random());
    fake_tensor k_shift{
        26, {gg::has_axes(arguments.mode) ? 4 * keys.ne[2] : keys.ne[2], 1, 1, 1}, {4, 4, 4, 4}, {}, ids.data()};
    for (fake_tensor* t : {&keys, &k_shift}) {
        if (in.rarely(12)) make_hostile(in, *t);
    }
    const int nth = static_cast<int>(in.rarely() ? in.hostile_integer() : in.between(1, 5));

    const std::vector<std::uint8_t> before = memory;
    try {
        const gg::key_shift moved(gg::rotation(arguments), size);
        moved.check(keys, k_shift, keys);  // reads no elements, so also without data
        if (keys.type != gg::detail::type_of<T>() || !is_true(keys, sizeof(T), lanes) || !is_true(k_shift, 4))
            return false;
        moved.run(keys, k_shift, keys, 0, 1);
        const std::vector<std::uint8_t> expected = std::exchange(memory, before);
        keys.data = memory.data() + (static_cast<const std::uint8_t*>(keys.data) - expected.data());
        for (int ith = 0; ith < std::clamp(nth, 1, 64); ++ith) moved.run(keys, k_shift, keys, ith, nth);
        expect(memory == expected || nth > 64, "slices make what one call makes");
        if (lanes > 1) {  // blocks that stay keep their bytes
            const std::vector<std::uint8_t> made = std::exchange(memory, before);
            std::vector<std::uint8_t> copy = before;
            const auto offset = static_cast<const std::uint8_t*>(keys.data) - made.data();
            fake_tensor stored = keys;
            stored.data = copy.data() + offset;
            keys.data = memory.data() + offset;
            for (int ith = 0; ith < std::clamp(nth, 1, 64); ++ith) moved.run(stored, k_shift, keys, ith, nth);
            expect(memory == made && copy == before, "keys from a copy are the keys moved in place");
        }
    } catch (const error&) {
        expect(memory == before, "what is refused writes nothing");
        return false;
    }
    // Memory outside of the moved heads is unchanged; an empty tensor may come without shifts.
    const heads_view<T, gg::format_of<T>> view = gg::view<T>(keys);
    if (tensors_detail::is_empty(view.shape)) {
        expect(memory == before, "a cache without keys is not written");
        return true;
    }
    const auto head_bytes = static_cast<std::size_t>(keys.ne[0] / lanes) * sizeof(T);
    for (index_t row = 0; row < view.shape.batch; ++row) {
        for (index_t token = 0; token < view.shape.tokens; ++token) {
            bool moves = false;
            for (index_t axis = 0; axis < k_shift.ne[0] / keys.ne[2]; ++axis) {
                moves = moves || static_cast<const std::int32_t*>(k_shift.data)[axis * keys.ne[2] + token] != 0;
            }
            for (index_t head = 0; moves && head < view.shape.heads; ++head) {
                auto* const bytes = reinterpret_cast<std::uint8_t*>(view.head(row, token, head));
                std::memcpy(bytes, before.data() + (bytes - memory.data()), head_bytes);
            }
        }
    }
    expect(memory == before, "nothing but keys that move is written");
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("rotated a tensor or moved keys");
    input in(data, size);
    const auto kind = in.between(0, 7);
    const bool passed = kind == 0   ? run<float>(in)
                        : kind == 1 ? run<float16>(in)
                        : kind == 2 ? run<bfloat16>(in)
                        : kind == 3 ? run<double>(in)
                        : kind == 4 ? shift<float>(in)
                        : kind == 5 ? shift<bfloat16>(in)
                        : kind == 6 ? shift<q8_0_block>(in)
                                    : shift<q4_0_block>(in);
    passed ? counter.passed() : counter.refused();
    return 0;
}
