// SPDX-License-Identifier: MIT
#include "cordage/rotate/cuda/rebase.hpp"

#include "backend/cuda/test_device.hpp"
#include "cordage/rotate/forward.hpp"
#include "rotate/dense.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

struct bases {
    basis from{frequencies(16), 1.25}, to{other(), 0.75};
    std::vector<std::uint64_t> words = device_words(to.relative_to(from));
    device_basis change{words.data(), 8};

    static std::vector<double> other() {
        std::vector<double> theta = frequencies(16);
        for (double& t : theta) t *= 0.375;
        return theta;
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
    rebase<Pairing, backend::scalar>({.from = b.from, .to = b.to}, ids,
                                     in_place(token_major(expected.data(), shape), 8));
    rebase<Pairing>(test_device{}, b.change, position_view<std::int64_t>(ids),
                    in_place(token_major(found.data(), shape), 8));
    check_same(found, expected);
}

// Blocks of two caches, in a random order, some of them not listed.
template <class Pairing, class T>
void check_paged() {
    const bases b;
    const heads_shape shape{6, 4, 2, 16};
    const std::vector<std::int32_t> table{4, 0, 3};
    const std::vector<std::int32_t> ids{0, 1, 2, 3, 500, 501, 502, 503, 70'000, 70'001, 70'002, 70'003};
    std::vector<T> found = keys<T>(shape), expected = found, found_2 = keys<T>(shape), expected_2 = found_2;
    const position_view<std::int32_t> view(ids.data(), 3, 4, 4);
    rebase<Pairing, backend::scalar>({.from = b.from, .to = b.to}, paged_positions<std::int32_t>{table, view},
                                     in_place(token_major(expected.data(), shape)),
                                     in_place(head_major(expected_2.data(), shape)));
    rebase<Pairing>(test_device{}, b.change, device_paged_positions<std::int32_t>{table.data(), view},
                    in_place(token_major(found.data(), shape)), in_place(head_major(found_2.data(), shape)));
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

TEST_CASE("rotate/cuda/rebase: entries outside of the cache are skipped") {
    const bases b;
    const heads_shape shape{2, 1, 1, 16};
    const std::vector<std::int32_t> table{-1, 1, 2}, ids{5, 5, 5};
    const std::vector<float> before = keys<float>(shape);
    std::vector<float> x = before, expected = before;
    rebase<half_split>(test_device{}, b.change,
                       device_paged_positions<std::int32_t>{table.data(), {ids.data(), 3, 1, 1}},
                       in_place(token_major(x.data(), shape)));
    CHECK(std::equal(x.begin(), x.begin() + 16, before.begin()));
    const std::vector<std::int32_t> listed{1};
    rebase<half_split, backend::scalar>({.from = b.from, .to = b.to},
                                        paged_positions<std::int32_t>{listed, {ids.data(), 1, 1, 1}},
                                        in_place(token_major(expected.data(), shape)));
    check_same(x, expected);
}

TEST_CASE("rotate/cuda/rebase: what does not fit the cache is refused") {
    const bases b;
    std::vector<float> x(64);
    const auto cache = in_place(token_major(x.data(), {2, 2, 1, 16}));
    const std::vector<std::int32_t> table{0, 1}, ids{0, 1, 2, 3, 4, 5};
    const auto run = [&](const std::int32_t* blocks, index_t tokens) {
        rebase<half_split>(test_device{}, b.change,
                           device_paged_positions<std::int32_t>{blocks, {ids.data(), 2, tokens, tokens}}, cache);
    };
    CHECK_NOTHROW(run(table.data(), 2));
    CHECK_THROWS_AS(run(table.data(), 3), shape_error);
    CHECK_THROWS_AS(run(nullptr, 2), shape_error);
}
