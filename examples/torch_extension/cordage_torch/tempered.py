# SPDX-License-Identifier: MIT
"""A temperature of attention scores as a function of t, learned with a basis."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .over_basis import OverBasis
from .rules import Rule


class Tempered(OverBasis):
    """A basis with a temperature: attention scores times tau(t) = (1 + slope ln t)^power, exactly 1 at t = 1
    (cordage/scaling/tempered.hpp).

        basis = Tempered(CLEX.for_config(model.config))               # tau = 1 at every t, and learns
        basis = Tempered(CLEX.for_config(model.config), power=1.0)    # log scaling, max{1, log_L n} at n = t L tokens
        patch = apply_to(model, basis)

    cos and sin are multiplied by sqrt(tau), in addition to the attention factor of the basis. This does not act on lanes that
    are not rotated, so a model with such lanes is rejected; there multiply queries or the softmax scale by `temperature(t)`.

    Args:
        basis: a CLEX, a LearnedTable, a LeRoPE or another LearnedBasis with an original_length and a t_max
        slope: > 0; None: 1 / ln original_length, that of log scaling (YaRN: slope 0.1, power 2)
        power: initial value; 0: tau is 1

    The parameters are `log_slope` and `power`, [] float32, and those of the basis. Raises ValueError naming the argument.
    """

    attribute = "of_basis"

    def __init__(self, basis: nn.Module, *, slope: float | None = None, power: float = 0.0) -> None:
        if slope is None and not basis.original_length > 1:
            raise ValueError(f"Tempered: slope None is 1 / ln original_length, so that the basis must have original_length > 1, not "
                             f"{basis.original_length:g}; give a slope")
        slope = 1.0 / math.log(basis.original_length) if slope is None else float(slope)
        if not 0.0 < slope < math.inf:
            raise ValueError(f"Tempered: slope {slope} must be finite and > 0")
        if not math.isfinite(power):
            raise ValueError(f"Tempered: power {power} must be finite")
        super().__init__(basis)
        self.log_slope = nn.Parameter(torch.tensor(math.log(slope)))
        self.power = nn.Parameter(torch.tensor(float(power)))

    def temperature(self, t: float | Tensor) -> Tensor:
        """tau(t), float64 on the CPU, of t's shape."""
        log_t = torch.as_tensor(t, dtype=torch.float64, device="cpu").detach().log()
        slope, power = self.log_slope.to("cpu", torch.float64).exp(), self.power.to("cpu", torch.float64)
        return (power * (slope * log_t).log1p()).exp()

    def basis(self, t: float | Tensor) -> tuple[Tensor, Tensor]:
        """inv_freq, and the attention factor times sqrt(tau(t)), float64 of t's shape; both with gradients."""
        inv_freq, factor = self.of_basis.basis(t)
        return inv_freq, factor * self.temperature(t).sqrt()

    def extra_repr(self) -> str:
        return f"slope={math.exp(self.log_slope.item()):g}, power={self.power.item():g}"


def check_whole_heads(who: str, basis, rule: Rule) -> None:
    """Rejects a temperature on cos and sin for a model with lanes that are not rotated."""
    if isinstance(basis, Tempered) and not rule.rotates_whole_heads:
        raise ValueError(f"{who}: a Tempered basis must be of a model whose heads are rotated as a whole, not {rule['rotary_dim']} of "
                         "their lanes: a factor on cos and sin misses the others; use the basis without Tempered, or multiply "
                         "queries by its temperature(t)")
