# SPDX-License-Identifier: MIT
"""Base class of bases that modify another basis, and the frequencies that all of them scale."""
from __future__ import annotations

import torch
from torch import Tensor, nn


def unscaled_inv_freq(basis: nn.Module) -> Tensor:
    """RoPE's own frequencies, theta_base^(-2i/rotary_dim), radians per position: [pairs] float64."""
    return basis.theta_base**(-torch.arange(0, basis.rotary_dim, 2, dtype=torch.float64, device="cpu") / basis.rotary_dim)


class OverBasis(nn.Module):
    """A LearnedBasis computed from another one at the same t. A subclass defines basis(t), and `attribute`, the name under
    which it keeps the other basis."""

    attribute: str

    def __init__(self, other: nn.Module) -> None:
        super().__init__()
        setattr(self, self.attribute, other)
        for name in ("rotary_dim", "theta_base", "original_length", "t_max"):
            setattr(self, name, getattr(other, name))

    def forward(self, t: float | Tensor) -> Tensor:
        """inv_freq, float64 on the CPU: [pairs] for a number or a tensor [], [ts, pairs] for a tensor [ts]."""
        return self.basis(t)[0]

    def t_of(self, length: Tensor) -> Tensor:
        """The ratio t for a sequence of `length` tokens, [] float64, from the other basis."""
        return getattr(self, self.attribute).t_of(length)

    def held_at(self, t: float):
        """A context in which a patched model uses t for every length."""
        return getattr(self, self.attribute).held_at(t)
