// SPDX-License-Identifier: MIT
// DyPE for one axis of an image that is 2.5 times as long as in training: the bases at three steps of denoising.
#include "dype.hpp"

#include <cordage/basis/rope_scaling.hpp>
#include <cstdio>

int main() {
    // [dype]
    const cordage::rope_config axis{
        .head_dim = 56, .rotary_dim = 56, .theta_base = 10000, .original_length = 64};  // FLUX
    const double t = 160.0 / 64.0;  // patches over those of training
    const cordage::basis noisy = cordage::make_basis(axis, own::dype{.step = 1.0}, t);
    const cordage::basis nearly_clean = cordage::make_basis(axis, own::dype{.step = 0.1}, t);
    const cordage::rope_scaling by_ntk(axis, cordage::ntk_aware{}, own::denoising{.step = 0.5});
    // [/dype]
    const cordage::basis half_way = by_ntk.at_length(160);
    std::printf("%5s %10s %10s %10s %10s\n", "pair", "unscaled", "step 1", "step 0.1", "Dy-NTK 0.5");
    for (const std::size_t pair : {0u, 10u, 20u, 27u}) {
        std::printf("%5zu %10.6f %10.6f %10.6f %10.6f\n", pair, axis.inv_freq(static_cast<cordage::index_t>(pair)),
                    noisy.inv_freq()[pair], nearly_clean.inv_freq()[pair], half_way.inv_freq()[pair]);
    }
    return nearly_clean.inv_freq()[10] == axis.inv_freq(10) && half_way.inv_freq()[27] > noisy.inv_freq()[27] ? 0 : 1;
}
