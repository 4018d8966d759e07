# SPDX-License-Identifier: MIT
"""cordage's rotary position embeddings for JAX: exact angles without x64, gradients to the frequencies, CLEX.

    rotate              rotates q and k, differentiable in them, in log_alpha and in positions
    move                moves cached keys to other positions or another basis
    inv_freq            RoPE's unscaled frequencies
    clex                log_alpha of a neural ODE at length ratios t, differentiable in its weights
    learned_table       log_alpha interpolated between knots

All are functions of arrays: under jit, grad and vmap, over sharded arrays, on the CPU.
"""
from .rotation import inv_freq, move, rotate
from .clex import ClexSettings, clex, learned_table

__all__ = ["ClexSettings", "clex", "inv_freq", "learned_table", "move", "rotate"]
