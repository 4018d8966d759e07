// SPDX-License-Identifier: MIT
// A user-defined scaling policy in twenty lines, usable at every t, with kernels and gradients, and as the prior of
// CLEX.
#include <cmath>
#include <cordage/cordage.hpp>
#include <cstdio>

// [own_policy]
/// alpha_i(t) = t^(-(2i/d)^power): like NTK-aware scaling, with fast pairs changed less.
struct bent_ntk {
    double power = 2.0;

    double log_alpha(const cordage::rope_config& c, cordage::index_t pair, double t) const {
        return -exponent(c, pair) * std::log(t);
    }
    double log_alpha_rate(const cordage::rope_config& c, cordage::index_t pair, double t) const {
        return -exponent(c, pair) / t;
    }

 private:
    double exponent(const cordage::rope_config& c, cordage::index_t pair) const {
        return std::pow(2.0 * static_cast<double>(pair) / static_cast<double>(c.rotary_dim), power);
    }
};
static_assert(cordage::scaling_policy<bent_ntk> && cordage::prior_policy<bent_ntk>);
// [/own_policy]

int main() {
    const cordage::rope_config model{.head_dim = 64, .rotary_dim = 64, .theta_base = 10000, .original_length = 4096};
    const cordage::rope_scaling rule(model, bent_ntk{}, cordage::nearest_upper_bound({1, 2, 4, 8}));
    const cordage::rope_scaling usual(model, cordage::ntk_aware{}, cordage::nearest_upper_bound({1, 2, 4, 8}));
    for (const double length : {4096.0, 10000.0, 32768.0}) {
        const auto mine = rule.at_length(length), theirs = usual.at_length(length);
        std::printf("%6g tokens, t = %g: pair 8 rotates %.6f rad a position (ntk_aware %.6f)\n", length,
                    rule.ratio(length), mine.inv_freq()[8], theirs.inv_freq()[8]);
    }
    return rule.at_length(32768).inv_freq()[8] > usual.at_length(32768).inv_freq()[8] ? 0 : 1;
}
