# SPDX-License-Identifier: MIT
"""LeRoPE: a learned factor on every frequency of a rule, independent of the length; a learned factor on queries."""
from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from .rules import Rule


class LeRoPE(nn.Module):
    """inv_freq of a config's rule times exp(alpha), alpha learned, as in Mistral Large 4 (cordage/scaling/lerope.hpp).

        basis = LeRoPE(model.config, {"rope_type": "yarn", "factor": 4.0})
        patch = apply_to(model, basis)
        ...
        save_lerope(model.config, basis, 32768, "extended")      # or save_longrope, for models without an alpha

    Args:
        config: of a transformers model; its rule, which must not depend on the length, is the basis at alpha 0
        scaling: None, or a rope dictionary that replaces the config's, as in a config.json
        alpha: initial values [pairs], such as `rotary_emb.alpha` of the model; None: zeros
        layer_type: of the layers, if there are several types; None: "full_attention", or "rope" of Mistral Large 4
        t_max: the largest t for `save_longrope`; alpha does not depend on t

    The parameter `alpha` is [pairs] float32. Raises ValueError naming the argument.
    """

    def __init__(self, config, scaling: Mapping | None = None, *, alpha: Tensor | None = None, layer_type: str | None = None,
                 t_max: float = math.inf) -> None:
        super().__init__()
        self.rule = Rule(config.get_text_config(), layer_type, scaling)
        if scaling is not None:
            self.rule.refuse_new_warnings("LeRoPE", Rule(config.get_text_config(), layer_type)["warnings"])
        if self.rule["depends_on_length"]:
            raise ValueError(f"LeRoPE: rope_type {self.rule['rope_type']!r} must be one whose basis is the same at every "
                             "length")
        self.rotary_dim, self.theta_base = self.rule["rotary_dim"], self.rule["theta_base"]
        self.original_length, self.t_max = self.rule["original_length"], float(t_max)
        pairs = self.rotary_dim // 2
        if alpha is not None and (alpha.shape != (pairs,) or not bool(alpha.isfinite().all())):
            raise ValueError(f"LeRoPE: alpha {list(alpha.shape)} must be [{pairs}] finite numbers")
        self.of_config, self.attention_factor = self.rule.basis(torch.zeros((), dtype=torch.int64, device="cpu"))
        self.alpha = nn.Parameter(torch.zeros(pairs) if alpha is None else alpha.detach().clone().float().cpu())
        self._held_t: float | None = None

    def forward(self, t: float | Tensor = 1.0) -> Tensor:
        """inv_freq, float64 on the CPU: [pairs], independent of t."""
        return self.basis(t)[0]

    def basis(self, t: float | Tensor = 1.0) -> tuple[Tensor, Tensor]:
        """inv_freq as from forward, and the rule's attention factor, [] float64."""
        return self.of_config * self.alpha.to("cpu", torch.float64).exp(), self.attention_factor

    def t_of(self, length: Tensor) -> Tensor:
        """The ratio t for a sequence of `length` tokens, [] float64. Only a temperature over this basis depends on t."""
        if self._held_t is not None:
            return torch.full((), self._held_t, dtype=torch.float64, device="cpu")
        return (length.to(torch.float64) / self.original_length).clamp(1.0, self.t_max)

    @contextmanager
    def held_at(self, t: float):
        """As CLEX.held_at; does not change the basis."""
        if not 1.0 <= t <= self.t_max:
            raise ValueError(f"LeRoPE.held_at: t {t} must be in [1, t_max = {self.t_max}]")
        before, self._held_t = self._held_t, float(t)
        try:
            yield self
        finally:
            self._held_t = before

    def extra_repr(self) -> str:
        return f"rope_type={self.rule['rope_type']}, rotary_dim={self.rotary_dim}"


def scale_queries(q: Tensor, *, scale: Tensor, bias: Tensor, position_ids: Tensor, heads_first: bool = True) -> Tensor:
    """q times scale_h ln(p + 1) + bias_h on all lanes of each head h at position p (cordage/models/head_temperatures.hpp).

        q = scale_queries(q, scale=layer.scale, bias=layer.bias, position_ids=ids)

    Args:
        q: [batch, heads, tokens, head_dim], of any floating type, before or after its rotation
        scale, bias: [heads], of any floating type
        position_ids: [tokens] or [batch, tokens], >= 0, which is checked on a CPU and outside of torch.compile
        heads_first: False for q of [batch, tokens, heads, head_dim]

    The factor is computed in float64, the product in float32, or float64 for such q. Gradients flow to q, scale, bias and
    (floating) position_ids. Raises ValueError naming the argument.
    """
    layout = "[batch, heads, tokens, head_dim]" if heads_first else "[batch, tokens, heads, head_dim]"
    if q.dim() != 4 or not q.is_floating_point():
        raise ValueError(f"scale_queries: q {q.dtype} {list(q.shape)} must be floating {layout}")
    batch, heads, tokens, _ = q.shape if heads_first else q.transpose(1, 2).shape
    for name, one in (("scale", scale), ("bias", bias)):
        if one.shape != (heads,):
            raise ValueError(f"scale_queries: {name} {list(one.shape)} must be [{heads}], one number for each head of q")
    if position_ids.shape not in ((tokens,), (1, tokens), (batch, tokens)):
        raise ValueError(f"scale_queries: position_ids {list(position_ids.shape)} must be [{tokens}] or [{batch}, {tokens}]")
    if q.device.type == "cpu" and not torch.compiler.is_compiling() and not bool((position_ids >= 0).all()):
        raise ValueError("scale_queries: position_ids must be >= 0")
    log_position = position_ids.to(torch.float64).log1p().unsqueeze(-1)  # [batch or none, tokens, 1]
    factor = scale.to(torch.float64) * log_position + bias.to(torch.float64)
    if heads_first:
        factor = factor.transpose(-1, -2)
    compute = torch.promote_types(q.dtype, torch.float32)
    return (q.to(compute) * factor.unsqueeze(-1).to(compute)).to(q.dtype)
