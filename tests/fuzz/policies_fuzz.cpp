// SPDX-License-Identifier: MIT
// Fuzzes configs, policies, schedules and bases with arbitrary numbers: one error, or a finite basis that is
// exp(log alpha) times the model's own.
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "../../examples/own_methods/base_change_power.hpp"
#include "../../examples/own_methods/dynamic_longrope.hpp"
#include "../../examples/own_methods/longrope_parameters.hpp"
#include "../../examples/own_methods/resonance.hpp"
#include "../../examples/own_methods/tabulated.hpp"
#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/exact_angles.hpp"
#include "cordage/basis/axial.hpp"
#include "cordage/basis/basis_cache.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/tempered.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/schedules.hpp"
#include "input.hpp"
#include "run_counter.hpp"

namespace {

using namespace cordage;
using fuzz::expect;
using fuzz::input;

/// Log-uniform between two typical values, sometimes any number.
double number(input& in, double low, double high) {
    if (in.rarely(32)) return in.hostile_number();
    return low * std::pow(high / low, in.share());
}

std::vector<double> numbers(input& in, std::size_t count, double low, double high) {
    if (in.rarely()) count += 1;
    std::vector<double> all(count);
    std::generate(all.begin(), all.end(), [&] { return number(in, low, high); });
    return all;
}

std::vector<double> increasing(input& in) {
    std::vector<double> all = numbers(in, static_cast<std::size_t>(in.between(1, 4)), 1.0, 64.0);
    if (!in.rarely(16)) std::sort(all.begin(), all.end());
    return all;
}

rope_config random_config(input& in) {
    rope_config c;
    c.rotary_dim = 2 * in.between(1, 40);
    c.head_dim = c.rotary_dim + in.between(0, 64);
    c.theta_base = number(in, 1.5, 1e8);
    c.original_length = number(in, 1.0, 1e6);
    if (in.coin()) c.original_length = std::round(c.original_length);
    if (in.rarely()) (in.coin() ? c.head_dim : c.rotary_dim) = in.hostile_integer();
    return c;
}

yarn random_yarn(input& in) {
    yarn y;
    y.beta_slow = number(in, 0.1, 4.0);
    y.beta_fast = in.rarely(16) ? number(in, 0.1, 64.0) : y.beta_slow * number(in, 1.0, 64.0);
    y.truncate = in.coin();
    if (in.coin()) y.mscale = number(in, 0.1, 2.0), y.mscale_all_dim = number(in, 0.1, 2.0);
    if (in.coin()) y.given_attention_factor = number(in, 0.5, 2.0);
    return y;
}

any_policy random_policy(input& in, const rope_config& c) {
    const auto pairs = static_cast<std::size_t>(std::clamp<index_t>(c.pairs(), 0, 100));
    switch (in.between(0, 15)) {
        case 0:
            return unscaled{};
        case 1:
            return linear{};
        case 2:
            return ntk_aware{};
        case 3:
            return base_change{number(in, 0.5, 1e4)};
        case 4:
            return own::base_change_power{number(in, 0.5, 1e4), number(in, 1.1, 64.0)};
        case 5:
            return random_yarn(in);
        case 6: {
            const double low = number(in, 0.1, 4.0);
            return by_parts{low, in.rarely(16) ? number(in, 0.1, 64.0) : low * number(in, 1.1, 64.0)};
        }
        case 7:
            return longrope{numbers(in, pairs, 1.0, 64.0), numbers(in, pairs, 1.0, 64.0), number(in, 1.0, 2.0)};
        case 8:
            return own::dynamic_longrope{numbers(in, pairs, 1.0, 64.0), number(in, 1.5, 64.0)};
        case 9:
            return proportional{number(in, 0.01, 1.0)};
        case 10: {
            std::vector<unsigned char> rotates(pairs);
            for (auto& t : rotates) t = in.coin();
            return masked<yarn>{random_yarn(in), rotates};
        }
        case 11:
            return own::resonance<yarn>{random_yarn(in)};
        case 12: {
            const std::vector<double> knots = increasing(in);
            return own::tabulated(knots, numbers(in, knots.size() * pairs, 0.01, 1.0));
        }
        case 13: {
            std::vector<double> knots = increasing(in);
            for (double& t : knots) t += 0.25;
            const learned_table<by_parts> table(c, knots);
            return table.with_parameters(numbers(in, table.parameters().size(), 1e-3, 2.0));
        }
        case 14: {
            const tempered policy{random_yarn(in), score_temperature{number(in, 1e-3, 4.0), number(in, 0.1, 4.0)}};
            return policy.with_parameters(policy.parameters());
        }
        default:
            return own::resonance<>{};
    }
}

any_schedule random_schedule(input& in) {
    switch (in.between(0, 5)) {
        case 0:
            return fixed{number(in, 1.0, 64.0)};
        case 1:
            return continuous{number(in, 1.0, 16.0)};
        case 2:
            return dynamic{number(in, 1.0, 16.0)};
        case 3:
            return nearest_upper_bound(increasing(in));
        case 4:
            return rounded_up{std::round(number(in, 1.0, 64.0))};
        default:
            return two_regimes{number(in, 1.5, 64.0)};
    }
}

/// The basis at t agrees with its policy.
void check(const rope_config& c, const any_policy& policy, double t, const basis& b) {
    expect(is_finite(t) && t >= 1.0, "t is a length ratio");
    expect(b.pairs() == c.pairs(), "a basis has the config's pairs");
    expect(is_attention_factor(b.attention_factor()), "the attention factor is in its range");
    expect(b.attention_factor() == policy.attention_factor(c, t), "the attention factor is the policy's");
    std::vector<double> alpha(static_cast<std::size_t>(c.pairs())), rate(alpha.size());
    policy.log_alpha(c, t, alpha);
    policy.log_alpha_rate(c, t, rate);
    for (std::size_t i = 0; i < alpha.size(); ++i) {
        const double theta = b.inv_freq()[i], wanted = std::exp(alpha[i]) * c.inv_freq(static_cast<index_t>(i));
        expect(is_finite(theta) && std::fabs(theta) <= largest_inv_freq, "theta is finite and at most 2^62");
        expect(std::fabs(theta - wanted) <= 1e-15 * wanted, "theta is alpha times the model's own");
        expect(b.turns_per_position(static_cast<index_t>(i)) == turns_of(theta), "the turns are those of theta");
    }
    const std::vector<std::int32_t> ids{12'345};
    const auto none = exact_angles(b, ids) - exact_angles(b, ids);
    for (index_t i = 0; i < b.pairs(); ++i) expect(none.phase(0, 0, i) == 0, "a basis is no rotation from itself");
    expect(b.fingerprint(c) == make_basis(c, policy, t).fingerprint(c), "the same basis has the same fingerprint");
}

/// Other functions of a policy: each gives an error or finite numbers.
void use(input& in, const rope_config& c, const any_policy& policy, double t) {
    try {
        const basis_cache cache(c, policy, nearest_upper_bound(increasing(in)));
        cache.at_length(number(in, 1.0, 1e6));
    } catch (const error&) {
    }
    try {
        axial_basis(make_basis(c, policy, t), in.rarely() ? in.hostile_integer() : in.between(1, 4));
    } catch (const error&) {
    }
    try {
        const auto exported = own::longrope_parameters(c, policy, t);
        for (const char* key : {"short_factor", "long_factor"}) {
            for (const double factor : exported[key]) {
                expect(is_finite(factor) && factor > 0.0, "an exported factor is finite and above 0");
            }
        }
    } catch (const error&) {
    }
}

bool run(input& in) {
    try {
        const rope_config c = random_config(in);
        const any_policy policy = random_policy(in, c);
        const rope_scaling served(c, policy, random_schedule(in));
        const double length = number(in, 1.0, 1e7), t = served.ratio(length);
        check(c, policy, t, served.at_length(length));
        use(in, c, policy, t);
    } catch (const error&) {
        return false;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("made a basis");
    input in(data, size);
    run(in) ? counter.passed() : counter.refused();
    return 0;
}
