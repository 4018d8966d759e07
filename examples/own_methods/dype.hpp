// SPDX-License-Identifier: MIT
// DyPE: scaling of image positions that decreases while a diffusion model denoises: a policy and a schedule of one's
// own.
#pragma once

#include <algorithm>
#include <cmath>

#include "cordage/scaling/policy.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/schedules.hpp"

namespace own {

using cordage::index_t, cordage::ntk_aware, cordage::ramp_of_rotations, cordage::rope_config, cordage::validate_number;

/// Dy-YaRN (Issachar et al. 2025, arXiv:2510.20766, as in the authors' code for FLUX): one axis of an image that is t
/// times as long as in training, at one step of denoising. From fast to slow, pairs are unscaled, NTK-aware, and
/// interpolated:
///
///   alpha(t) = g + (1 - g) (b t^(-2i/(d-2)) + (1 - b) / t)        m(t) = 0.1 ln t + 1
///
/// where 1 - g and 1 - b are ramps over pairs by their rotations over original_length (ramp_of_rotations): from 16
/// kappa to 2 kappa rotations, and from 1.25 kappa to 0.75 kappa. kappa = step^2, so that both ramps move to slower
/// pairs as the image becomes clean, and fewer pairs are scaled. (Dy-NTK is `ntk_aware` on the schedule `denoising`.)
///
///   const basis rows = make_basis(axis, dype{.step = 0.8}, 2.0);    // axis.original_length: 64 patches for FLUX
struct dype {
    double step = 1.0;  ///< 1: pure noise, towards 0: a clean image

    double log_alpha(const rope_config& c, index_t pair, double t) const { return std::log(terms(c, pair, t).alpha); }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        const values v = terms(c, pair, t);
        return v.rate / v.alpha;
    }
    double attention_factor(const rope_config&, double t) const { return 0.1 * std::log(t) + 1.0; }
    double attention_factor_rate(const rope_config&, double t) const { return 0.1 / t; }

    void validate(const rope_config& c) const {
        validate_number({"dype: step"}, step, step > 0.0 && step <= 1.0, {"in (0, 1]"});
        cordage::validate(ntk_aware{}, c);
    }

 private:
    // alpha and its derivative in t.
    struct values {
        double alpha, rate;
    };
    values terms(const rope_config& c, index_t pair, double t) const {
        const double kappa = step * step, last = static_cast<double>(c.rotary_dim) / 2.0;
        const double unscaled = 1.0 - ramp_of_rotations(c, 16.0 * kappa, 2.0 * kappa, true, last).at(pair);
        const double by_ntk =
            (1.0 - unscaled) * (1.0 - ramp_of_rotations(c, 1.25 * kappa, 0.75 * kappa, true, last).at(pair));
        const double by_pi = 1.0 - unscaled - by_ntk;
        const double ntk = by_ntk * std::exp(ntk_aware{}.log_alpha(c, pair, t));
        return {unscaled + ntk + by_pi / t, ntk * ntk_aware{}.log_alpha_rate(c, pair, t) - by_pi / (t * t)};
    }
};
static_assert(cordage::scaling_policy<dype> && cordage::prior_policy<dype> && cordage::has_attention_factor<dype>);

/// t = (seq_len / original_length)^(2 step^2), at least 1, for one side of an image at one step of denoising: with
/// `ntk_aware` it is Dy-NTK (DyPE, Issachar et al. 2025, arXiv:2510.20766, with lambda_s = lambda_t = 2).
struct denoising {
    double step = 1.0;  ///< 1: pure noise, 0: a clean image

    double ratio(const rope_config& c, double seq_len) const {
        return std::pow(std::max(1.0, seq_len / c.original_length), 2.0 * step * step);
    }
    void validate() const { validate_number({"denoising: step"}, step, step >= 0.0 && step <= 1.0, {"0 to 1"}); }
};
static_assert(cordage::length_schedule<denoising>);

}  // namespace own
