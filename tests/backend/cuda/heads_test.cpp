// SPDX-License-Identifier: MIT
// Norms and formats of whole heads on a device, against the scalar backend.
#include <bit>
#include <cstring>
#include <limits>

#include "backend/cuda/device_backend.hpp"
#include "backend/cuda/first_lane_format.hpp"
#include "rotate/dense.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

// Blocks loop over the tokens and heads that a grid does not hold. In an unnamed namespace nvcc 13.0 would warn of the
// launch that only a concept names.
struct device_of_two_blocks {
    index_t processors(const char*) const { return 1; }
    template <backend::device_kernel Kernel>
    void launch(const char* function, const Kernel& kernel, backend::launch_size size) const {
        size.blocks.x = std::min<std::uint32_t>(size.blocks.x, 2);
        size.blocks.y = std::min<std::uint32_t>(size.blocks.y, 2);
        test_device{}.launch(function, kernel, size);
    }
};

namespace {

const std::vector<std::int32_t> positions{3, 17, 70'000};

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& elements) {
    std::vector<std::uint8_t> bytes(elements.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
    return bytes;
}

struct head_case {
    index_t heads, head_dim, pairs, first_lane;
};
// In pieces and single elements, with unrotated lanes, teams of 2 to 32 threads, several chunks of heads.
const head_case cases[] = {{3, 128, 64, 0}, {5, 96, 32, 32},   {2, 86, 35, 5},  {1, 10, 3, 2},
                           {700, 16, 8, 0}, {2, 300, 130, 20}, {9, 128, 32, 64}};

template <class T>
double unit_of(double y) {
    return sizeof(T) == 2 ? unit_in_last_place<T>(y) : 0.0;
}

// A norm on a device and by the scalar backend, with x and y at any offset.
template <class Pairing, class X, class Y, class W>
void check_norm(const head_case& c, rms_norm<W> norm, bool rotates, index_t shift, index_t processors) {
    const heads_shape shape{1, 3, c.heads, c.head_dim}, cache_shape{2, 4, c.heads, c.head_dim};
    const basis b(frequencies(2 * c.pairs), 1.25);
    const exact_angles angles(b, positions);
    const std::vector<std::int32_t> slots{6, -1, 1};
    const auto x = random_elements<X>({1, 3, c.heads, c.head_dim + 8}, 5);
    const auto weights = random_elements<W>({1, 1, c.heads, c.head_dim}, 6);
    if (norm.weight != nullptr) norm.weight = weights.data();
    std::vector<Y> found(static_cast<std::size_t>(8 * c.heads * c.head_dim + shift), Y{}), wanted = found;
    const auto rotate = [&](const auto& call, std::vector<Y>& y) {
        const auto cache = in_slots(token_major(y.data() + shift, cache_shape), slots.data(), 1, 3);
        const auto o = from_to(token_major(x.data() + shift, shape), cache, c.first_lane).normalized(norm);
        call(rotates ? o : o.unrotated());
    };
    rotate([&](const auto& o) { rotate_forward<Pairing, backend::scalar>(angles, o); }, wanted);
    with_device_angles(angles, [&](const auto& on_device) {
        rotate(
            [&](const auto& o) { rotate_forward<Pairing>(test_device{.processor_count = processors}, on_device, o); },
            found);
    });
    // Rounded in between, what is rounded may differ by one unit: of a whole head that is normalized afterwards, or of
    // both lanes of a pair.
    double largest = 0.0;
    for (const Y y : wanted) largest = std::max(largest, std::fabs(value(y)));
    const double between = norm.is_rounded_between ? 2.0 * unit_of<X>(largest) : 0.0;
    double worst = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double y = value(wanted[i]);
        const double room = 8e-6 + unit_of<Y>(y) + between;
        worst = std::max(worst, std::fabs(value(found[i]) - y) / room);
    }
    CAPTURE(c.heads);
    CAPTURE(c.head_dim);
    CAPTURE(norm.is_rounded_between);
    CAPTURE(norm.is_after_rotation);
    CAPTURE(norm.is_over_all_heads);
    REQUIRE(worst <= 1.0);
}

template <class Pairing, class X, class Y>
void check_norms() {
    const float given = 0.0f;
    for (const head_case& c : cases) {
        for (int kind = 0; kind < 32; ++kind) {
            const rms_norm<float> norm{.weight = (kind & 16) != 0 ? nullptr : &given,
                                       .epsilon = 1e-5,
                                       .adds_one = kind % 3 == 0,
                                       .is_over_all_heads = (kind & 2) != 0,
                                       .is_after_rotation = (kind & 1) != 0,
                                       .is_rounded_between = (kind & 8) != 0};
            check_norm<Pairing, X, Y>(c, norm, (kind & 4) == 0, kind % 5 == 0 ? 3 : 0, kind % 2 == 0 ? 132 : 1);
        }
        const bfloat16 brain{};
        check_norm<Pairing, X, Y>(c, rms_norm<bfloat16>{.weight = &brain}, true, 0, 132);
    }
}

// Lanes of all kinds: ties of int8 and q8_0 with scale 1, equal magnitudes, zeros, NaN, infinities, tiny numbers.
std::vector<float> special_lanes(std::size_t count) {
    std::vector<float> x = random_elements<float>({1, 1, 1, static_cast<index_t>(count)}, 7);
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < count; ++i) {
        const auto number = static_cast<float>(i % 64);
        const std::size_t block = i / 64 % 8;
        if (block == 1) x[i] = i % 64 == 5 ? 127.0f : number - 31.5f;
        if (block == 2) x[i] = i % 64 == 9 ? -8.0f : (number - 32.0f) / 4.0f;
        if (block == 3) x[i] = 0.0f;
        if (block == 4 && i % 7 == 0) x[i] = nan;
        if (block == 5) x[i] *= 1e-41f;
        if (block == 6) x[i] = (i % 2 == 0 ? 2.0f : -2.0f);
        if (block == 7 && i % 64 == 3) x[i] = infinity;
    }
    return x;
}

template <class F>
struct scale_of {
    using type = float;
};
template <group_format F>
struct scale_of<F> {
    using type = std::remove_pointer_t<decltype(F{}.scales.data)>;
};

template <class T, class F>
struct stored {
    using scale = typename scale_of<F>::type;
    std::vector<T> elements;
    std::vector<scale> scales;
    F format;

    heads_view<T, F> view(const heads_shape& shape) {
        if constexpr (requires { format.scales; }) format.scales.data = scales.data();
        return token_major(elements.data(), shape, format);
    }
    bool operator==(const stored& o) const {
        return bytes_of(elements) == bytes_of(o.elements) && bytes_of(scales) == bytes_of(o.scales);
    }
};
template <class T, class F>
stored<T, F> room_for(const heads_shape& s, F format) {
    using scale = typename scale_of<F>::type;
    std::vector<scale> scales;
    if constexpr (requires { format.scales; }) {
        const index_t groups = format.lanes_of_scale == 0 ? 1 : s.head_dim / format.lanes_of_scale;
        format.scales = {nullptr, s.tokens * s.heads * groups, s.heads * groups, groups};
        scales.resize(static_cast<std::size_t>(s.batch * s.tokens * s.heads * groups));
        if constexpr (std::same_as<scale, float>) {
            for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 0.03125f * static_cast<float>(1 + i % 3);
        }
    }
    const index_t elements = s.batch * s.tokens * s.heads * elements_of_head<F>(s.head_dim);
    return {std::vector<T>(static_cast<std::size_t>(elements)), scales, format};
}

// Stored, read, and rotated in place: bit for bit as by the scalar backend. `others` lanes of a head are not rotated;
// without them, and if heads are a multiple of 16 lanes, lanes move in pieces.
template <class T, class X = float, class F>
void check_format(const F& format, const heads_shape& shape, index_t processors = 132, index_t others = 6) {
    const basis b(frequencies(shape.head_dim / 2 * 2 - others), 1.25);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(shape.tokens));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i * 100);
    const exact_angles angles(b, ids);
    std::vector<X> x;
    for (const float lane : special_lanes(static_cast<std::size_t>(count(shape)))) {
        if constexpr (std::same_as<X, float>) {
            x.push_back(lane);
        } else {
            x.push_back(to_bfloat16(lane));
        }
    }
    const auto from = token_major(x.data(), shape);
    const index_t first = others == 0 ? 0 : 1;
    auto found = room_for<T>(shape, format), wanted = found;
    with_device_angles(angles, [&](const auto& on_device) {
        const test_device device{.processor_count = processors};
        rotate_forward<half_split>(device, on_device, from_to(from, found.view(shape)).unrotated());
        rotate_forward<half_split, backend::scalar>(angles, from_to(from, wanted.view(shape)).unrotated());
        CHECK(found == wanted);
        std::vector<float> read(x.size()), expected = read;
        rotate_forward<half_split>(device, on_device,
                                   from_to(found.view(shape), token_major(read.data(), shape)).unrotated());
        rotate_forward<half_split, backend::scalar>(
            angles, from_to(wanted.view(shape), token_major(expected.data(), shape)).unrotated());
        bool is_same = true;
        for (std::size_t i = 0; i < read.size(); ++i) {
            is_same = is_same && (read[i] == expected[i] || (std::isnan(read[i]) && std::isnan(expected[i])));
        }
        CHECK(is_same);
        // In place: as through floats on the same device.
        auto by_floats = found;
        const auto floats = token_major(read.data(), shape);
        rotate_forward<interleaved>(device, on_device, from_to(found.view(shape), floats, first));
        rotate_forward<interleaved>(device, on_device, from_to(floats, by_floats.view(shape)).unrotated());
        rotate_forward<interleaved>(device, on_device, in_place(found.view(shape), first));
        CHECK(found == by_floats);
        // And in the same pass as a norm.
        const auto weights = random_elements<float>({1, 1, 1, shape.head_dim}, 8);
        for (const bool is_after : {false, true}) {
            const rms_norm<float> norm{.weight = weights.data(), .is_after_rotation = is_after};
            rotate_forward<half_split>(device, on_device, from_to(from, floats, 2 * first).normalized(norm));
            rotate_forward<half_split>(device, on_device, from_to(floats, by_floats.view(shape)).unrotated());
            rotate_forward<half_split>(device, on_device, from_to(from, found.view(shape), 2 * first).normalized(norm));
            CHECK(found == by_floats);
        }
        // Inverse.
        rotate_inverse<half_split>(device, on_device, from_to(found.view(shape), floats));
        rotate_inverse<half_split, backend::scalar>(angles,
                                                    from_to(found.view(shape), token_major(expected.data(), shape)));
        for (std::size_t i = 0; i < read.size(); ++i) {
            REQUIRE((std::fabs(read[i] - expected[i]) <= 1e-5f * (1.0f + std::fabs(expected[i])) ||
                     !std::isfinite(expected[i])));
        }
    });
}

}  // namespace

TEST_CASE("backend/cuda/heads: norms of all kinds are the scalar backend's") {
    check_norms<half_split, float, float>();
    check_norms<interleaved, bfloat16, bfloat16>();
    check_norms<half_split, float16, float16>();
    check_norms<interleaved, float, bfloat16>();
}

TEST_CASE("backend/cuda/heads: rounded between, one call has the bits of two") {
    const heads_shape shape{1, 3, 6, 80};
    const basis b(frequencies(64), 1.25);
    const exact_angles angles(b, positions);
    const auto weights = random_elements<bfloat16>({1, 1, 1, 80}, 6);
    with_device_angles(angles, [&](const auto& on_device) {
        for (const bool is_after : {false, true}) {
            auto once = random_elements<bfloat16>(shape, 4), twice = once;
            const rms_norm<bfloat16> norm{
                .weight = weights.data(), .is_after_rotation = is_after, .is_rounded_between = true};
            const auto in = [&](auto& x) { return in_place(token_major(x.data(), shape), 16); };
            rotate_forward<half_split>(test_device{}, on_device, in(once).normalized(norm));
            if (is_after) rotate_forward<half_split>(test_device{}, on_device, in(twice));
            rotate_forward<half_split>(test_device{}, on_device, in(twice).normalized(norm).unrotated());
            if (!is_after) rotate_forward<half_split>(test_device{}, on_device, in(twice));
            CHECK(same_bits(once, twice));
        }
        // Lanes that are not rotated are rounded too, to any type.
        const auto x = random_elements<bfloat16>(shape, 4);
        std::vector<float> y(x.size());
        rotate_forward<half_split>(
            test_device{}, on_device,
            from_to(token_major(x.data(), shape), token_major(y.data(), shape), 16)
                .normalized(rms_norm<bfloat16>{.weight = weights.data(), .is_rounded_between = true}));
        for (std::size_t i = 0; i < y.size(); i += 80) {
            for (std::size_t lane = i; lane < i + 16; ++lane) REQUIRE(to_float(to_bfloat16(y[lane])) == y[lane]);
        }
    });
}

TEST_CASE("backend/cuda/heads: formats of whole heads have the scalar backend's bytes") {
    for (const index_t processors : {1, 132}) {
        const heads_shape shape{1, 5, 11, 128}, odd{1, 3, 2, 90}, long_heads{1, 2, 1, 2048};
        check_format<q8_0_block>(q8_0{}, shape, processors);
        check_format<q4_0_block>(q4_0{}, shape, processors);
        check_format<q8_0_block>(q8_0{}, long_heads, processors);
        check_format<q4_0_block>(q4_0{}, {1, 2, 3, 32}, processors);
        for (const index_t lanes : {0, 32, 1}) {
            check_format<std::int8_t>(scaled_bytes<std::int8_t>{.scales = {}, .lanes_of_scale = lanes}, shape,
                                      processors);
            check_format<fp8_e4m3>(scaled_bytes<fp8_e4m3>{.scales = {}, .lanes_of_scale = lanes}, shape, processors);
        }
        check_format<fp8_e5m2>(scaled_bytes<fp8_e5m2>{.scales = {}, .lanes_of_scale = 30}, odd, processors);
        check_format<std::int8_t>(scaled_bytes<std::int8_t>{.scales = {}, .lanes_of_scale = 6}, odd, processors);
        check_format<std::int8_t>(scaled_bytes<std::int8_t>{}, odd, processors);
        check_format<std::int8_t>(scaled_bytes<std::int8_t>{.scales = {}, .makes_scales = false}, shape, processors);
        check_format<fp8_e4m3>(scaled_bytes<fp8_e4m3>{.scales = {}, .lanes_of_scale = 45, .makes_scales = false}, odd,
                               processors);
        check_format<fp8_e4m3>(scaled_bytes<fp8_e4m3>{}, long_heads, processors);
    }
}

TEST_CASE("backend/cuda/heads: in pieces, formats have the scalar backend's bytes") {
    const heads_shape shape{1, 3, 5, 128};
    const auto check_floats = [&]<class T>(T, const auto& format) { check_format<T>(format, shape, 132, 0); };
    const auto check = [&]<class T>(T, const auto& format) {
        check_floats(T{}, format);
        check_format<T, bfloat16>(format, shape, 132, 0);
        check_format<T, bfloat16>(format, shape, 132, 32);
    };
    check(q8_0_block{}, q8_0{});
    check_format<q8_0_block, bfloat16>(q8_0{}, {1, 3, 2, 32}, 132, 16);
    for (const index_t lanes : {0, 32}) {
        check(std::int8_t{}, scaled_bytes<std::int8_t>{.scales = {}, .lanes_of_scale = lanes});
        check(fp8_e4m3{}, scaled_bytes<fp8_e4m3>{.scales = {}, .lanes_of_scale = lanes});
        check(std::int8_t{}, scaled_bytes<std::int8_t>{.scales = {}, .lanes_of_scale = lanes, .makes_scales = false});
    }
    // Lanes of one scale that no thread and no neighbouring threads hold: fewer than those of a thread, on both sides
    // of the middle of a head, rotated ones beside others. At position 0 every backend has the same cos and sin.
    const auto check_groups = []<class T>(T, const auto& format, const heads_shape& of, index_t rotary_dim) {
        const auto x = random_elements<bfloat16>(of, 5);
        auto found = room_for<T>(of, format), wanted = found;
        const basis b(frequencies(rotary_dim));
        const std::vector<std::int32_t> ids(3);
        const exact_angles angles(b, ids);
        rotate_forward<half_split, backend::scalar>(angles, from_to(token_major(x.data(), of), wanted.view(of)));
        rotate_forward<half_split, device_backend>(angles, from_to(token_major(x.data(), of), found.view(of)));
        CHECK(found == wanted);
    };
    const scaled_bytes<std::int8_t> of_4{.scales = {}, .lanes_of_scale = 4}, of_64{.scales = {}, .lanes_of_scale = 64};
    check_groups(std::int8_t{}, of_4, shape, 128);
    check_groups(std::int8_t{}, of_64, {1, 3, 3, 192}, 192);
    check_groups(q8_0_block{}, q8_0{}, shape, 112);
    // The latent of multi-head latent attention: a team of 32 threads, scales of 128 of its lanes, none of them
    // rotated.
    check_format<fp8_e4m3, bfloat16>(scaled_bytes<fp8_e4m3>{.scales = {}, .lanes_of_scale = 128}, {1, 2, 1, 512}, 132,
                                     448);
    check_floats(fp8_e5m2{}, scaled_bytes<fp8_e5m2>{});
    check(fp8_e4m3{}, mxfp8_e4m3{});
    check_floats(fp4_e2m1_x2{}, mxfp4{});
    check(fp4_e2m1_x2{}, nvfp4{{}, 0.002f});
}

TEST_CASE("backend/cuda/heads: block-scaled formats have the scalar backend's bytes") {
    for (const index_t processors : {1, 132}) {
        const heads_shape shape{1, 5, 11, 128}, narrow{1, 3, 2, 96};
        check_format<fp8_e4m3>(mxfp8_e4m3{}, shape, processors);
        check_format<fp8_e4m3>(mxfp8_e4m3{{}, 128, scale_rounding::up, 1e-4f}, shape, processors);
        check_format<fp4_e2m1_x2>(mxfp4{}, shape, processors);
        check_format<fp4_e2m1_x2>(mxfp4{{}, 6, scale_rounding::up}, narrow, processors);
        check_format<fp4_e2m1_x2>(nvfp4{{}, 0.002f}, shape, processors);
        check_format<fp4_e2m1_x2>(nvfp4{}, narrow, processors);
    }
}

TEST_CASE("backend/cuda/heads: groups of lanes and Hadamard transforms have the scalar backend's bytes") {
    check_format<q8_0_block>(hadamard<q8_0>{.size = 64}, {1, 3, 3, 128});
    check_format<q4_0_block>(hadamard<q4_0>{.size = 128}, {1, 2, 2, 256});
    const heads_shape cache{3, 4, 2, 64};
    const basis b(frequencies(48), 1.25);
    const exact_angles angles(b, positions);
    const std::vector<std::int32_t> slots{6, -1, 9};
    const auto x = random_elements<float>({1, 3, 2, 64}, 5);
    const auto check = [&]<class T, class F>(T, const F& format, index_t elements_of_group) {
        auto found = room_for<T>(cache, format), wanted = found;
        const auto into = [&](auto& to) {
            const auto dense = to.view(cache);
            const auto grouped = group_major(dense.data, cache, elements_of_group, dense.format);
            return from_to(token_major(x.data(), {1, 3, 2, 64}), in_slots(grouped, slots.data(), 1, 3), 8).unrotated();
        };
        rotate_forward<half_split, backend::scalar>(angles, into(wanted));
        rotate_forward<half_split, device_backend>(angles, into(found));
        CHECK(found == wanted);
        std::vector<float> read(x.size()), expected = read;
        const auto from = [&](auto& to) { return from_to(into(found).y, token_major(to.data(), {1, 3, 2, 64}), 8); };
        rotate_inverse<interleaved, backend::scalar>(angles, from(expected));
        rotate_inverse<interleaved, device_backend>(angles, from(read));
        for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(std::fabs(read[i] - expected[i]) < 1e-5f);
    };
    check(bfloat16{}, element_traits<bfloat16>{}, 8);
    check(float{}, element_traits<float>{}, 1);
    check(std::int8_t{}, scaled_bytes<std::int8_t>{.scales = {}, .lanes_of_scale = 16}, 4);
    check(q8_0_block{}, hadamard<q8_0>{.size = 32}, 1);
}

TEST_CASE("backend/cuda/heads: a user's format with a device_format has the host's bytes") {
    const heads_shape shape{1, 3, 5, 10};
    const basis b(frequencies(6));
    const exact_angles angles(b, positions);
    auto x = random_elements<float>(shape, 3);
    for (std::size_t i = 0; i < x.size(); i += 10) x[i] = i % 20 == 0 ? 40.0f : -41.5f;
    std::vector<std::int16_t> found(x.size()), wanted = found;
    const auto into = [&](auto& to) {
        return from_to(token_major(x.data(), shape), token_major(to.data(), shape, from_first_lane{}), 3);
    };
    rotate_forward<half_split, backend::scalar>(angles, into(wanted));
    rotate_forward<half_split, device_backend>(angles, into(found));
    CHECK(found == wanted);
    std::vector<float> read(x.size()), expected = read;
    const auto from = [&](auto& to) { return from_to(into(found).y, token_major(to.data(), shape), 3); };
    rotate_inverse<half_split, backend::scalar>(angles, from(expected));
    rotate_inverse<half_split, device_backend>(angles, from(read));
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(read[i] - expected[i]) < 1e-5f);
}

// The heads of k and v are shorter than those of q: some threads of a team hold nothing of them.
TEST_CASE("backend/cuda/heads: q, k into a cache and v along are one launch, of more operands another") {
    const basis b(frequencies(64));
    const exact_angles angles(b, positions);
    const heads_shape q_shape{1, 3, 40, 128}, shape{1, 3, 2, 64};
    auto q = random_elements<bfloat16>(q_shape, 1), q_alone = q;
    const auto k = random_elements<bfloat16>(shape, 2), v = random_elements<bfloat16>(shape, 3);
    auto keys = room_for<fp8_e4m3>(shape, scaled_bytes<fp8_e4m3>{}), keys_alone = keys, values = keys,
         values_alone = keys;
    auto plain = random_elements<bfloat16>(shape, 4), plain_alone = plain;
    const auto weights = random_elements<float>({1, 1, 1, 128}, 6);
    const rms_norm<float> norm{.weight = weights.data()};
    std::vector<backend::launch_size> launches;
    with_device_angles(angles, [&](const auto& on_device) {
        const test_device where{&launches, 1};  // so few processors that a thread has heads of q and of k
        const auto operand_of_k = [&](auto& to) {
            return from_to(token_major(k.data(), shape), to.view(shape)).normalized(norm);
        };
        const auto operand_of_v = [&](auto& to) {
            return from_to(token_major(v.data(), shape), to.view(shape)).unrotated();
        };
        const auto operand_of_q = [&](auto& x) { return in_place(token_major(x.data(), q_shape)).normalized(norm); };
        rotate_forward<half_split>(where, on_device, operand_of_q(q), operand_of_k(keys), operand_of_v(values),
                                   in_place(token_major(plain.data(), shape)));
        CHECK(launches.size() == 1);
        rotate_forward<half_split>(where, on_device, operand_of_q(q_alone));
        rotate_forward<half_split>(where, on_device, operand_of_k(keys_alone));
        rotate_forward<half_split>(where, on_device, operand_of_v(values_alone));
        rotate_forward<half_split>(where, on_device, in_place(token_major(plain_alone.data(), shape)));
        CHECK(same_bits(q, q_alone));
        CHECK(keys == keys_alone);
        CHECK(values == values_alone);
        CHECK(same_bits(plain, plain_alone));
        launches.clear();
        auto more = plain;
        rotate_forward<half_split>(where, on_device, operand_of_q(q), operand_of_k(keys), operand_of_v(values),
                                   in_place(token_major(plain.data(), shape)),
                                   in_place(token_major(more.data(), shape)));
        CHECK(launches.size() == 2);
        CHECK(same_bits(plain, more));
        std::vector<std::vector<bfloat16>> five(5, plain);
        const auto normalized = [&](std::size_t i) {
            return in_place(token_major(five[i].data(), shape)).normalized(norm);
        };
        launches.clear();
        rotate_forward<half_split>(where, on_device, normalized(0), normalized(1), normalized(2), normalized(3),
                                   normalized(4));
        CHECK(launches.size() == 2);
        CHECK(same_bits(five[0], five[3]));
        CHECK(same_bits(five[0], five[4]));
        CHECK_FALSE(same_bits(five[0], plain));
    });
}

TEST_CASE("backend/cuda/heads: lanes beside a norm that are only copied keep their bits") {
    for (const auto& rotated : {std::pair<index_t, index_t>{8, 0}, {8, 8}, {8, 3}, {6, 8}}) {
        const index_t pairs = rotated.first, first_lane = rotated.second;
        const basis b(frequencies(2 * pairs));
        const exact_angles angles(b, positions);
        const heads_shape shape{1, 3, 2, 40};
        std::vector<bfloat16> x(240, bfloat16::from_bits(0x7f81)), y(240);  // NaNs that a conversion would change
        std::vector<float> q(240, 1.0f);
        with_device_angles(angles, [&](const auto& on_device) {
            rotate_forward<half_split>(test_device{}, on_device,
                                       from_to(token_major(x.data(), shape), token_major(y.data(), shape), first_lane),
                                       in_place(token_major(q.data(), shape)).normalized(rms_norm<>{}));
        });
        for (std::size_t i = 0; i < 240; ++i) {
            const auto lane = static_cast<index_t>(i % 40) - first_lane;
            REQUIRE((y[i].bits == 0x7f81) == (lane < 0 || lane >= 2 * pairs));
        }
    }
}

TEST_CASE("backend/cuda/heads: keys that a rebase does not change keep their bytes") {
    const heads_shape shape{1, 3, 2, 64};
    const basis b(frequencies(64), 1.25);
    std::vector<q4_0_block> blocks(12);
    for (auto& block : blocks) {  // from another program: reading and storing would change its bytes
        block.d = to_float16(0.5f);
        block.codes.fill(0x9a);
    }
    const auto before = bytes_of(blocks);
    const auto keys = token_major(blocks.data(), shape, q4_0{});
    const std::vector<std::int32_t> moved{3, 18, 70'000};
    const exact_angles from(b, positions), same(b, positions), to(b, moved);
    rebase<half_split, device_backend>(same - from, in_place(keys));
    CHECK(bytes_of(blocks) == before);
    rebase<half_split, device_backend>(to - from, in_place(keys));
    for (std::size_t i = 0; i < 12; ++i) CHECK((blocks[i].codes[0] == 0x9a) == (i / 4 != 1));
    const basis louder(frequencies(64), 2.5);  // the same angles, and another factor
    rebase<half_split, device_backend>(exact_angles(louder, positions) - from, in_place(keys));
    CHECK(to_float(blocks[0].d) == -0.25f);
}

namespace {

// Keys of a cache whose slots all move down, some into slots that others leave: one call on a copy of the cache, and
// two calls by way of `tensor`.
template <class T, class F, class Scratch>
void check_moves(const F& format, std::vector<Scratch> tensor) {
    const heads_shape cache{4, 4, 2, 64}, dense{1, 3, 2, 64};
    const basis b(frequencies(48), 1.25);
    const std::vector<std::int32_t> old_slots{5, 6, 11}, new_slots{4, 5, 6}, moved{2, 16, 69'995};
    auto keys = room_for<T>(cache, format);
    const auto x = random_elements<float>(cache, 9);
    with_device_angles(exact_angles(b, moved) - exact_angles(b, positions), [&](const auto& change) {
        const test_device device;
        rotate_forward<half_split>(device, change.to(),
                                   from_to(in_slots(token_major(x.data(), cache), old_slots.data(), 1, 3),
                                           in_slots(keys.view(cache), old_slots.data(), 1, 3))
                                       .unrotated());
        auto source = keys, expected = keys;
        rebase<half_split>(device, change,
                           from_to(in_slots(source.view(cache), old_slots.data(), 1, 3),
                                   in_slots(expected.view(cache), new_slots.data(), 1, 3)));
        const auto between = token_major(tensor.data(), dense);
        rebase<half_split>(device, change, from_to(in_slots(keys.view(cache), old_slots.data(), 1, 3), between));
        rotate_forward<half_split>(device, change.to(),
                                   from_to(between, in_slots(keys.view(cache), new_slots.data(), 1, 3)).unrotated());
        CHECK(keys == expected);
        CHECK_FALSE(keys == source);
        // x and y with the same slot table are in place.
        auto twice = keys;
        rebase<half_split>(device, change, in_place(in_slots(keys.view(cache), new_slots.data(), 1, 3)));
        const auto slots = in_slots(twice.view(cache), new_slots.data(), 1, 3);
        rebase<half_split>(device, change, from_to(slots, slots));
        CHECK(twice == keys);
        CHECK_FALSE(twice == expected);
    });
}

}  // namespace

TEST_CASE("backend/cuda/heads: keys move within a cache by way of another tensor, and are rounded once") {
    check_moves<float>(element_traits<float>{}, std::vector<float>(384));
    check_moves<bfloat16>(element_traits<bfloat16>{}, std::vector<bfloat16>(384));
    check_moves<q8_0_block>(q8_0{}, std::vector<float>(384));
    check_moves<std::int8_t>(scaled_bytes<std::int8_t>{.scales = {}, .lanes_of_scale = 16}, std::vector<float>(384));
}

TEST_CASE("backend/cuda/heads: input that the host cannot check gives NaN, or is skipped") {
    const basis b(frequencies(64));
    const std::vector<std::uint64_t> words = device_words(b);
    const heads_shape shape{1, 3, 2, 64};
    const auto x = random_elements<float>(shape, 3);
    const std::vector<double> ids{1.0, std::numeric_limits<double>::quiet_NaN(), 2.0};
    const device_angles<double> angles(device_basis(words.data(), 32), position_view<double>(ids));
    const auto check = [&]<class T>(T, auto format) {
        auto keys = room_for<T>(shape, format);
        std::vector<float> read(x.size(), 0.0f);
        rotate_forward<half_split>(test_device{}, angles, from_to(token_major(x.data(), shape), keys.view(shape)));
        rotate_forward<half_split>(test_device{}, angles,
                                   from_to(keys.view(shape), token_major(read.data(), shape)).unrotated());
        for (std::size_t i = 0; i < read.size(); ++i) REQUIRE(std::isnan(read[i]) == (i / 128 == 1));
    };
    check(std::int8_t{}, scaled_bytes<std::int8_t>{.scales = {}, .lanes_of_scale = 16});
    check(fp8_e5m2{}, scaled_bytes<fp8_e5m2>{.scales = {}, .makes_scales = false});
    check(q8_0_block{}, q8_0{});
    check(q4_0_block{}, q4_0{});
    // Invalid given scales; computed ones may be 0 where nothing has been stored yet.
    const std::vector<double> valid{1.0, 1.0, 2.0};
    const device_angles<double> valid_angles(device_basis(words.data(), 32), position_view<double>(valid));
    for (const bool makes_scales : {false, true}) {
        auto keys = room_for<std::int8_t>(shape, scaled_bytes<std::int8_t>{.scales = {}, .makes_scales = makes_scales});
        keys.elements.assign(keys.elements.size(), std::int8_t{5});
        keys.scales = {1.0f, 0.0f, std::numeric_limits<float>::infinity(), -1.0f, 1.0f, 1.0f};
        std::vector<float> read(x.size());
        rotate_forward<half_split>(test_device{}, valid_angles,
                                   from_to(keys.view(shape), token_major(read.data(), shape)));
        for (std::size_t i = 0; i < read.size(); ++i) {
            const std::size_t head = i / 64;
            if (head != 2) REQUIRE(std::isnan(read[i]) == (head == 1 && !makes_scales));
        }
        CHECK(std::isnan(read[128]));
    }
    // Slots outside of the cache.
    auto cache = room_for<q8_0_block>({1, 3, 2, 64}, q8_0{});
    const auto empty = cache;
    const std::vector<std::int64_t> slots{3, -1, (std::int64_t{1} << 32) + 1};  // the last one's low half has a slot
    rotate_forward<half_split>(
        test_device{}, valid_angles,
        from_to(token_major(x.data(), shape), in_slots(cache.view({1, 3, 2, 64}), slots.data(), 1, 3)));
    CHECK(cache == empty);
}

TEST_CASE("backend/cuda/heads: blocks loop over the tokens and the heads that a grid does not hold") {
    const basis b(frequencies(32), 1.25);
    std::vector<std::int32_t> ids(70);
    for (std::size_t i = 0; i < 70; ++i) ids[i] = static_cast<std::int32_t>(i / 2);
    const exact_angles angles(b, ids);
    const auto check = [&](const heads_shape& shape, auto format) {
        const auto x = random_elements<float>(shape, 3);
        const auto from = token_major(x.data(), shape);
        auto keys = room_for<std::int8_t>(shape, format), expected = keys;
        with_device_angles(angles, [&](const auto& on_device) {
            rotate_forward<half_split>(device_of_two_blocks{}, on_device, from_to(from, keys.view(shape)));
        });
        rotate_forward<half_split, backend::scalar>(angles, from_to(from, expected.view(shape)));
        index_t different = 0;
        for (std::size_t i = 0; i < keys.elements.size(); ++i) {
            const int difference = keys.elements[i] - expected.elements[i];
            REQUIRE(std::abs(difference) <= 1);  // cos and sin are not the same bits
            different += difference != 0 ? 1 : 0;
        }
        CHECK(different < count(shape) / 1000);
    };
    check({1, 70, 70, 63}, scaled_bytes<std::int8_t>{});
    check({2, 70, 3, 65}, scaled_bytes<std::int8_t>{});
    auto found = random_elements<float>({2, 70, 41, 63}, 5), wanted = found;
    const auto in = [&](auto& x) { return in_place(token_major(x.data(), {2, 70, 41, 63}), 7); };
    with_device_angles(angles, [&](const auto& on_device) {
        rotate_forward<half_split>(device_of_two_blocks{}, on_device, in(found));
        rotate_forward<half_split>(test_device{}, on_device, in(wanted));
    });
    CHECK(found == wanted);
    const rms_norm<float> norm{.is_over_all_heads = true, .is_after_rotation = true};
    with_device_angles(angles, [&](const auto& on_device) {
        rotate_forward<half_split>(device_of_two_blocks{}, on_device, in(found).normalized(norm));
        rotate_forward<half_split>(test_device{}, on_device, in(wanted).normalized(norm));
    });
    CHECK(found == wanted);
}
