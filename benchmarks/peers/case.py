# SPDX-License-Identifier: MIT
"""The input of every implementation: one q, one k, their positions, and the exact result in float64."""
import dataclasses

import numpy as np
import torch

HEAD_DIM, THETA_BASE = 128, 10000.0
HALF_SPLIT, INTERLEAVED, MEMORY_LIMIT = 0, 1, 2
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
INV_FREQ = THETA_BASE ** (-np.arange(0, HEAD_DIM, 2) / HEAD_DIM)


@dataclasses.dataclass
class Case:
    """q [tokens, heads, HEAD_DIM] and k [tokens, kv_heads, HEAD_DIM] at positions [tokens]."""

    name: str
    positions: torch.Tensor
    heads: int
    kv_heads: int
    dtype: str
    threads: int = 1

    def __post_init__(self):
        torch.manual_seed(1)
        self.q, self.k = (
            torch.randn(len(self.positions), heads, HEAD_DIM).to(DTYPES[self.dtype])
            for heads in (self.heads, self.kv_heads)
        )

    def error(self, style, q, k):
        """Largest error of the rotated q and k against float64."""
        return max(
            (y.double() - exact_rotation(x, self.positions, style)).abs().max().item()
            for x, y in ((self.q, q), (self.k, k))
        )


def shapes(threads):
    """One decoded token, then prompts. A quarter of the heads are k's, a fifth when decoding."""
    for name, first, tokens, heads, kv_heads in (
        ("decode", 4095, 1, 32, 8),
        ("128x8", 0, 128, 6, 2),
        ("512x32", 0, 512, 24, 8),
        ("4096x32", 0, 4096, 24, 8),
    ):
        for dtype in DTYPES:
            yield Case(name, torch.arange(first, first + tokens), heads, kv_heads, dtype, threads)


def exact_cos_sin(positions):
    """Float64 cos and sin [tokens, HEAD_DIM/2]."""
    angles = positions.double().numpy()[:, None] * INV_FREQ
    return np.cos(angles), np.sin(angles)


def pairs(x, style):
    """Views of the first and the second lane of every pair of x [..., HEAD_DIM]."""
    return (x[..., 0::2], x[..., 1::2]) if style == INTERLEAVED else x.chunk(2, -1)


def exact_rotation(x, positions, style):
    cos, sin = (torch.from_numpy(part)[:, None] for part in exact_cos_sin(positions))
    y = torch.empty(x.shape, dtype=torch.float64)
    (x0, x1), (y0, y1) = pairs(x.double(), style), pairs(y, style)
    y0[:], y1[:] = x0 * cos - x1 * sin, x0 * sin + x1 * cos
    return y
