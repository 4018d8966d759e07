# SPDX-License-Identifier: MIT
"""cordage's rotary position embeddings for PyTorch: exact angles, gradients to the frequencies, CLEX.

    rotate              rotates q and k, differentiable in them, in inv_freq, positions and the attention factor; with
                        RMSNorm before or after in the same pass, and the gradient to its weights
    rotate_and_store    rotates q and k, and stores k and v into the slots of a PagedCache, quantised if it is
    move                moves cached keys and values to other positions, another basis, other slots
    CLEX, LearnedTable  modules that return inv_freq at a length ratio t: by an ODE, or interpolated
    LeRoPE              a module with one inv_freq for all lengths: a rule's times exp(alpha)
    Tempered            any of these with a temperature of attention scores by t, learned with it
    HeadTemperatures    a temperature of each head, learned and folded into the weights of the queries
    scale_queries       q times a learned factor by head and position, scale ln(p + 1) + bias
    apply_to            replaces the rotation of a transformers model, by its config's rule, another one, or a
                        learned basis
    longrope_parameters a learned basis as LongRoPE's dictionary
    save_longrope, save_lerope, save_gguf, save_freq_factors
                        write a learned basis for other engines: in a config.json, as LeRoPE's alpha, in a model's GGUF
                        file, as tensors for ggml
"""
from .rotation import RMSNorm, rotate, rotate_by_table
from .cache_path import PagedCache, move, rotate_and_store
from .clex import CLEX
from .table import LearnedTable
from .lerope import LeRoPE, scale_queries
from .tempered import Tempered
from .head_temperatures import HeadTemperatures
from .patching import LearnedBasis, Patch, apply_to
from .export import (check_gguf, lerope_alpha, longrope_parameters, save_freq_factors, save_gguf, save_lerope,
                     save_longrope)

__all__ = ["CLEX", "HeadTemperatures", "LeRoPE", "LearnedBasis", "LearnedTable", "PagedCache", "Patch", "RMSNorm", "Tempered", "apply_to",
           "check_gguf", "lerope_alpha", "longrope_parameters", "move", "rotate", "rotate_and_store", "rotate_by_table",
           "save_freq_factors", "save_gguf", "save_lerope", "save_longrope", "scale_queries"]
