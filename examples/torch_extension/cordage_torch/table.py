# SPDX-License-Identifier: MIT
"""A basis learned as parameters: log alpha of every pair at a few length ratios, over the prior of a CLEX."""
from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from .clex import CLEX
from .over_basis import OverBasis, unscaled_inv_freq


class LearnedTable(OverBasis):
    """log alpha_i(t) = log alpha_prior,i(t) + s_i offset_i(t), with a parameter for each pair and knot instead of an ODE.

        prior = CLEX.for_config(model.config, field="log_length", prior=("by_parts", 0.5, 4.0))
        patch = apply_to(model, LearnedTable(prior))

    offset_i is 0 at t = 1, linear in ln t between knots and constant beyond the last; s_i = 1/(1 + theta_i L) is the gate of
    CLEX in log time, with which Adam's equal steps do not move fast pairs too far (cordage/scaling/learned_table.hpp).

    Args:
        prior: the basis at offset 0: that of this CLEX, whose weights are fixed; its t_of gives the ratio of a length
        knots: increasing ratios > 1; None: 2, 4, 8 … below the prior's t_max, and t_max

    The parameter `offsets` is [knots, pairs]. Raises ValueError or TypeError naming the argument.
    """

    attribute = "prior"

    def __init__(self, prior: CLEX, knots: Sequence[float] | None = None) -> None:
        if not isinstance(prior, CLEX):
            raise TypeError(f"LearnedTable: prior of type {type(prior).__name__} must be a CLEX; a temperature goes over the table, "
                            "Tempered(LearnedTable(clex))")
        if knots is None:
            doublings = (2.0**k for k in range(1, 64))
            knots = [t for t in doublings if t < prior.t_max] + [prior.t_max]
        if not knots or not all(low < high for low, high in zip([1.0, *knots], knots)):
            raise ValueError(f"LearnedTable: knots {list(knots)} must be one or more increasing ratios > 1")
        super().__init__(prior.requires_grad_(False))
        # Neither is a buffer: model.half() would convert it.
        self.log_knots = torch.tensor([1.0, *knots], dtype=torch.float64, device="cpu").log()
        self.gate = 1.0 / (1.0 + unscaled_inv_freq(prior) * prior.original_length)  # [pairs]
        self.offsets = nn.Parameter(torch.zeros(len(knots), prior.rotary_dim // 2))

    def basis(self, t: float | Tensor) -> tuple[Tensor, Tensor]:
        """inv_freq as from forward, and the prior's attention factor at t, float64 in t's shape (no gradient)."""
        inv_freq, factor = self.prior.basis(t)
        log_t = torch.as_tensor(t, dtype=torch.float64, device="cpu").detach().log()
        upper = torch.searchsorted(self.log_knots, log_t, right=True).clamp(max=len(self.log_knots) - 1)
        below, above = self.log_knots.take(upper - 1), self.log_knots.take(upper)
        share = ((log_t - below) / (above - below)).clamp(max=1.0)
        offsets = self.gate * self.offsets.to("cpu", torch.float64)
        offsets = torch.cat([torch.zeros_like(offsets[:1]), offsets])
        # By embedding, as torch.compile makes a number of the index of `offsets[upper]`.
        offset = torch.lerp(embedding(upper - 1, offsets), embedding(upper, offsets), share.unsqueeze(-1))
        return inv_freq * offset.exp(), factor

    def extra_repr(self) -> str:
        return f"knots={[round(t, 6) for t in self.log_knots[1:].exp().tolist()]}"
