// SPDX-License-Identifier: MIT
#include "cordage/host/ggml/key_shift.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>

#include "host/ggml/fake_tensor.hpp"

using namespace cordage;
namespace gg = cordage::ggml;

namespace {

/// A cache [head_dim, heads, cells, batch] of random bytes, all valid, except for a few scales.
template <class T>
std::vector<T> drawn_cache(std::size_t size) {
    std::mt19937_64 random(1);
    std::vector<T> cache(size);
    for (T& one : cache) {
        if constexpr (lanes_of_element<gg::format_of<T>> == 1) {
            one = element_traits<T>::store(static_cast<float>(random() >> 40) * 0x1p-23f - 1.0f);
        } else {
            for (auto& code : one.codes) code = static_cast<std::remove_reference_t<decltype(code)>>(random());
            one.d = to_float16(static_cast<float>(random() >> 40) * 0x1p-30f + 0.001f);
        }
    }
    return cache;
}

/// Runs the operation as a graph would, in nth slices.
void compute(const gg::key_shift& shift, fake_tensor keys, std::vector<std::int32_t>& shifts, int nth) {
    fake_tensor k_shift = dense(shifts, static_cast<std::int64_t>(shifts.size())), node = keys;
    node.src[0] = &keys;
    node.src[1] = &k_shift;
    shift.check(node);
    void (*const op)(fake_tensor*, int, int, void*) = gg::shift_keys<fake_tensor>;
    for (int ith = 0; ith < nth; ++ith) op(&node, ith, nth, const_cast<gg::key_shift*>(&shift));
}

template <class T>
bool are_same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// All types of keys.
template <class F>
void for_each_type(const F& f) {
    std::apply([&](auto... type) { (f(type), ...); }, std::tuple<float, float16, bfloat16, q8_0_block, q4_0_block>());
}

}  // namespace

TEST_CASE(
    "host/ggml/key_shift: keys become those of their new positions, whatever the mode, but for the attention factor") {
    constexpr index_t cells = 71, heads = 2, head_dim = 12;  // if one axis stays, others move
    std::vector<std::int32_t> old_ids, new_ids, shifts;
    for (std::int32_t i = 0; i < 4 * cells; ++i) {
        old_ids.push_back(1000 + 7 * i), shifts.push_back(i % 5 == 0 ? 0 : 40'000 - 613 * i);
        new_ids.push_back(old_ids.back() + shifts.back());
    }
    const std::vector<float> raw = drawn(std::size_t{cells * heads * head_dim}), factors{1.0f, 2.0f, 0.5f, 4.0f};
    for (const int mode : {gg::normal, gg::neox, gg::mrope, gg::imrope}) {
        const gg::rope_arguments a{.n_dims = 8,
                                   .mode = mode,
                                   .n_ctx_orig = 64,
                                   .freq_scale = 0.25f,
                                   .ext_factor = 1.0f,
                                   .attn_factor = 1.5f,
                                   .beta_fast = 32.0f,
                                   .beta_slow = 1.0f,
                                   .sections = {2, 1, 1, 0}};
        const gg::rotation rotation(a, factors);
        REQUIRE(rotation.basis().attention_factor() > 1.6);
        const index_t each = gg::has_axes(mode) ? 4 : 1;
        const auto rotated_at = [&](std::vector<std::int32_t> ids) {
            ids.resize(static_cast<std::size_t>(each * cells));
            std::vector<float> keys = raw;
            const fake_tensor x = dense(keys, head_dim, heads, cells), position_ids = dense(ids, each * cells);
            rotation.run(x, position_ids, x, 0, 1);
            return keys;
        };
        const std::vector<float> wanted = rotated_at(new_ids);
        for (const int nth : {1, 2, 3}) {
            std::vector<float> keys = rotated_at(old_ids);
            std::vector<std::int32_t> of_mode(shifts.begin(), shifts.begin() + each * cells);
            compute(gg::key_shift(rotation), dense(keys, head_dim, heads, cells), of_mode, nth);
            double worst = 0.0;
            for (std::size_t i = 0; i < keys.size(); ++i) {
                worst = std::fmax(worst, std::fabs(static_cast<double>(keys[i]) - static_cast<double>(wanted[i])));
            }
            CHECK(worst < 2e-6);
        }
    }
}

TEST_CASE("host/ggml/key_shift: every type has the bits of one rebase, and keys that stay have their own") {
    constexpr index_t cells = 150, heads = 3, head_dim = 64;
    const gg::rotation rotation(gg::rope_arguments{.n_dims = 32, .attn_factor = 1.25f});
    std::vector<std::int32_t> shifts(cells);
    for (std::size_t i = 0; i < cells; ++i)
        shifts[i] = i % 7 < 3 || (i > 63 && i < 80) ? 0 : static_cast<std::int32_t>(i) - 90;
    const std::vector<std::int32_t> zeros(cells);
    const auto angles = exact_angles(rotation.basis(), shifts) - exact_angles(rotation.basis(), zeros);
    for (const index_t size : {0, 64, 32}) {
        for_each_type([&]<class T>(T) {
            using format = gg::format_of<T>;
            constexpr index_t of_head = elements_of_head<format>(head_dim);
            const std::vector<T> before = drawn_cache<T>(static_cast<std::size_t>(cells * heads * of_head));
            std::vector<T> wanted = before;
            const auto keys = token_major(wanted.data(), {1, cells, heads, head_dim}, format{});
            if ((lanes_of_element<format>) > 1 && size > 0) {
                rebase<half_split>(angles, in_place(with_format(keys, hadamard<format>{.size = size})));
            } else {
                rebase<half_split>(angles, in_place(keys));
            }
            for (std::size_t cell = 0; cell < cells; ++cell) {
                const auto first = static_cast<std::ptrdiff_t>(cell) * heads * of_head;
                const std::vector<T> of_cell(before.begin() + first, before.begin() + first + heads * of_head);
                if (shifts[cell] == 0) std::copy(of_cell.begin(), of_cell.end(), wanted.begin() + first);
            }
            CHECK(!are_same_bytes(wanted, before));
            for (const int nth : {1, 3, 200}) {
                std::vector<T> found = before;
                compute(gg::key_shift(rotation, size), dense(found, head_dim, heads, cells), shifts, nth);
                CHECK(are_same_bytes(found, wanted));
            }
        });
    }
}

TEST_CASE(
    "host/ggml/key_shift: keys moved from a copy as stored have the bits of one rebase after any number of shifts") {
    constexpr index_t cells = 150, heads = 3, head_dim = 64;
    const gg::rotation rotation(gg::rope_arguments{.n_dims = 32, .attn_factor = 1.25f});
    const std::vector<std::int32_t> zeros(cells);
    std::vector<std::int32_t> shifts(cells);  // present position - stored position
    for_each_type([&]<class T>(T) {
        using format = gg::format_of<T>;
        constexpr index_t of_head = elements_of_head<format>(head_dim), size = 32;
        std::vector<T> stored = drawn_cache<T>(static_cast<std::size_t>(cells * heads * of_head)), cache = stored;
        const std::vector<T> before = stored;
        const gg::key_shift shift(rotation, size);
        const fake_tensor copy = dense(stored, head_dim, heads, cells);
        fake_tensor sources = copy, keys = dense(cache, head_dim, heads, cells), k_shift = dense(shifts, cells);
        fake_tensor node = keys;
        node.src[0] = &keys, node.src[1] = &k_shift, node.src[2] = &sources;
        for (const int nth : {1, 3, 200}) {
            for (std::size_t i = 0; i < cells; ++i) {
                const bool is_back = nth == 200 && i % 7 == 1;  // at its stored position again
                shifts[i] = i % 7 == 0 || is_back ? 0 : shifts[i] - static_cast<std::int32_t>(i % 5) - nth;
            }
            shift.check(node);
            void (*const op)(fake_tensor*, int, int, void*) = gg::shift_keys<fake_tensor>;
            for (int ith = 0; ith < nth; ++ith) op(&node, ith, nth, const_cast<gg::key_shift*>(&shift));

            std::vector<T> wanted(before.size());
            const heads_shape shape{1, cells, heads, head_dim};
            const auto rebased = [&](const auto& of) {
                rebase<half_split>(
                    exact_angles(rotation.basis(), shifts) - exact_angles(rotation.basis(), zeros),
                    from_to(token_major(before.data(), shape, of), token_major(wanted.data(), shape, of)));
            };
            if constexpr ((lanes_of_element<format>) > 1) {
                rebased(hadamard<format>{.size = size});
            } else {
                rebased(format{});
            }
            CHECK(are_same_bytes(cache, wanted));
            CHECK(are_same_bytes(stored, before));
            const auto of_first_cell = [&](const std::vector<T>& x) {
                return std::vector<T>(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(heads * of_head));
            };
            CHECK(are_same_bytes(of_first_cell(cache), of_first_cell(before)));  // its shift is 0
        }
    });
}

TEST_CASE("host/ggml/key_shift: a copy of another type, of other sizes or in the cache is refused") {
    std::vector<q8_0_block> cache = drawn_cache<q8_0_block>(12), copy = cache, both = drawn_cache<q8_0_block>(14);
    std::vector<float> floats(384);
    std::vector<std::int32_t> shifts{1, 2, 3};
    const gg::key_shift shift(gg::rotation(gg::rope_arguments{.n_dims = 64}));
    const fake_tensor keys = dense(cache, 64, 2, 3), k_shift = dense(shifts, 3), stored = dense(copy, 64, 2, 3);
    const auto before = cache;
    const auto refused = [&](const char* text, const fake_tensor& from, const fake_tensor& to) {
        check_refused(text, [&] { shift.check(from, k_shift, to); });
        check_refused(text, [&] { shift.run(from, k_shift, to, 0, 2); });
        CHECK(are_same_bytes(cache, before));
    };
    shift.check(stored, k_shift, keys);
    refused("ggml: stored of type F32 must be Q8_0, as keys are", dense(floats, 64, 2, 3), keys);
    refused("ggml: stored [64, 2, 2, 1] must be [64, 2, 3, 1]", dense(copy, 64, 2, 2), keys);
    fake_tensor second = dense(both, 64, 2, 3), first = second;
    second.data = both.data() + 2;  // a cell further: of other slices of the work
    refused("ggml: stored must not overlap keys: give the copy memory of its own", first, second);
    fake_tensor same = keys;
    refused("ggml: stored must not overlap keys: give the copy memory of its own", same, keys);
    fake_tensor without = stored;
    without.data = nullptr;
    shift.check(without, k_shift, keys);  // as when the graph is built
    check_refused("ggml: stored.data nullptr must point to its elements",
                  [&] { shift.run(without, k_shift, keys, 0, 2); });
}

TEST_CASE("host/ggml/key_shift: a quantised key is within half a step of the rotated one, in the transform's space") {
    constexpr index_t cells = 9, heads = 2, head_dim = 128;
    const gg::rotation rotation(gg::rope_arguments{.n_dims = 96, .mode = gg::normal});
    std::vector<std::int32_t> shifts(cells, -4095);
    const auto run = [&]<class T>(T, double steps) {
        std::vector<T> keys = drawn_cache<T>(static_cast<std::size_t>(cells * heads * head_dim / 32));
        std::vector<float> wanted(std::size_t{cells * heads * head_dim}), found(wanted.size());
        const heads_shape shape{1, cells, heads, head_dim};
        const auto as_floats = [&](const auto& format, std::vector<float>& to) {
            const std::vector<std::int32_t> none(cells);
            rotate_forward<interleaved>(
                exact_angles(rotation.basis(), none),
                from_to(token_major(keys.data(), shape, format), token_major(to.data(), shape)).unrotated());
        };
        as_floats(hadamard<gg::format_of<T>>{.size = 128}, wanted);
        rotate_forward<interleaved>(exact_angles(rotation.basis(), shifts),
                                    in_place(token_major(wanted.data(), shape)));
        compute(gg::key_shift(rotation, 128), dense(keys, head_dim, heads, cells), shifts, 2);
        as_floats(gg::format_of<T>{}, found);
        for (index_t head = 0; head < cells * heads; ++head)
            hadamard_transform(wanted.data() + head * head_dim, head_dim);
        double worst = 0.0;
        for (std::size_t block = 0; block < wanted.size(); block += 32) {
            double largest = 0.0;
            for (std::size_t i = block; i < block + 32; ++i)
                largest = std::fmax(largest, std::fabs(static_cast<double>(wanted[i])));
            for (std::size_t i = block; i < block + 32; ++i) {
                const double off = std::fabs(static_cast<double>(found[i]) - static_cast<double>(wanted[i]));
                worst = std::fmax(worst, off * steps / largest);
            }
        }
        CHECK(worst < 1.1);
    };
    run(q8_0_block{}, 2 * 127.0);
    run(q4_0_block{}, 8.0);  // its codes end at 7
}

TEST_CASE("host/ggml/key_shift: a cache as llama.cpp has it, cells in a row, a view of MLA's tail, and streams") {
    constexpr index_t cells = 6, latent = 64, head_dim = 32;  // a head of latent + head_dim lanes
    const gg::rotation rotation(gg::rope_arguments{.n_dims = head_dim});
    std::vector<std::int32_t> shifts{0, 5, 5, 5, -70000, 0};
    std::vector<q8_0_block> cache = drawn_cache<q8_0_block>(2 * cells * 3), wanted = cache;
    for (index_t stream = 0; stream < 2; ++stream) {
        for (std::size_t cell = 1; cell < 5; ++cell) {
            const std::vector<std::int32_t> to{shifts[cell]}, from{0};
            q8_0_block* const tail = wanted.data() + (static_cast<index_t>(cell) + stream * cells) * 3 + 2;
            rebase<half_split>(exact_angles(rotation.basis(), to) - exact_angles(rotation.basis(), from),
                               in_place(token_major(tail, {1, 1, 1, head_dim}, q8_0{})));
        }
    }
    const std::size_t block = sizeof(q8_0_block), row = 3 * block;
    const fake_tensor tail{8, {head_dim, 1, cells, 2}, {block, row, row, cells * row}, {}, cache.data() + latent / 32};
    compute(gg::key_shift(rotation, 32), tail, shifts, 1);
    CHECK(!are_same_bytes(cache, wanted));  // without the transform
    std::ranges::copy(drawn_cache<q8_0_block>(2 * cells * 3), cache.begin());
    compute(gg::key_shift(rotation), tail, shifts, 2);
    CHECK(are_same_bytes(cache, wanted));
}

TEST_CASE("host/ggml/key_shift: bytes of cells without a key do not change, whatever they are") {
    const gg::rotation rotation(gg::rope_arguments{.n_dims = 64});
    std::vector<std::int32_t> shifts(70);
    for_each_type([&]<class T>(T) {
        constexpr index_t of_head = elements_of_head<gg::format_of<T>>(64);
        std::vector<T> cache(static_cast<std::size_t>(70 * of_head));
        std::memset(cache.data(), 0xff, cache.size() * sizeof(T));  // NaN
        if constexpr (std::same_as<T, float>) cache[3] = -0.0f, cache[35] = -1.0f;
        const std::vector<T> before = cache;
        compute(gg::key_shift(rotation, 64), dense(cache, 64, 1, 70), shifts, 2);
        CHECK(are_same_bytes(cache, before));
    });
}

TEST_CASE(
    "host/ggml/key_shift: what does not fit gets one error that names it, in every slice, and nothing is written") {
    std::vector<q8_0_block> cache = drawn_cache<q8_0_block>(12);
    const std::vector<q8_0_block> before = cache;
    std::vector<std::int32_t> shifts{1, 2, 3};
    const fake_tensor t = dense(cache, 64, 2, 3), k_shift = dense(shifts, 3);
    const gg::key_shift shift(gg::rotation(gg::rope_arguments{.n_dims = 64}), 64);
    const auto with = [&](const char* text, const auto& change) {
        fake_tensor keys = t, of = k_shift;
        change(keys, of);
        check_refused(text, [&] { shift.check(keys, of, keys); });
        for (const int ith : {0, 1}) check_refused(text, [&] { shift.run(keys, of, keys, ith, 2); });
        CHECK(are_same_bytes(cache, before));
    };
    shift.check(t, k_shift, t);
    with("ggml: keys of type F64 must be F32, F16, BF16, Q8_0 or Q4_0", [](fake_tensor& k, auto&) { k.type = 28; });
    with("ggml: keys of type GGML_TYPE 12 must be F32, F16, BF16, Q8_0 or Q4_0",
         [](fake_tensor& k, auto&) { k.type = 12; });
    with("ggml: keys.ne[0] 48 must be a multiple of 32, the lanes of a block",
         [](fake_tensor& k, auto&) { k.ne[0] = 48; });
    with("ggml: keys.nb[0] 18 must be 34, the size of an element", [](fake_tensor& k, auto&) { k.nb[0] = 18; });
    with("ggml: keys.nb[1] 70 must be a multiple of 34, the size of an element",
         [](fake_tensor& k, auto&) { k.nb[1] = 70; });
    with("ggml: keys.ne[3] -1 must not be negative", [](fake_tensor& k, auto&) { k.ne[3] = -1; });
    with("ggml: keys [64, 2, 3, 4611686018427387904] with nb [34, 68, 136, 408] must span at most 2^58 elements",
         [](fake_tensor& k, auto&) { k.ne[3] = index_t{1} << 62; });
    with("ggml: keys [64, 2, 3, 1] with nb [34, 34, 136, 408] must not overlap itself",
         [](fake_tensor& k, auto&) { k.nb[1] = 34; });
    with("rebase: rotary_dim 64 must be <= head_dim 32; it is twice the number of frequencies",
         [](fake_tensor& k, auto&) { k.ne[0] = 32; });
    with("rebase: x's hadamard size 64 must be a power of two that divides head_dim 96",
         [](fake_tensor& k, auto&) { k.ne[0] = 96, k.nb[1] = 102, k.nb[2] = 204; });
    with("rebase: x's head_dim 4096 must be a multiple of 32 and at most 2048 in this format",
         [](fake_tensor& k, auto&) { k.ne[0] = 4096, k.nb[1] = 4352, k.nb[2] = 8704; });
    with("ggml: k_shift of type F32 must be I32", [](auto&, fake_tensor& s) { s.type = 0; });
    with("ggml: k_shift [2, 1, 1, 1] must be [3, 1, 1, 1]", [](auto&, fake_tensor& s) { s.ne[0] = 2; });
    with("ggml: k_shift [3, 1, 2, 1] must be [3, 1, 1, 1]", [](auto&, fake_tensor& s) { s.ne[2] = 2; });

    fake_tensor odd = t;
    odd.data = reinterpret_cast<char*>(cache.data()) + 1;
    CHECK_THROWS_AS(shift.check(odd, k_shift, odd), value_error);
    const gg::key_shift of_axes(
        gg::rotation(gg::rope_arguments{.n_dims = 64, .mode = gg::mrope, .sections = {8, 12, 12, 0}}));
    check_refused("ggml: k_shift [3, 1, 1, 1] must be [12, 1, 1, 1]", [&] { of_axes.check(t, k_shift, t); });
    for (const index_t size : {index_t{48}, index_t{-64}, index_t{128}}) {
        const gg::key_shift other(gg::rotation(gg::rope_arguments{.n_dims = 64}), size);
        CHECK_THROWS_AS(other.check(t, k_shift, t), shape_error);
    }
    check_refused("ggml: ith 2 must be 0 to nth - 1 = 1", [&] { shift.run(t, k_shift, t, 2, 2); });
    constexpr int least = std::numeric_limits<int>::min();  // once nth - 1 overflowed
    check_refused("ggml: ith 0 must be 0 to nth - 1 = -2147483649", [&] { shift.run(t, k_shift, t, 0, least); });
    fake_tensor without = t, none = k_shift;
    without.data = none.data = nullptr;
    shift.check(without, none, without);  // as when the graph is built
    check_refused("ggml: keys.data nullptr must point to its elements",
                  [&] { shift.run(without, k_shift, without, 1, 2); });
    check_refused("ggml: k_shift.data nullptr must point to its elements", [&] { shift.run(t, none, t, 1, 2); });
    without.ne[1] = 0;
    shift.run(without, none, without, 0, 1);  // no heads: nothing to read
}

// Once, the code of a NaN was whatever the conversion to int gave.
TEST_CASE("host/ggml/key_shift: a block whose scale is NaN gets codes 0") {
    std::vector<q4_0_block> cache = drawn_cache<q4_0_block>(2);
    cache[0].d = float16::from_bits(0x7e00);
    std::vector<std::int32_t> shifts{1};
    compute(gg::key_shift(gg::rotation(gg::rope_arguments{.n_dims = 32})), dense(cache, 64, 1, 1), shifts, 1);
    CHECK(cache[0].codes == std::array<std::uint8_t, 16>{});
    CHECK(cache[1].codes != std::array<std::uint8_t, 16>{});
}

TEST_CASE("host/ggml/key_shift: a node has the keys as its source and is these keys") {
    std::vector<float> cache = drawn(std::size_t{3} * 2 * 8), other = cache;
    std::vector<std::int32_t> shifts{1, 2, 3};
    fake_tensor keys = dense(cache, 8, 2, 3), k_shift = dense(shifts, 3), node = keys;
    const gg::key_shift shift(gg::rotation(basis({1.0, 0.1}), gg::neox));
    check_refused("ggml: dst.src[0] nullptr must be keys", [&] { shift.check(node); });
    node.src[0] = &keys;
    check_refused("ggml: dst.src[1] nullptr must be k_shift", [&] { shift.check(node); });
    node.src[1] = &k_shift;
    shift.check(node);
    const auto with = [&](const char* text, const auto& change) {
        fake_tensor changed = node;
        change(changed);
        check_refused(text, [&] { shift.check(changed); });
    };
    with(
        "ggml: dst [8, 2, 3, 1] with nb [4, 32, 64, 192] must be the keys [8, 2, 3, 1] with nb [4, 32, 64, 192] "
        "themselves: create the node by ggml_custom_inplace",
        [&](fake_tensor& n) { n.data = other.data(); });
    with(
        "ggml: dst [8, 2, 2, 1] with nb [4, 32, 64, 192] must be the keys [8, 2, 3, 1] with nb [4, 32, 64, 192] "
        "themselves: create the node by ggml_custom_inplace",
        [&](fake_tensor& n) { n.ne[2] = 2; });
    with(
        "ggml: dst [8, 2, 3, 1] with nb [4, 64, 32, 192] must be the keys [8, 2, 3, 1] with nb [4, 32, 64, 192] "
        "themselves: create the node by ggml_custom_inplace",
        [&](fake_tensor& n) { std::swap(n.nb[1], n.nb[2]); });
    with(
        "ggml: dst [8, 2, 3, 1] with nb [4, 32, 64, 192] must be the keys [8, 2, 3, 1] with nb [4, 32, 64, 192] "
        "themselves: create the node by ggml_custom_inplace",
        [&](fake_tensor& n) { n.type = 1; });
}
