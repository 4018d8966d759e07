# SPDX-License-Identifier: MIT
"""The rotation by its formula, in numpy's float64, with angles reduced in exact integers."""
from fractions import Fraction

import numpy as np

TWO_PI = Fraction(884279719003555, 140737488355328) + Fraction("2.449293598294706355e-16")  # 2 pi to 34 digits


def cos_sin(inv_freq, position_ids):
    """[tokens, pairs] of positions [tokens]."""
    angles = np.array([[float(Fraction(float(theta)) * Fraction(float(p)) % TWO_PI) for theta in inv_freq]
                       for p in position_ids])
    return np.cos(angles), np.sin(angles)


def lanes(pairs, pairing):
    first = np.arange(pairs) if pairing == "half_split" else 2 * np.arange(pairs)
    return first, first + (pairs if pairing == "half_split" else 1)


def rotated(x, inv_freq, position_ids, pairing, factor=1.0, direction=1):
    """x [tokens, heads, head_dim]; direction -1: back."""
    cos, sin = (factor * n[:, None] for n in cos_sin(inv_freq, position_ids))
    i, j = lanes(len(inv_freq), pairing)
    y = x.astype(np.float64)
    x0, x1 = y[..., i].copy(), y[..., j].copy()
    y[..., i], y[..., j] = cos * x0 - direction * sin * x1, direction * sin * x0 + cos * x1
    return y
