// SPDX-License-Identifier: MIT
// One layer of Llama-2-7B, a server's state for it, and the parts of its work timed separately.
#pragma once

#include "clex_stand_in.hpp"

namespace layer {

inline constexpr cordage::index_t heads = 32, head_dim = 128, width = heads * head_dim, inner = 11008;
inline constexpr cordage::index_t weight_rows = 4 * width + 3 * inner;  ///< of `width`: attention's, then the MLP's
inline constexpr double t_max = 8.0, t_step = 0.5;
inline const cordage::rope_config model{head_dim, head_dim, 10000, 4096};

/// Microseconds on one thread, cache and weights in bfloat16; medians of some rounds.
struct parts {
    double read;        ///< reading the weights only
    double weights;     ///< the weights times a vector
    double attention;   ///< one query over all cached tokens
    double rotation;    ///< q and k of one token
    double rebase;      ///< all cached keys to another basis, in place
    double rotate_all;  ///< all cached keys into a rotated copy
    double solve;       ///< CLEX's ODE up to t_max
    double read_basis;  ///< one basis from the solution
    double project;     ///< a chunk's k and v from its hidden states
    double store;       ///< the same normalized, rotated and stored into the cache
    double reuse;       ///< the chunk moved within the cache to other slots and positions, k and v
};

inline constexpr cordage::index_t chunk = 64;  ///< tokens

/// @param tokens  in the cache
/// @param rounds  rounds in which each part is timed once, after two warm-up rounds
parts measure(cordage::index_t tokens, cordage::index_t rounds);

}  // namespace layer
