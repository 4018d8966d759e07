// SPDX-License-Identifier: MIT
// Converts the arguments of ggml's rope operations to a basis and an axis for every pair; a host adapter.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/core/config.hpp"
#include "cordage/positions/sections.hpp"
#include "cordage/scaling/yarn.hpp"

namespace cordage::ggml {

/// GGML_ROPE_TYPE_*: which lanes form a pair, and how many positions a token has.
enum rope_mode : int {
    normal = 0,   ///< pairs (2i, 2i+1)
    neox = 2,     ///< pairs (i, i + n_dims/2), as in all modes below
    mrope = 8,    ///< four positions for each token, pairs in blocks
    vision = 24,  ///< as mrope with pairs (i, i + n_dims) of 2 n_dims lanes; frequencies restart in each block
    imrope = 40,  ///< pairs alternate between three positions; the fourth has the remaining ones
};

/// The arguments of ggml_rope_ext and ggml_rope_multi, by their names there; the defaults disable YaRN.
struct rope_arguments {
    int n_dims = 0;
    int mode = neox;
    int n_ctx_orig = 0;
    float freq_base = 10000.0f;
    float freq_scale = 1.0f;
    float ext_factor = 0.0f;
    float attn_factor = 1.0f;
    float beta_fast = 0.0f;
    float beta_slow = 0.0f;
    std::array<int, 4> sections{};  ///< pairs of each position (ggml_rope_multi)

    friend bool operator==(const rope_arguments&, const rope_arguments&) = default;
};

/// Whether a token has four positions in this mode.
inline bool has_axes(int mode) noexcept { return (mode & mrope) != 0; }

namespace detail {

/// A vision encoder's head has 2 n_dims lanes, others n_dims.
inline int pairs(const rope_arguments& a) { return a.mode == vision ? a.n_dims : a.n_dims / 2; }

inline void check(const rope_arguments& a, std::span<const float> freq_factors) {
    if (a.n_dims < 2 || a.n_dims % 2 != 0 || a.n_dims > largest_head_dim) {
        fail<value_error>({"ggml::rope_arguments: n_dims ", a.n_dims, " must be even, >= 2 and <= ", largest_head_dim});
    }
    constexpr int modes[] = {normal, neox, mrope, vision, imrope};
    if (std::ranges::find(modes, a.mode) == std::end(modes)) {
        fail<value_error>({"ggml::rope_arguments: mode ", a.mode, " must be 0, 2, 8, 24 or 40"});
    }
    if (!is_finite(a.freq_base) || !(a.freq_base > 1.0f) || !is_finite(a.freq_scale) || !(a.freq_scale > 0.0f)) {
        fail<value_error>({"ggml::rope_arguments: freq_base ", a.freq_base, " and freq_scale ", a.freq_scale,
                           " must be finite, freq_base > 1 and freq_scale > 0"});
    }
    if (!is_finite(a.ext_factor) || !is_finite(a.attn_factor) || a.attn_factor == 0.0f) {
        fail<value_error>({"ggml::rope_arguments: ext_factor ", a.ext_factor, " and attn_factor ", a.attn_factor,
                           " must be finite, and attn_factor not 0"});
    }
    if (a.ext_factor != 0.0f && (a.n_ctx_orig < 1 || !(a.beta_slow > 0.0f) || !(a.beta_fast >= a.beta_slow))) {
        fail<value_error>({"ggml::rope_arguments: n_ctx_orig ", a.n_ctx_orig, ", beta_fast ", a.beta_fast,
                           " and beta_slow ", a.beta_slow,
                           " must be n_ctx_orig >= 1 and beta_fast >= beta_slow > 0, as ext_factor is not 0"});
    }
    if (!freq_factors.empty() && std::ssize(freq_factors) < pairs(a)) {
        fail<shape_error>({"ggml::rope_arguments: freq_factors has ", freq_factors.size(),
                           " entries, must have one for each of ", pairs(a), " pairs"});
    }
    for (std::size_t pair = 0; !freq_factors.empty() && pair < static_cast<std::size_t>(pairs(a)); ++pair) {
        if (!is_finite(freq_factors[pair]) || freq_factors[pair] == 0.0f) {
            fail<value_error>(
                {"ggml::rope_arguments: freq_factors[", pair, "] ", freq_factors[pair], " must be finite and not 0"});
        }
    }
    const auto& s = a.sections;
    if (has_axes(a.mode) && (std::ranges::min(s) < 0 || std::ranges::max(s) > a.n_dims || std::ranges::max(s) == 0)) {
        fail<value_error>({"ggml::rope_arguments: sections {", s[0], ", ", s[1], ", ", s[2], ", ", s[3],
                           "} must be 0 to n_dims ", a.n_dims, " and not all 0"});
    }
}

/// YaRN's share of the unscaled frequency, from its ramp; ggml divides by 0.001 if the ends meet or cross.
inline double kept_share(const rope_arguments& a, int pair) {
    const rope_config model{a.n_dims, a.n_dims, double{a.freq_base}, static_cast<double>(a.n_ctx_orig)};
    const yarn_ramp ramp = yarn{.beta_fast = double{a.beta_fast}, .beta_slow = double{a.beta_slow}}.ramp(model);
    return 1.0 - std::clamp((pair - ramp.low) / std::max(0.001, ramp.high - ramp.low), 0.0, 1.0);
}

}  // namespace detail

/// The position, of a token's four, that rotates each pair, [pairs], for axis_angles.
///
///   sections {4, 2, 2, 0}:   mrope  0 0 0 0 1 1 2 2     imrope  0 1 2 0 1 2 0 3
///
/// As in ggml, remaining pairs are rotated by the fourth position; interleaved_axes (and transformers) use the first.
/// For equal results give both positions the same values, or pass the axes of interleaved_axes. After the last section
/// the sections repeat.
/// @throws value_error  unless the mode is mrope, vision or imrope and the sections are 0 to n_dims, not all 0
inline std::vector<std::uint8_t> axes_of_pairs(const rope_arguments& a) {
    detail::check(a, {});
    if (!has_axes(a.mode)) fail<value_error>({"ggml::axes_of_pairs: mode ", a.mode, " must be 8, 24 or 40"});
    const std::vector<std::uint8_t> blocks = contiguous_axes({a.sections.begin(), a.sections.end()});
    std::vector<std::uint8_t> axes;
    for (std::size_t pair = 0; pair < static_cast<std::size_t>(detail::pairs(a)); ++pair) {
        const std::size_t sector = pair % blocks.size(), dealt = sector % 3;
        const bool is_in = sector < 3 * static_cast<std::size_t>(a.sections[dealt]);
        axes.push_back(a.mode != imrope ? blocks[sector] : static_cast<std::uint8_t>(is_in ? dealt : 3));
    }
    return axes;
}

/// The basis of these arguments, computed in double (ggml multiplies float32 numbers from pair to pair): inv_freq[pair]
/// is freq_base^(-2 pair/n_dims) / freq_factors[pair], times freq_scale, or YaRN's mixture of both if ext_factor is not
/// 0; the attention factor is attn_factor, and with ext_factor times 1 + 0.1 ln(1/freq_scale) (ggml 0.15.3).
///
/// @param freq_factors  [n_dims/2], in mode vision [n_dims], or more, such as the tensor of LongRoPE's factors; empty:
///                      all 1
/// @throws value_error or shape_error  naming the argument that is out of range
inline basis make_basis(const rope_arguments& a, std::span<const float> freq_factors = {}) {
    detail::check(a, freq_factors);
    const std::vector<std::uint8_t> blocks = a.mode == vision ? axes_of_pairs(a) : std::vector<std::uint8_t>();
    // In index_t, as the sections of a mode without them may be any integers.
    const index_t period = std::accumulate(a.sections.begin(), a.sections.end(), index_t{0});
    std::vector<double> inv_freq;
    for (int pair = 0, power = 0; pair < detail::pairs(a); ++pair, ++power) {
        const auto i = static_cast<std::size_t>(pair);
        if (a.mode == vision && (pair % period == 0 || blocks[i] != blocks[i - 1])) power = 0;
        double theta = std::pow(double{a.freq_base}, -2.0 * power / a.n_dims);
        if (!freq_factors.empty()) theta /= double{freq_factors[i]};
        const double kept = a.ext_factor == 0.0f ? 0.0 : detail::kept_share(a, pair) * double{a.ext_factor};
        inv_freq.push_back(theta * (a.freq_scale * (1.0 - kept) + kept));
    }
    const double yarn = a.ext_factor == 0.0f ? 1.0 : 1.0 - 0.1 * std::log(double{a.freq_scale});
    return basis(std::move(inv_freq), a.attn_factor * yarn);
}

}  // namespace cordage::ggml
