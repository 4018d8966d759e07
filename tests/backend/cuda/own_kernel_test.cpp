// SPDX-License-Identifier: MIT
// A kernel from outside of the library, that of examples/basis_on_device.
#include <cmath>
#include <limits>

#include "../../../examples/basis_on_device/basis_at.hpp"
#include "backend/cuda/test_device.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/rotate/cuda/forward.hpp"
#include "cordage/rotate/forward.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;
using namespace basis_on_device;
using cordage_test::test_device;

namespace {

const rope_config config{16, 16, 10'000.0, 4096.0};

clex_weights some_weights(double size) {
    clex_weights weights = clex_initial_weights(config, 1, 3);
    for (std::size_t i = 0; i < weights.down.size(); ++i)
        weights.down[i] = size * std::sin(1.0 + 3.0 * static_cast<double>(i));
    return weights;
}

double number(std::uint64_t word) { return std::bit_cast<double>(word); }

// A policy's numbers and bases as on a device.
struct on_device {
    device_trajectory_numbers numbers;
    device_trajectory path{numbers.shape(), numbers.numbers().data()};
    std::vector<std::uint64_t> words{};

    template <class Policy>
    explicit on_device(const Policy& policy) : numbers(policy) {}

    device_basis at(const std::vector<double>& t) {
        words.assign(static_cast<std::size_t>(device_words_size(path.pairs(), std::ssize(t))), 7);
        return basis_at(test_device{}, path, t, words.data());
    }
};

// All t in one launch, and some of them separately.
template <class Policy>
void check_policy(const Policy& policy) {
    const double t_max = policy.options().t_max;
    std::vector<double> t{1.0, t_max, std::min(std::nextafter(1.0, 2.0), t_max), std::nextafter(t_max, 1.0)};
    for (int i = 0; i < 300; ++i) t.push_back(1.0 + (t_max - 1.0) * std::fmod(0.6180339887498949 * i, 1.0));
    for (const double time : policy.path().times()) {
        t.push_back(std::clamp(Policy::field_type::in_log_time ? std::exp(time) : time, 1.0, t_max));
    }
    on_device device(policy);
    device.at(t);
    const std::vector<std::uint64_t> all = device.words;
    const std::size_t bases = t.size(), pairs = static_cast<std::size_t>(config.pairs());
    for (std::size_t b = 0; b < bases; ++b) {
        CAPTURE(t[b]);
        const basis expected = make_basis(config, policy, t[b]);
        for (std::size_t pair = 0; pair < pairs; ++pair) {
            const double inv_freq = number(all[2 * bases * pairs + b * pairs + pair]),
                         wanted = expected.inv_freq()[pair];
            REQUIRE(std::fabs(inv_freq - wanted) <= 8e-15 * wanted);
            const turns rate = turns_of(inv_freq);
            REQUIRE(all[b * pairs + pair] == rate.fraction);
            REQUIRE(all[bases * pairs + b * pairs + pair] == static_cast<std::uint64_t>(rate.whole));
        }
        const double m = number(all[3 * bases * pairs + b]);
        REQUIRE(std::fabs(m - expected.attention_factor()) <= 1e-9 * expected.attention_factor());
        if (b % 50 != 0) continue;
        basis_at(test_device{}, device.path, t[b], device.words.data());
        for (std::size_t pair = 0; pair < pairs; ++pair) REQUIRE(device.words[pair] == all[b * pairs + pair]);
        REQUIRE(number(device.words[3 * pairs]) == m);
    }
}

}  // namespace

TEST_CASE("backend/cuda/own_kernel: the host's basis of CLEX at any t") {
    check_policy(clex(config, some_weights(0.05)));
    check_policy(clex<log_length_field<yarn>>(config, some_weights(0.05), {.t_max = 64.0}));
    check_policy(clex<paper_field<ntk_aware, tanh_activation>, dopri5>(config, some_weights(0.2), {.t_max = 4.0}));
    check_policy(clex<paper_field<>, bosh3>(config, some_weights(0.05), {.fixed_steps = 7}));
}
TEST_CASE("backend/cuda/own_kernel: the released layer, with linear interpolation") {
    check_policy(clex_released<>(config, some_weights(0.05), released_options(16.0, 0.01)));
    check_policy(clex_released<silu>(config, some_weights(0.05), released_options(8.0, 0.1)));
}
TEST_CASE("backend/cuda/own_kernel: the solved range may be one point") {
    check_policy(clex<paper_field<yarn>>(config, some_weights(0.05), {.t_max = 1.0}));
}

TEST_CASE("backend/cuda/own_kernel: a t outside of the solved range is clamped, and NaN becomes 1") {
    on_device device(clex(config, some_weights(0.05)));
    const double inf = std::numeric_limits<double>::infinity();
    device.at({1.0, 16.0, 0.75, -inf, std::numeric_limits<double>::quiet_NaN(), 16.5, inf});
    const std::uint64_t* fraction = device.words.data();
    const auto pairs = config.pairs();
    for (const int low : {2, 3, 4}) CHECK(std::equal(fraction, fraction + pairs, fraction + low * pairs));
    for (const int high : {5, 6}) CHECK(std::equal(fraction + pairs, fraction + 2 * pairs, fraction + high * pairs));
}

TEST_CASE(
    "backend/cuda/own_kernel: rows of a batch are rotated by the t of each, and a changed t is used by the next "
    "launch") {
    const clex policy(config, some_weights(0.05));
    on_device device(policy);
    std::vector<double> t{2.0, 5.0};
    std::vector<std::uint64_t> words(static_cast<std::size_t>(device_words_size(config.pairs(), 2)));
    const std::vector<std::int32_t> ids{3, 1000};
    const device_basis b(words.data(), config.pairs(), 2);
    const device_angles<std::int32_t> angles(b, position_view<std::int32_t>(ids));
    for (const double second : {5.0, 11.0}) {
        t[1] = second;
        basis_at(test_device{}, device.path, t, words.data());
        std::vector<float> found(64, 1.0f), expected = found;
        rotate_forward<half_split>(test_device{}, angles, in_place(token_major(found.data(), {2, 2, 1, 16})));
        for (std::size_t row = 0; row < 2; ++row) {
            const basis on_host = make_basis(config, policy, t[row]);
            rotate_forward<half_split, backend::scalar>(
                exact_angles(on_host, ids), in_place(token_major(expected.data() + 32 * row, {1, 2, 1, 16})));
        }
        for (std::size_t i = 0; i < 64; ++i) CHECK(std::fabs(found[i] - expected[i]) <= 1e-6f);
    }
}

namespace {

// A prior with a step in its attention factor.
struct stepping : ntk_aware {
    double attention_factor(const rope_config&, double t) const { return t < 3.0 ? 1.0 : 1.5; }
    double attention_factor_rate(const rope_config&, double) const { return 0.0; }
};

}  // namespace

TEST_CASE("backend/cuda/own_kernel: invalid arguments are rejected before a launch") {
    on_device device(clex(config, some_weights(0.05)));
    std::vector<std::uint64_t> words(100);
    const test_device where;
    CHECK_THROWS_WITH_AS(basis_at(where, device.path, 17.0, words.data()),
                         "basis_at: t 17 must be in [1, 16], the solved range", value_error);
    CHECK_THROWS_AS(basis_at(where, device.path, std::nan(""), words.data()), value_error);
    CHECK_THROWS_WITH_AS(basis_at(where, device.path, 2.0, nullptr),
                         "basis_at: words nullptr must point to device_words_size(8, 1) = 26 words", shape_error);
    CHECK_THROWS_AS(basis_at(where, device.path, std::span<const double>(), words.data()), shape_error);
    CHECK_THROWS_AS(device_trajectory(device.numbers.shape(), nullptr), shape_error);
    CHECK_THROWS_WITH_AS(
        device_trajectory(device.numbers.shape(), reinterpret_cast<const void*>(std::uintptr_t{0x1004})),
        "device_trajectory: numbers 0x1004 must be aligned to 8 bytes", shape_error);
    CHECK_THROWS_AS(device_trajectory_numbers(clex<paper_field<stepping>>(config, some_weights(0.05))), value_error);
}
