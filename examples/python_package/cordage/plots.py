# SPDX-License-Identifier: MIT
"""Pictures of bases and rules, by matplotlib (pip install cordage[plots])."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .rules import Basis, Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt
    return plt.subplots(layout="constrained")[1]


def wavelengths(bases: Mapping[str, Basis], *, length: float | None = None, axes: Axes | None = None) -> Axes:
    """The wavelength 2 pi / inv_freq of each pair, in positions, a line for each basis; without pairs that are not rotated.

    Args:
        bases: by the names of the lines
        length: drawn as a line, tokens; pairs above it complete no turn
        axes: axes to draw into; None: those of a new figure
    """
    axes = _axes(axes)
    for name, basis in bases.items():
        rotated = basis.inv_freq > 0
        axes.plot(np.flatnonzero(rotated), 2 * np.pi / basis.inv_freq[rotated], label=name)
    if length is not None:
        axes.axhline(length, linestyle="--", color="gray", label=f"{length:g} tokens")
    axes.set(xlabel="pair", ylabel="wavelength, positions", yscale="log")
    axes.legend()
    return axes


def factors(rule: Rule, ratios: Sequence[float] = (1, 2, 4, 8, 16), *, axes: Axes | None = None) -> Axes:
    """The factor alpha that the rule's policy puts on each frequency, a line for each length ratio t.

    Args:
        ratios: each >= 1
        axes: axes to draw into; None: those of a new figure
    """
    axes = _axes(axes)
    plain = rule.theta_base ** (-2 * np.arange(rule.rotary_dim // 2) / rule.rotary_dim)
    for t in ratios:
        axes.plot(rule.at_ratio(t).inv_freq / plain, label=f"t = {t:g}")
    axes.set(xlabel="pair", ylabel="factor on inv_freq")
    axes.legend()
    return axes
