# SPDX-License-Identifier: MIT
"""Tables of cos and sin, 32768 positions of 64 pairs: time over that of a plain fill, and their error."""
import ctypes
import os

import numpy as np
import torch
from case import INV_FREQ, Case, exact_cos_sin
from libraries import rope_case
from rotations import llama_embedding
from rounds import Calls

POSITIONS, PAIRS = 32768, len(INV_FREQ)


class CordageTable:
    name, RUNS_A_LOAD = "cordage_table", None

    def __init__(self, library, case):
        self.build = ctypes.CDLL(os.path.abspath(library)).cordage_build_table
        self.case, self.c_case = case, rope_case(case)

    def run(self, repeats, cos=None, sin=None):
        if self.build(ctypes.byref(self.c_case), ctypes.c_int64(repeats), cos, sin) != 0:
            raise MemoryError("cordage_build_table could not build its table")

    def call(self):
        cos, sin = (np.empty((POSITIONS, PAIRS), np.float32) for _ in range(2))
        self.run(1, cos.ctypes.data_as(ctypes.c_void_p), sin.ctypes.data_as(ctypes.c_void_p))
        return cos, sin


def entries(library, threads):
    """Each one's `call` returns float32 cos and sin, [..., at least PAIRS]; fill's are of no angle."""
    positions = torch.arange(POSITIONS)
    case = Case("table", positions, 1, 1, "fp32", threads)
    embedding, like = llama_embedding(), torch.empty(1)
    inv_freq = torch.from_numpy(INV_FREQ)
    filled = [np.empty((POSITIONS, PAIRS), np.float32) for _ in range(2)]

    def fill():
        for part in filled:
            part.fill(1.0)
        return filled

    def torch_float32():
        angles = torch.outer(positions.float(), inv_freq.float())
        return angles.cos(), angles.sin()

    def torch_float64():
        angles = torch.outer(positions.double(), inv_freq)
        return angles.cos().float(), angles.sin().float()

    def numpy_float32():
        angles = np.outer(np.arange(POSITIONS, dtype=np.float32), INV_FREQ.astype(np.float32))
        return np.cos(angles), np.sin(angles)

    def transformers_module():
        cos, sin = embedding(like, positions[None])
        return cos[0], sin[0]

    named = (fill, transformers_module, torch_float32, torch_float64, numpy_float32)
    return [CordageTable(library, case)] + [Calls(call.__name__, call) for call in named]


def error(entry):
    """Largest error against float64; None for the fill."""
    if entry.name == "fill":
        return None
    exact = exact_cos_sin(torch.arange(POSITIONS))
    return max(np.abs(np.asarray(part)[:, :PAIRS] - true).max() for part, true in zip(entry.call(), exact))
