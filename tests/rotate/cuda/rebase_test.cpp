// SPDX-License-Identifier: MIT
#include "backend/cuda/device_backend.hpp"
#include "rotate/dense.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

struct bases {
    basis from{frequencies(16), 1.25}, to{other(), 0.75};

    static std::vector<double> other() {
        std::vector<double> theta = frequencies(16);
        for (double& t : theta) t *= 0.375;
        return theta;
    }
    template <class Positions>
    auto change(const Positions& ids) const {
        return exact_angles(to, ids) - exact_angles(from, ids);
    }
};

template <class T>
std::vector<T> keys(const heads_shape& shape) {
    std::vector<T> x;
    for (index_t i = 0; i < count(shape); ++i) x.push_back(stored<T>(std::sin(0.7 * static_cast<double>(i) + 1.0)));
    return x;
}

template <class T>
void check_same(const std::vector<T>& found, const std::vector<T>& expected) {
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double y = value(expected[i]);
        REQUIRE(std::fabs(value(found[i]) - y) <= 2.0 * allowed_error<T>(2.0, 100'000.0, y));
    }
}

template <class Pairing, class T>
void check_contiguous() {
    const bases b;
    const heads_shape shape{2, 5, 3, 24};
    const std::vector<std::int64_t> ids{0, 7, -3, 99'999, 12};
    std::vector<T> found = keys<T>(shape), expected = found;
    rebase<Pairing, backend::scalar>(b.change(ids), in_place(token_major(expected.data(), shape), 8));
    rebase<Pairing, device_backend>(b.change(ids), in_place(token_major(found.data(), shape), 8));
    check_same(found, expected);
}

// Blocks of two caches, in a random order, some of them not listed.
template <class Pairing, class T>
void check_paged() {
    const bases b;
    const heads_shape shape{6, 4, 2, 16};
    const std::vector<std::int32_t> table{4, 0, 3};
    const std::vector<std::int32_t> ids{0, 1, 2, 3, 500, 501, 502, 503, 70'000, 70'001, 70'002};
    std::vector<T> found = keys<T>(shape), expected = found, found_2 = keys<T>(shape), expected_2 = found_2;
    const auto listed = [&](const heads_view<T>& cache) {
        return in_place(in_blocks(cache, table.data(), 1, std::ssize(ids), 3));
    };
    rebase<Pairing, backend::scalar>(b.change(ids), listed(token_major(expected.data(), shape)),
                                     listed(head_major(expected_2.data(), shape)));
    rebase<Pairing, device_backend>(b.change(ids), listed(token_major(found.data(), shape)),
                                    listed(head_major(found_2.data(), shape)));
    check_same(found, expected);
    check_same(found_2, expected_2);
}

}  // namespace

TEST_CASE("rotate/cuda/rebase: keys of a contiguous cache, as on the host") {
    check_contiguous<half_split, float>();
    check_contiguous<interleaved, bfloat16>();
}
TEST_CASE("rotate/cuda/rebase: the listed blocks of a paged cache, as on the host") {
    check_paged<half_split, bfloat16>();
    check_paged<interleaved, float>();
    check_paged<half_split, float16>();
}

TEST_CASE("rotate/cuda/rebase: entries outside of the cache are left out, of block tables and of slots") {
    const bases b;
    const heads_shape shape{2, 2, 1, 16};
    const std::vector<std::int32_t> ids{5, 5, 5}, listed_ids{5};
    const std::vector<float> before = keys<float>(shape);
    std::vector<float> by_slot = before, by_block = before, expected = before;
    const auto run = [&](const auto& view) {
        with_device_angles(b.change(ids),
                           [&](const auto& change) { rebase<half_split>(test_device{}, change, in_place(view)); });
    };
    const std::vector<std::int64_t> slots{-1, 2, 4};
    run(in_slots(token_major(by_slot.data(), shape), slots.data(), 1, 3));
    const std::vector<std::int32_t> blocks{-3, 2};
    run(in_blocks(token_major(by_block.data(), shape), blocks.data(), 1, 3, 2));
    CHECK(by_block == before);
    rebase<half_split, backend::scalar>(b.change(listed_ids),
                                        in_place(token_major(expected.data() + 32, {1, 1, 1, 16})));
    check_same(by_slot, expected);
}

TEST_CASE("rotate/cuda/rebase: invalid slots and views are rejected") {
    const bases b;
    std::vector<float> x(64);
    const auto cache = token_major(x.data(), {2, 2, 1, 16});
    const std::vector<std::int32_t> table{0, 1}, ids{0, 1, 2, 3};
    const auto run = [&](index_t tokens, index_t row_stride) {
        with_device_angles(b.change(ids), [&](const auto& change) {
            rebase<half_split>(test_device{}, change, in_place(in_blocks(cache, table.data(), 1, tokens, row_stride)));
        });
    };
    CHECK_NOTHROW(run(4, 2));
    const std::vector<std::int32_t> from{1, 2, 3, -1}, to{0, 1, 2, -1};
    with_device_angles(b.change(ids), [&](const auto& change) {
        CHECK_THROWS_WITH_AS(
            rebase<half_split>(test_device{}, change,
                               from_to(in_slots(cache, from.data(), 1, 4), in_slots(cache, to.data(), 1, 4))),
            "rebase: y must be x itself or not overlap it; it overlaps it partly; to move tokens within a cache on "
            "a device, state that no slot is both read and written, from_to(x, y).to_free_slots(), or copy through "
            "another tensor: from_to(x, tensor), then from_to(tensor, y).unrotated()",
            shape_error);
    });
    CHECK_THROWS_AS(run(3, 2), shape_error);
    CHECK_THROWS_AS(run(4, -1), shape_error);
}

TEST_CASE("rotate/cuda/rebase: keys move to free slots of their cache in one launch, as on the host") {
    const bases b;
    const heads_shape shape{6, 4, 2, 16};
    const std::vector<std::int32_t> ids{0, 3, 70'000, 9}, old_slots{3, 22, -1, 8}, new_slots{1, 9, 2, 23};
    const auto check = [&]<class Pairing, class T>(Pairing, T) {
        std::vector<T> found = keys<T>(shape), expected = found;
        const auto move = [&](std::vector<T>& cache) {
            const auto view = token_major(cache.data(), shape);
            return from_to(in_slots(view, old_slots.data(), 1, 4), in_slots(view, new_slots.data(), 1, 4));
        };
        rebase<Pairing, backend::scalar>(b.change(ids), move(expected));
        std::vector<backend::launch_size> launches;
        with_device_angles(b.change(ids), [&](const auto& change) {
            rebase<Pairing>(test_device{&launches}, change, move(found).to_free_slots());
        });
        CHECK(launches.size() == 1);
        const auto stated = move(found).to_free_slots();
        CHECK(stated.unrotated().writes_free_slots());
        CHECK(stated.normalized(rms_norm<>{}).writes_free_slots());
        check_same(found, expected);
        CHECK(value(found[32]) != value(keys<T>(shape)[32]));
    };
    check(half_split{}, float{});
    check(interleaved{}, bfloat16{});
}
