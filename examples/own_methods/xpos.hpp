// SPDX-License-Identifier: MIT
// xPos: magnitudes by position that make scores decay with distance.
#pragma once

#include <cmath>

#include "cordage/core/config.hpp"

namespace own {

using cordage::index_t, cordage::rope_config;

/// xPos (Sun et al. 2022): in addition to the rotation every pair of q is multiplied by zeta_i^(p / scale_base) and of
/// k by the reciprocal, so that a score has the factor zeta_i^((m - n) / scale_base). d = rotary_dim.
///
///   zeta_i = (2i + gamma d) / ((1 + gamma) d)          in (0, 1)
///
/// The magnitude of a key grows exponentially with its position; for a long cache count positions from its middle.
struct xpos {
    double gamma = 0.4;
    double scale_base = 512.0;

    double zeta(const rope_config& c, index_t pair) const {
        const auto d = static_cast<double>(c.rotary_dim);
        return (2.0 * static_cast<double>(pair) + gamma * d) / ((1.0 + gamma) * d);
    }
    /// Factor on both lanes of a pair of q, at any real position.
    double query_scale(const rope_config& c, index_t pair, double position) const {
        return std::pow(zeta(c, pair), position / scale_base);
    }
    /// Factor on both lanes of a pair of k, 1 / query_scale.
    double key_scale(const rope_config& c, index_t pair, double position) const {
        return query_scale(c, pair, -position);
    }

    void validate(const rope_config& c) const {
        cordage::validate(c);
        cordage::validate_positive({"xpos: gamma"}, gamma);
        cordage::validate_positive({"xpos: scale_base"}, scale_base);
    }
};

}  // namespace own
