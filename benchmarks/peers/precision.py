# SPDX-License-Identifier: MIT
"""Errors of each implementation's angles at far positions, measured through its own rotation against float64."""
import contextlib

import torch
from case import HALF_SPLIT, INTERLEAVED, Case, pairs

FAR = (1_000, 100_000, 1_000_000, 10_000_000)
TOKENS = 1000


def errors(makers):
    """{name: [error before each of FAR, of TOKENS positions]}. Rotating (1, 0) by a gives (cos a, sin a)."""
    found = {}
    for far in FAR:
        for style in (HALF_SPLIT, INTERLEAVED):
            case = Case("precision", torch.arange(far - TOKENS, far), 1, 1, "fp32")
            for x in (case.q, case.k):
                first, second = pairs(x, style)
                first[:], second[:] = 1.0, 0.0
            for make in makers:
                with contextlib.suppress(NotImplementedError), make(case) as entry:
                    if entry.style == style:
                        found.setdefault(entry.name, []).append(case.error(style, *entry.result()))
    return found
