// SPDX-License-Identifier: MIT
// The bases that on_gpu keeps on a device, tested on the CPU: a call that finds its basis copies nothing.
#include "cordage/host/aten/device_bases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

using namespace cordage;

namespace {

/// Counts and makes the copies: the numbers of a basis instead of its words.
struct counted {
    aten::detail::device_bases bases;
    std::atomic<int> uploads = 0;

    explicit counted(std::size_t most) : bases(most) {}

    at::Tensor words_of(const std::vector<double>& inv_freq, double factor = 1.0, bool must_stay = false,
                        const at::Device& device = at::kCPU) {
        return bases.words_of(inv_freq, factor, device, must_stay, [&](const basis& b) {
            ++uploads;
            at::Tensor here = at::empty({b.pairs() + 1}, at::kDouble);
            std::ranges::copy(b.inv_freq(), here.data_ptr<double>());
            here.data_ptr<double>()[b.pairs()] = b.attention_factor();
            return here;
        });
    }
};

}  // namespace

TEST_CASE("host/aten/device_bases: equal numbers are brought once, and are the basis's") {
    counted kept(4);
    const at::Tensor first = kept.words_of({1.0, 0.5}, 1.25);
    CHECK(kept.words_of({1.0, 0.5}, 1.25).is_same(first));
    CHECK(kept.uploads == 1);
    CHECK(at::equal(first, at::tensor({1.0, 0.5, 1.25}, at::kDouble)));
}

TEST_CASE("host/aten/device_bases: other numbers, another factor, another device are brought anew") {
    counted kept(8);
    kept.words_of({1.0, 0.5});
    kept.words_of({1.0, std::nextafter(0.5, 1.0)});
    kept.words_of({1.0, 0.5}, std::nextafter(1.0, 2.0));
    kept.words_of({1.0});
    kept.words_of({1.0, 0.5, 0.5});
    kept.words_of({1.0, 0.5}, 1.0, false, at::Device(at::kCUDA, 0));
    kept.words_of({1.0, 0.5}, 1.0, false, at::Device(at::kCUDA, 1));
    CHECK(kept.uploads == 7);
    kept.words_of({1.0, 0.5}, 1.0, false, at::Device(at::kCUDA, 1));
    CHECK(kept.uploads == 7);
}

TEST_CASE("host/aten/device_bases: the least recently used one is evicted") {
    counted kept(2);
    kept.words_of({1.0}), kept.words_of({2.0}), kept.words_of({1.0});
    kept.words_of({3.0});  // evicts 2
    CHECK(kept.uploads == 3);
    kept.words_of({1.0}), kept.words_of({3.0});
    CHECK(kept.uploads == 3);
    kept.words_of({2.0});
    CHECK(kept.uploads == 4);
}

TEST_CASE("host/aten/device_bases: words read by a captured graph stay, whenever it was captured") {
    counted kept(2);
    const at::Tensor brought_by_capture = kept.words_of({1.0}, 1.0, true);
    kept.words_of({2.0});
    const at::Tensor captured_later = kept.words_of({2.0}, 1.0, true);
    for (int i = 0; i < 20; ++i) kept.words_of({3.0 + i});
    CHECK(kept.uploads == 22);
    CHECK(kept.words_of({1.0}).is_same(brought_by_capture));
    CHECK(kept.words_of({2.0}).is_same(captured_later));
    kept.words_of({22.0}), kept.words_of({21.0});
    CHECK(kept.uploads == 22);
}

TEST_CASE("host/aten/device_bases: an invalid basis is rejected and not kept") {
    counted kept(2);
    for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(kept.words_of({1.0, std::nan("")}), value_error);
    CHECK_THROWS_AS(kept.words_of({}), value_error);
    CHECK_THROWS_AS(kept.words_of({1.0}, 0.0), value_error);
    CHECK(kept.uploads == 0);
}

TEST_CASE("host/aten/device_bases: several threads find one copy") {
    counted kept(4);
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&] {
            for (int round = 0; round < 100; ++round) kept.words_of({1.0 + round % 3});
        });
    }
    for (std::thread& each : all) each.join();
    CHECK(kept.uploads == 3);
}
