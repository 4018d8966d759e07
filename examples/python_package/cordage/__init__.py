# SPDX-License-Identifier: MIT
"""cordage's rotary position embeddings for numpy, and for any array with DLPack on the CPU.

    Rule                a model's rotation, from its files or from numbers; a CLEX with its checkpoint
    Model               all rules of a model, and which layer has which
    Basis               its frequencies at a length or at a length ratio t
    Angles              those of a batch's positions; computed once for all layers; `new - old` moves cached keys
    rotate, rotate_inverse, rotate_backward, move
                        rotate q, k and any number of further arrays by the same angles
    Heads, RMSNorm, Operand
                        caches in slots or blocks, also quantised; norm, rotation and store in one pass
    inspect             describes the rotation of a model at a length, from its config.json, as text or as numbers
    plots               wavelengths and factors (matplotlib)
    kernels, select_kernels
                        the instruction set in use: by default the best of the processor

A call that fails has written nothing and raises ValueError, ShapeError (a ValueError), MemoryError or RuntimeError with the
library's message.
"""
from ._library import ShapeError, kernels, library_version, select_kernels
from .inspection import inspect
from .rotation import Angles, Gradients, Operand, RMSNorm, move, rotate, rotate_backward, rotate_inverse
from .rules import Basis, Model, Rule
from .tensors import Heads

__version__ = library_version()
__all__ = ["Angles", "Basis", "Gradients", "Heads", "Model", "Operand", "RMSNorm", "Rule", "ShapeError", "inspect", "kernels",
           "move", "rotate", "rotate_backward", "rotate_inverse", "select_kernels"]
