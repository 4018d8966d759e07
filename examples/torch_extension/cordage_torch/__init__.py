# SPDX-License-Identifier: MIT
"""cordage's rotary position embeddings for PyTorch: exact angles, gradients to the frequencies, CLEX.

    rotate              turns q and k, differentiable in them, in inv_freq, positions and the attention factor; with
                        RMSNorm before or after in the same pass, and the gradient to its weights
    rotate_and_store    the same of q and k, and k and v into the slots of a PagedCache, quantised if it is
    move                cached keys and values to other positions, another basis, other slots
    CLEX, LearnedTable  modules that give inv_freq at a length ratio t: by an ODE, by plain numbers
    LeRoPE              a module that gives one inv_freq for all lengths: a rule's times exp(alpha)
    scale_queries       q times a learned factor by head and position, scale ln(p + 1) + bias
    apply_to            gives a transformers model cordage's rotation, under its config's rule, another one, or a
                        learned basis
    save_longrope, save_lerope, save_gguf, save_freq_factors
                        a learned basis as other engines read it: in a config.json, as LeRoPE's alpha, in a model's GGUF
                        file, as tensors for ggml
"""
from .rotation import RMSNorm, rotate, rotate_by_table
from .cache_path import PagedCache, move, rotate_and_store
from .clex import CLEX
from .table import LearnedTable
from .lerope import LeRoPE, scale_queries
from .patching import LearnedBasis, Patch, apply_to
from .export import check_gguf, lerope_alpha, save_freq_factors, save_gguf, save_lerope, save_longrope

__all__ = ["CLEX", "LeRoPE", "LearnedBasis", "LearnedTable", "PagedCache", "Patch", "RMSNorm", "apply_to", "check_gguf",
           "lerope_alpha", "move", "rotate", "rotate_and_store", "rotate_by_table", "save_freq_factors", "save_gguf",
           "save_lerope", "save_longrope", "scale_queries"]
