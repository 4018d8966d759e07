# SPDX-License-Identifier: MIT
"""cordage's rotary position embeddings for PyTorch: exact angles, gradients to the frequencies, CLEX.

    rotate      turns q and k, differentiable in them, in inv_freq, positions and the attention factor
    CLEX        a module that gives inv_freq at a length ratio t
    apply_to    gives a transformers model cordage's rotation, under its config's rule, another one, or a CLEX
"""
from .rotation import rotate, rotate_by_table
from .clex import CLEX
from .patching import Patch, apply_to

__all__ = ["CLEX", "Patch", "apply_to", "rotate", "rotate_by_table"]
