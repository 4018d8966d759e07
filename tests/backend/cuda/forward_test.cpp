// SPDX-License-Identifier: MIT
#include <limits>
#include <random>

#include "backend/cuda/device_backend.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "rotate/random_angles.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// A view for the statement in which its table is made.
template <class T>
cos_sin_view<T> view_of(const cos_sin_table<T>& table) {
    return table.view();
}

// Random tensors with axes in any order; some can be moved in pieces.
template <class T, class Kind>
void check_both_pairings(unsigned seed, int cases) {
    for_random_cases<Kind>(seed, cases, [](draw& d, const auto& angles, index_t batch) {
        check_one_map<half_split, device_backend, T>(d, angles, batch);
        check_one_map<interleaved, device_backend, T>(d, angles, batch);
    });
}

template <class Kind>
struct table {
    template <class F>
    static void with(draw& d, const F& f) {
        Kind::with(d, [&](const auto& angles, index_t batch) {
            f(view_of(cos_sin_table<float>(angles, serial{}, backend::scalar{})), batch);
        });
    }
};

template <class T>
T* aligned(std::vector<T>& numbers) {
    T* first = numbers.data();
    while (reinterpret_cast<std::uintptr_t>(first) % 16 != 0) ++first;
    return first;
}

// Heads of common models, dense and aligned to 16 bytes (moved in pieces) unless offset by `shift` elements.
// On a device with few processors a thread rotates several heads.
template <class Pairing, class T>
void check_dense(index_t head_dim, index_t rotary_dim, index_t first_lane, index_t shift, bool by_pieces,
                 index_t processors = 132) {
    draw d(static_cast<unsigned>(head_dim + rotary_dim + first_lane + shift));
    const basis b(frequencies(rotary_dim), 1.25);
    const std::vector<std::int32_t> ids{0, 1, -7, 100'000, 2'147'483'647};
    const heads_shape q_shape{2, std::ssize(ids), 7, head_dim}, k_shape{2, std::ssize(ids), 3, head_dim};
    const auto fill = [&](const heads_shape& shape) {
        std::vector<T> numbers(static_cast<std::size_t>(count(shape) + 16));
        for (T& x : numbers) x = d.element<T>();
        return numbers;
    };
    std::vector<T> q = fill(q_shape), k = fill(k_shape), q_wanted = q, k_wanted = k, k_to(k.size());
    const exact_angles angles(b, ids);
    const auto view_of = [shift](std::vector<T>& numbers, const heads_shape& shape) {
        return token_major(aligned(numbers) + shift, shape);
    };
    const auto qw = view_of(q_wanted, q_shape), kw = view_of(k_wanted, k_shape);
    rotate_forward<Pairing, backend::scalar>(angles, in_place(qw, first_lane), in_place(kw, first_lane));
    std::vector<backend::launch_size> launches;
    const auto qv = view_of(q, q_shape), kv = view_of(k, k_shape), k_out = view_of(k_to, k_shape);
    std::fill(k_to.begin(), k_to.end(), stored<T>(0.0));
    with_device_angles(angles, [&](const auto& on_device) {
        rotate_forward<Pairing>(test_device{&launches, processors}, on_device, in_place(qv, first_lane),
                                from_to(kv, k_out, first_lane));
    });
    REQUIRE(launches.size() == (by_pieces ? 1u : 2u));  // the general kernel takes one operand
    const auto check = [&](const heads_view<T>& found, const heads_view<T>& wanted) {
        const std::vector<T> found_dense = gather(found), wanted_dense = gather(wanted);
        for (std::size_t i = 0; i < found_dense.size(); ++i) {
            const double y = value(wanted_dense[i]);
            REQUIRE(std::fabs(value(found_dense[i]) - y) <= 2.0 * allowed_error<T>(5.0, 0x1p31, y));
        }
    };
    check(qv, qw);
    check(k_out, kw);
}

template <class Pairing, class T>
void check_dense_shapes() {
    check_dense<Pairing, T>(128, 128, 0, 0, true);
    check_dense<Pairing, T>(128, 64, 0, 0, true);
    check_dense<Pairing, T>(192, 64, 128, 0, true);  // DeepSeek's heads
    check_dense<Pairing, T>(80, 32, 16, 0, true);
    check_dense<Pairing, T>(128, 128, 0, 0, true, 1);
    check_dense<Pairing, T>(192, 64, 128, 0, true, 1);
    check_dense<Pairing, T>(128, 128, 0, 1, false);
    check_dense<Pairing, T>(128, 64, 4 / static_cast<index_t>(sizeof(T)), 0, false);
    check_dense<Pairing, T>(70, 64, 0, 0, false);
    check_dense<Pairing, T>(128, 18, 0, 0, false);
    check_dense<Pairing, T>(1030, 1030, 0, 0, false);  // more pairs than a warp holds
}

}  // namespace

TEST_CASE("backend/cuda/forward: float as by the scalar backend, and nothing beyond the tensors is touched") {
    check_both_pairings<float, exact<std::int32_t>>(1, 60);
}
TEST_CASE("backend/cuda/forward: float16 as by the scalar backend, and nothing beyond the tensors is touched") {
    check_both_pairings<float16, exact<std::int64_t>>(2, 60);
}
TEST_CASE("backend/cuda/forward: bfloat16 as by the scalar backend, and nothing beyond the tensors is touched") {
    check_both_pairings<bfloat16, exact<float>>(3, 60);
}
TEST_CASE("backend/cuda/forward: fractional positions, a table, and a basis for each row") {
    check_both_pairings<float, exact<double>>(4, 60);
    check_both_pairings<bfloat16, table<exact<std::int32_t>>>(5, 60);
    check_both_pairings<float16, rows_of_bases<double>>(6, 60);
}
TEST_CASE("backend/cuda/forward: a table whose tokens carry attention factors of their own") {
    check_both_pairings<float, table<rows_of_bases<std::int32_t>>>(11, 60);
}
TEST_CASE("backend/cuda/forward: positions of several axes, with one basis and one for each row") {
    check_both_pairings<float, axes3<std::int32_t>>(7, 60);
    check_both_pairings<bfloat16, axes3<float>>(8, 40);
    check_both_pairings<float16, rows_of_axes<std::int64_t>>(9, 40);
    check_both_pairings<float, rows_of_axes<double>>(10, 40);
}
TEST_CASE("backend/cuda/forward: axes that rotate every pair together, angles of their own, and their sum") {
    check_both_pairings<float, summed3<std::int32_t, true>>(12, 40);
    check_both_pairings<bfloat16, summed3<double, true>>(13, 40);
    check_both_pairings<float, free_of_tokens<float>>(14, 40);
    check_both_pairings<float16, free_of_tokens<double>>(15, 40);
}
TEST_CASE("backend/cuda/forward: dense heads are moved by pieces where they are aligned, by elements elsewhere") {
    check_dense_shapes<half_split, float>();
    check_dense_shapes<half_split, bfloat16>();
    check_dense_shapes<interleaved, float16>();
    check_dense_shapes<interleaved, float>();
}

// An unaligned access by pieces is a fault on a device.
TEST_CASE("backend/cuda/forward: by pieces only where all that is read and written begins at multiples of 16 bytes") {
    const basis b(frequencies(128));
    const std::vector<std::int32_t> ids{0, 1, 2};
    const exact_angles angles(b, ids);
    std::vector<float> x_numbers(4000), y_numbers(4000), beside_numbers(4000);
    const heads_view<float> x{aligned(x_numbers), {2, 3, 4, 128}, 1800, 600, 132};
    heads_view<float> y = x, beside = x;
    y.data = aligned(y_numbers);
    beside.data = aligned(beside_numbers);
    const auto is_by_pieces = [&](const heads_view<float>& from, const heads_view<float>& to) {
        std::vector<backend::launch_size> launches;
        with_device_angles(angles, [&](const auto& on_device) {
            rotate_forward<half_split>(test_device{&launches}, on_device, from_to(from, to), in_place(beside));
        });
        return launches.size() == 1;  // the general kernel takes one operand
    };
    CHECK(is_by_pieces(x, y));
    for (const auto& move :
         {+[](heads_view<float>& v) { ++v.data; }, +[](heads_view<float>& v) { ++v.head_stride; },
          +[](heads_view<float>& v) { ++v.token_stride; }, +[](heads_view<float>& v) { ++v.batch_stride; }}) {
        heads_view<float> x_moved = x, y_moved = y;
        move(x_moved);
        move(y_moved);
        CHECK_FALSE(is_by_pieces(x_moved, y));
        CHECK_FALSE(is_by_pieces(x, y_moved));
    }
}

TEST_CASE("backend/cuda/forward: a new basis in the same memory is used by the next launch") {
    const basis one(frequencies(8)), two(std::vector<double>{0.5, 0.25, 0.125, 0.0625}, 2.0);
    std::vector<std::uint64_t> words = device_words(one);
    const std::vector<std::int32_t> ids{3};
    const device_angles<std::int32_t> angles(device_basis(words.data(), 4), position_view<std::int32_t>(ids));
    std::ranges::copy(device_words(two), words.begin());
    std::vector<float> x(8, 1.0f);
    rotate_forward<interleaved>(test_device{}, angles, in_place(token_major(x.data(), {1, 1, 1, 8})));
    CHECK(x[0] == doctest::Approx(2.0 * (std::cos(1.5) - std::sin(1.5))));
    CHECK(x[7] == doctest::Approx(2.0 * (std::cos(0.1875) + std::sin(0.1875))));
}

TEST_CASE("backend/cuda/forward: x and y of two types, by pieces and by elements") {
    const basis b(frequencies(64), 1.25);
    const std::vector<std::int32_t> ids{0, 7, 100'000};
    const exact_angles angles(b, ids);
    const auto check = [&]<class Pairing, class X, class Y>(Pairing, X, Y, index_t head_dim, bool by_pieces) {
        draw d(3);
        const heads_shape shape{1, 3, 4, head_dim};
        std::vector<X> x(static_cast<std::size_t>(count(shape) + 16));
        std::vector<Y> y(x.size()), wanted(y.size());
        for (X& e : x) e = d.element<X>();
        const auto from = token_major(aligned(x), shape);
        const auto to = token_major(aligned(y), shape), expected = token_major(wanted.data(), shape);
        std::vector<backend::launch_size> launches;
        rotate_forward<Pairing, backend::scalar>(angles, from_to(from, expected));
        with_device_angles(angles, [&](const auto& on_device) {
            rotate_forward<Pairing>(test_device{&launches}, on_device, from_to(from, to));
        });
        REQUIRE(launches.size() == 1);
        CHECK((launches[0].threads.x < 32) == by_pieces);
        const std::vector<Y> found = gather(to);
        for (std::size_t i = 0; i < found.size(); ++i) {
            REQUIRE(std::fabs(value(found[i]) - value(wanted[i])) <=
                    2.0 * allowed_error<Y>(5.0, 1e5, value(wanted[i])));
        }
    };
    for (const index_t head_dim : {64, 80, 96}) {
        check(half_split{}, float{}, bfloat16{}, head_dim, true);
        check(interleaved{}, float{}, float16{}, head_dim, true);
        check(half_split{}, bfloat16{}, float{}, head_dim, true);
        check(interleaved{}, float16{}, bfloat16{}, head_dim, true);
    }
    check(interleaved{}, float{}, bfloat16{}, 67, false);
    check(half_split{}, bfloat16{}, float{}, 200, false);  // lanes that are not rotated: no multiple of 16
    check(interleaved{}, float16{}, bfloat16{}, 200, false);
}

TEST_CASE("backend/cuda/forward: any even number of pairs takes a small kernel") {
    std::vector<std::int32_t> ids(25, 7);
    ids[0] = 0, ids[2] = 100'000;
    struct number {
        index_t pairs, of_thread, of_thread_of_many_heads;
    };
    for (const number& n :
         std::vector<number>{{20, 2, 4}, {24, 2, 8}, {34, 2, 2}, {36, 2, 4}, {64, 2, 8}, {96, 4, 8}, {128, 4, 8}}) {
        const index_t pairs = n.pairs;
        const basis b(frequencies(2 * pairs));
        const exact_angles angles(b, ids);
        const heads_shape shape{1, 25, 4, 2 * pairs + 16 - 2 * pairs % 8};
        const auto given = random_elements<bfloat16>(shape, 3);
        auto wanted = given;
        rotate_forward<half_split, backend::scalar>(angles, in_place(token_major(wanted.data(), shape)));
        for (const index_t processors : {132, 1}) {
            auto x = given;
            std::vector<backend::launch_size> launches;
            with_device_angles(angles, [&](const auto& on_device) {
                rotate_forward<half_split>(test_device{&launches, processors}, on_device,
                                           in_place(token_major(x.data(), shape)));
            });
            CAPTURE(pairs);
            CHECK(launches[0].threads.x == pairs / (processors == 1 ? n.of_thread_of_many_heads : n.of_thread));
            for (std::size_t i = 0; i < x.size(); ++i) {
                REQUIRE(std::fabs(value(x[i]) - value(wanted[i])) <=
                        2.0 * allowed_error<bfloat16>(5.0, 1e5, value(wanted[i])));
            }
        }
    }
}

TEST_CASE("backend/cuda/forward: operands of two types are a launch each, five of one type two launches") {
    const basis b(frequencies(16));
    const std::vector<std::int32_t> ids{1, 2};
    const exact_angles angles(b, ids);
    std::vector<std::vector<float>> x(5, std::vector<float>(32, 0.5f));
    std::vector<bfloat16> brain(32, bfloat16::from_bits(0x3f00));
    const auto view = [](auto& numbers) { return in_place(token_major(numbers.data(), {1, 2, 1, 16})); };
    std::vector<backend::launch_size> launches;
    with_device_angles(angles, [&](const auto& on_device) {
        const test_device where{&launches};
        rotate_forward<half_split>(where, on_device, view(x[0]), view(brain));
        CHECK(launches.size() == 2);
        launches.clear();
        rotate_forward<half_split>(where, on_device, view(x[1]), view(x[2]), view(x[3]), view(x[4]), view(x[0]));
        CHECK(launches.size() == 2);
    });
    CHECK(x[1] == x[4]);
    CHECK(x[0] != x[1]);  // rotated twice
    std::vector<float> once(32, 0.5f);
    rotate_forward<half_split, backend::scalar>(angles, view(once));
    for (std::size_t i = 0; i < 32; ++i) {
        CHECK(std::fabs(x[1][i] - once[i]) < 1e-6f);
        CHECK(std::fabs(to_float(brain[i]) - once[i]) < 5e-3f);
    }
}

TEST_CASE("backend/cuda/forward: each token by the basis that its index names") {
    const basis one(frequencies(16)), two(std::vector<double>(8, 0.25), 2.0);
    const basis_list list({&one, &two});
    const std::vector<std::int32_t> ids{5, 6, 7, 8}, of_token{1, 0, 1, 1};
    std::vector<float> found(64, 1.0f), expected = found;
    const exact_angles angles(list.of(of_token), ids);
    rotate_forward<interleaved, backend::scalar>(angles, in_place(token_major(expected.data(), {1, 4, 1, 16})));
    rotate_forward<interleaved, device_backend>(angles, in_place(token_major(found.data(), {1, 4, 1, 16})));
    for (std::size_t i = 0; i < 64; ++i) CHECK(std::fabs(found[i] - expected[i]) < 1e-6f);
}

TEST_CASE("backend/cuda/forward: input that the host cannot check gives NaN in the lanes concerned, and nowhere else") {
    const basis b(frequencies(8));
    const std::vector<std::uint64_t> words = device_words(b);
    const device_basis bases(words.data(), 4);
    const auto rotated_ones = [](const auto& angles) {
        std::vector<float> x(24, 1.0f), by_elements(25, 1.0f);
        rotate_forward<half_split>(test_device{}, angles, in_place(token_major(x.data(), {1, 3, 1, 8})));
        rotate_forward<half_split>(test_device{}, angles, in_place(token_major(by_elements.data() + 1, {1, 3, 1, 8})));
        for (std::size_t i = 0; i < 24; ++i) CHECK(std::isnan(x[i]) == std::isnan(by_elements[i + 1]));
        return x;
    };
    const auto check = [](const std::vector<float>& x, const auto& is_nan) {
        for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::isnan(x[i]) == is_nan(i / 8, i % 4));
    };
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -0x1p63}) {
        const std::vector<double> ids{1.0, bad, 2.5};
        check(rotated_ones(device_angles<double>(bases, position_view<double>(ids))),
              [](std::size_t token, std::size_t) { return token == 1; });
        const std::vector<double> two_axes{1.0, 2.0, 3.0, 4.0, 5.0, bad};
        const std::vector<std::uint8_t> axis_of_pair{0, 1, 0, 1};
        check(rotated_ones(device_axis_angles<double>(bases, axis_of_pair, axis_major(two_axes.data(), 2, 1, 3))),
              [](std::size_t token, std::size_t pair) { return token == 2 && pair % 2 == 1; });
        const basis_list of_axes({&b, &b});
        const std::vector<std::uint64_t> twice = device_words(of_axes.of_rows());
        check(rotated_ones(
                  device_summed_axes<double>(device_basis(twice.data(), 4, 2), axis_major(two_axes.data(), 2, 1, 3))),
              [](std::size_t token, std::size_t) { return token == 2; });
        // Of two sources one is enough.
        std::vector<double> phi(12, 0.5);
        phi[6] = bad == -0x1p63 ? 0x1.1p62 : bad;
        const std::vector<double> valid{1.0, 2.0, 3.0};
        const device_angles<double> here(bases, position_view<double>(ids)), there(bases, position_view<double>(valid));
        const free_angles<double> own(phi.data(), 1, 3, 4);
        check(rotated_ones(own), [](std::size_t token, std::size_t pair) { return token == 1 && pair == 2; });
        check(rotated_ones(there + own), [](std::size_t token, std::size_t pair) { return token == 1 && pair == 2; });
        check(rotated_ones(here + there), [](std::size_t token, std::size_t) { return token == 1; });
        check(rotated_ones(there - here), [](std::size_t token, std::size_t) { return token == 1; });
    }
    const std::vector<std::int32_t> ids{1, 2, 3}, of_token{0, 1, -1};
    check(rotated_ones(device_angles<std::int32_t>(bases.of(of_token.data(), 1, 3), position_view<std::int32_t>(ids))),
          [](std::size_t token, std::size_t) { return token > 0; });
}

TEST_CASE("backend/cuda/forward: an operand that is not rotated is copied, one of fewer lanes too") {
    const basis b(frequencies(64), 1.25);
    const std::vector<std::int32_t> ids{3, 17, 70'000}, slots{5, -1, 2};
    const exact_angles angles(b, ids);
    const heads_shape shape{1, 3, 2, 64}, narrow{1, 3, 2, 24};
    auto q = random_elements<float>(shape, 1), expected = q;
    const auto v = random_elements<float>(narrow, 2);
    std::vector<float> cache(std::size_t{8} * 48, 9.0f), expected_cache = cache;
    rotate_forward<half_split, device_backend>(
        angles, in_place(token_major(q.data(), shape)),
        from_to(token_major(v.data(), narrow), in_slots(token_major(cache.data(), {2, 4, 2, 24}), slots.data(), 1, 3))
            .unrotated());
    rotate_forward<half_split, device_backend>(angles, in_place(token_major(expected.data(), shape)));
    std::copy_n(v.begin(), 48, expected_cache.begin() + std::ptrdiff_t{5} * 48);
    std::copy_n(v.begin() + std::ptrdiff_t{2} * 48, 48, expected_cache.begin() + std::ptrdiff_t{2} * 48);
    CHECK(same_bits(q, expected));
    CHECK(same_bits(cache, expected_cache));
}

TEST_CASE("backend/cuda/forward: floats are converted to 16 bits, in runs and one by one, as on the host") {
    std::mt19937 random(7);
    const basis b(frequencies(64));
    const std::vector<std::int32_t> ids(100, 0);
    const exact_angles angles(b, ids);
    const auto check = [&]<class Y>(Y, index_t head_dim) {
        const heads_shape shape{1, 100, 3, head_dim};
        std::vector<float> x(static_cast<std::size_t>(count(shape)));
        std::vector<Y> y(x.size());
        for (float& value : x) value = lane_traits<float>::from_bits(static_cast<std::uint32_t>(random()));
        rotate_forward<half_split, device_backend>(
            angles, from_to(token_major(x.data(), shape), token_major(y.data(), shape)).unrotated());
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (std::isnan(x[i])) {
                REQUIRE(std::isnan(value(y[i])));
            } else {
                REQUIRE(y[i].bits == element_traits<Y>::store(x[i]).bits);
            }
        }
    };
    for (const index_t head_dim : {64, 96, 66}) {
        check(float16{}, head_dim);
        check(bfloat16{}, head_dim);
    }
}
