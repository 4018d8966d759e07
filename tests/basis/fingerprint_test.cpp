// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <bit>
#include <set>

#include "cordage/basis/basis.hpp"
#include "cordage/scaling/power_laws.hpp"

using namespace cordage;

namespace {

double with_bit_changed(double x, int bit) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ (std::uint64_t{1} << bit));
}

const std::vector<double> theta{1.0, 0.25, -0.03125, 0.0};
const rope_config model{.head_dim = 8, .rotary_dim = 8, .theta_base = 10000.0, .original_length = 4096.0};

}  // namespace

// Tags of caches on disk rely on these values, which must never change.
TEST_CASE("basis/fingerprint: known bases have their known fingerprints") {
    CHECK(basis({1.0}).fingerprint() == 0x65e3'c60a'9660'4cf7u);
    CHECK(basis(theta, 1.25).fingerprint() == 0xb200'00c0'8136'9a70u);
    CHECK(basis(theta, 1.25).fingerprint(model) == 0x1ab2'2d19'e078'0c75u);
}

TEST_CASE("basis/fingerprint: a change of any one bit of a frequency or of the attention factor changes it") {
    std::set<std::uint64_t> seen{basis(theta, 1.25).fingerprint()};
    std::size_t bases = 1;
    const auto add = [&](const std::vector<double>& inv_freq, double factor) {
        if (!is_attention_factor(factor)) return;
        for (const double x : inv_freq) {
            if (!(std::bit_cast<std::uint64_t>(x) << 1 >> 53 < 1023 + 62)) return;  // no basis has such a frequency
        }
        seen.insert(basis(inv_freq, factor).fingerprint());
        ++bases;
    };
    for (int bit = 0; bit < 64; ++bit) {
        for (std::size_t pair = 0; pair < theta.size(); ++pair) {
            auto changed = theta;
            changed[pair] = with_bit_changed(changed[pair], bit);
            add(changed, 1.25);
        }
        add(theta, with_bit_changed(1.25, bit));
    }
    CHECK(bases > 310);
    CHECK(seen.size() == bases);
}

TEST_CASE("basis/fingerprint: order, number of pairs and every field of the config count") {
    CHECK(basis({1.0, 0.5}).fingerprint() != basis({0.5, 1.0}).fingerprint());
    CHECK(basis({1.0, 0.0}).fingerprint() != basis({1.0}).fingerprint());
    CHECK(basis({1.0, 1.0}, 1.0).fingerprint() != basis({1.0}, 1.0).fingerprint());
    const basis b(theta, 1.25);
    std::set<std::uint64_t> seen{b.fingerprint(), b.fingerprint(model)};
    auto changed = model;
    changed.head_dim = 16;
    seen.insert(b.fingerprint(changed));
    changed = model;
    changed.rotary_dim = 6;
    seen.insert(b.fingerprint(changed));
    changed = model;
    changed.theta_base = with_bit_changed(model.theta_base, 0);
    seen.insert(b.fingerprint(changed));
    changed = model;
    changed.original_length = with_bit_changed(model.original_length, 51);
    seen.insert(b.fingerprint(changed));
    CHECK(seen.size() == 6);
}

TEST_CASE("basis/fingerprint: the same numbers, however made, have the same one, and another t has another") {
    const basis made = make_basis(model, ntk_aware{}, 4.0);
    const basis copied(std::vector<double>(made.inv_freq().begin(), made.inv_freq().end()), made.attention_factor());
    CHECK(made.fingerprint() == copied.fingerprint());
    CHECK(made.fingerprint() != make_basis(model, ntk_aware{}, 4.000000001).fingerprint());
}
