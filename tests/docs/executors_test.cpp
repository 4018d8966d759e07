// SPDX-License-Identifier: MIT
// The executors of docs/backends.md: the library's pool, and OpenMP and TBB if the compiler has them. The regions are
// quoted by the page.
#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif
#if defined(CORDAGE_TEST_TBB)
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

#include "cordage/core/threads.hpp"
#include "cordage/kernels.hpp"

namespace {

// [pool]
struct layer {
    cordage::heads_view<float> q, k;  // [1, tokens, heads, head_dim]
};

void rotate_all(const std::vector<layer>& layers, const cordage::basis& b, const std::vector<int>& position_ids) {
    using namespace cordage;
    const threads pool(4);  // three beside this one: they start with the first call that is large enough
    for (const layer& l : layers) {
        rotate_forward<half_split>(pool, exact_angles(b, position_ids), in_place(l.q), in_place(l.k));
    }
}  // and end here
// [/pool]

#if defined(_OPENMP)
// [openmp_executor]
auto openmp_threads() {
    const auto loop = [](std::int64_t slices, const auto& slice) {
#pragma omp parallel for schedule(static, 1)
        for (std::int64_t i = 0; i < slices; ++i) slice(i);
    };
    return cordage::loop_executor{loop, omp_get_max_threads()};
}
// [/openmp_executor]
#endif

#if defined(CORDAGE_TEST_TBB)
// [tbb_executor]
auto tbb_threads() {
    const auto loop = [](std::int64_t slices, const auto& slice) {
        tbb::parallel_for(std::int64_t{0}, slices, [&](std::int64_t i) { slice(i); });
    };
    return cordage::loop_executor{loop, tbb::this_task_arena::max_concurrency()};
}
// [/tbb_executor]
#endif

constexpr cordage::heads_shape shape{1, 3000, 4, 64};  // 3 MB

std::vector<float> some_elements() {
    std::vector<float> x(3000 * 4 * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 251) / 64.0f - 2.0f;
    return x;
}

const cordage::basis model({1.0, 0.5, 0.25, 0.125});

std::vector<int> position_ids() {
    std::vector<int> ids(3000);
    std::iota(ids.begin(), ids.end(), 100'000);
    return ids;
}

template <class Where>
std::vector<float> rotated_by(const Where& where) {
    std::vector<float> x = some_elements();
    const std::vector<int> ids = position_ids();
    cordage::rotate_forward<cordage::half_split>(where, cordage::exact_angles(model, ids),
                                                 cordage::in_place(cordage::token_major(x.data(), shape)));
    return x;
}

}  // namespace

TEST_CASE("docs/executors: a pool gives the bits of one thread, layer by layer") {
    std::vector<float> q = some_elements(), k = q;
    rotate_all({{cordage::token_major(q.data(), shape), cordage::token_major(k.data(), shape)}}, model, position_ids());
    CHECK(q == rotated_by(cordage::serial{}));
    CHECK(k == q);
}

#if defined(_OPENMP)
TEST_CASE("docs/executors: so does OpenMP") { CHECK(rotated_by(openmp_threads()) == rotated_by(cordage::serial{})); }
#endif
#if defined(CORDAGE_TEST_TBB)
TEST_CASE("docs/executors: so does TBB") { CHECK(rotated_by(tbb_threads()) == rotated_by(cordage::serial{})); }
#endif
