# SPDX-License-Identifier: MIT
"""CLEX: a basis from a learned ODE over the length ratio t."""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.autograd.forward_ad import unpack_dual

from .rotation import _ops, on_one_device, refuse_second_derivatives
from .rules import Rule

_DEFAULT_ACTIVATION = {"paper": "silu", "log_length": "silu", "released": "tanh"}


class CLEX(nn.Module):
    """Continuous length extrapolation (Chen et al. 2024). forward(t) returns inv_freq at t, with gradients to the weights.

        clex = CLEX(128, original_length=4096)
        inv_freq = clex(4.0)                      # [64] float64; of the prior until the weights have learned

    The ODE is integrated once to t_max; it and its gradient are solved in C++ in double precision, for any type of the
    parameters W_up [hidden, pairs] and W_down [pairs, hidden]. W_down is initially zero.

    Args:
        rotary_dim: rotated lanes of a head, 2*pairs
        original_length: tokens that the base model was trained on; t = length / original_length
        theta_base: the 10000 of RoPE
        t_max: the largest t that can be evaluated
        hidden: width of the network; rotary_dim if None
        field: "paper" (eq. 12-14), "log_length" (in ln t; fast pairs change less, and a step of Adam moves log alpha by ln t
            times what it moves a LearnedTable's, so that one rate is right for both) or "released" (the authors' code)
        activation: "silu" or "tanh"; None: "tanh" for the released field, else "silu"
        prior: the result for W_down = 0: "ntk_aware", "linear", "yarn", "by_parts", or a name with its numbers:
            ("yarn", beta_fast, beta_slow) or ("by_parts", rotations_low, rotations_high)
        tolerance: of the adaptive solver, in log inv_freq
        step_size: if > 0, fixed steps of this size instead; None: 0.01 for the released field, else 0
        cached_t: the ratios used for lengths (`t_of`): the nearest upper bound, as in the paper; None: the exact ratio

    Raises ValueError naming the argument (for settings of the solver when it first solves).
    """

    def __init__(self, rotary_dim: int, *, original_length: float, theta_base: float = 10000.0, t_max: float = 16.0,
                 hidden: int | None = None, field: str = "paper", activation: str | None = None,
                 prior: str | Sequence[str | float] = "ntk_aware", tolerance: float = 1e-10,
                 step_size: float | None = None, cached_t: Sequence[float] | None = None) -> None:
        super().__init__()
        if rotary_dim < 2 or rotary_dim % 2:
            raise ValueError(f"CLEX: rotary_dim {rotary_dim} must be even and >= 2")
        if hidden is not None and hidden < 1:
            raise ValueError(f"CLEX: hidden {hidden} must be >= 1")
        if field not in _DEFAULT_ACTIVATION:
            raise ValueError(f"CLEX: field {field!r} must be one of {', '.join(map(repr, _DEFAULT_ACTIVATION))}" + (
                "; 'log_length' is 'log_time' in other units: docs/upgrading.md has the factors of the weights"
                if field == "log_time" else ""))
        if cached_t is not None and (not cached_t or not all(1 <= t <= t_max for t in cached_t)):
            raise ValueError(f"CLEX: cached_t {list(cached_t)} must be one or more ratios in [1, t_max = {t_max}]")
        self.rotary_dim, self.original_length, self.t_max = rotary_dim, float(original_length), float(t_max)
        self.theta_base, self.field = float(theta_base), field
        self.activation = activation or _DEFAULT_ACTIVATION[field]
        self.prior, *self.prior_numbers = [prior] if isinstance(prior, str) else prior or [""]
        self.tolerance = float(tolerance)
        self.step_size = float((0.01 if field == "released" else 0.0) if step_size is None else step_size)
        pairs, hidden = rotary_dim // 2, hidden or rotary_dim
        self.W_up = nn.Parameter(torch.randn(hidden, pairs) * pairs ** (0.5 if field == "log_length" else -0.5))
        self.W_down = nn.Parameter(torch.zeros(pairs, hidden))
        # Not a buffer, so that model.half() does not convert it.
        self.cached_t = torch.tensor(sorted(cached_t), dtype=torch.float64, device="cpu") if cached_t is not None else None
        self._held_t: float | None = None
        with torch.no_grad():
            self(1.0)  # solves once, so that an invalid setting raises here and not during training

    @classmethod
    def for_config(cls, config, layer_type: str | None = None, **settings) -> CLEX:
        """A CLEX that fits a model: rotary_dim, theta_base and original_length from its transformers config, for the layers of
        this type if there are several (None: "full_attention", or "rope" of Mistral Large 4); other arguments as above."""
        rule = Rule(config.get_text_config(), layer_type)
        own = {name: rule[name] for name in ("rotary_dim", "theta_base", "original_length")}
        return cls(**(own | settings))

    def forward(self, t: float | Tensor) -> Tensor:
        """inv_freq, float64 on the CPU: [pairs] for a number or a tensor [], [ts, pairs] for a tensor [ts]."""
        return self.basis(t)[0]

    def basis(self, t: float | Tensor) -> tuple[Tensor, Tensor]:
        """inv_freq as from forward, and the prior's attention factor at t, float64 in t's shape (no gradient)."""
        ts = t.detach() if isinstance(t, Tensor) else torch.full((), t, dtype=torch.float64, device="cpu")
        if not torch.compiler.is_compiling() and any(unpack_dual(one).tangent is not None for one in (self.W_up, self.W_down)):
            raise NotImplementedError("CLEX: forward-mode derivatives (torch.func.jvp, dual tensors) are not supported; use reverse "
                                      "mode")
        inv_freq, factor = _ops.clex(self.W_up, self.W_down, ts, self.theta_base, self.original_length, self.t_max,
                                     self.field, self.activation, self.prior, [float(n) for n in self.prior_numbers],
                                     self.tolerance, self.step_size)
        return inv_freq.reshape(*ts.shape, -1), factor.detach().reshape(ts.shape)

    def t_of(self, length: Tensor) -> Tensor:
        """The ratio t for a sequence of `length` tokens, [] float64: 1 up to original_length, at most t_max."""
        if self._held_t is not None:
            return torch.full((), self._held_t, dtype=torch.float64, device="cpu")
        ratio = (length.to(torch.float64) / self.original_length).clamp(1.0, self.t_max)
        if self.cached_t is None:
            return ratio
        above = torch.searchsorted(self.cached_t.to(ratio.device), ratio).clamp(max=len(self.cached_t) - 1)
        return self.cached_t.to(ratio.device)[above]

    @contextmanager
    def held_at(self, t: float):
        """Within this context a patched model uses t for every length: a t drawn for training, or the t of a whole generation,
        so that all cached keys have one basis."""
        if not 1.0 <= t <= self.t_max:
            raise ValueError(f"CLEX.held_at: t {t} must be in [1, t_max = {self.t_max}]")
        before, self._held_t = self._held_t, float(t)
        try:
            yield self
        finally:
            self._held_t = before

    def extra_repr(self) -> str:
        return (f"rotary_dim={self.rotary_dim}, original_length={self.original_length:g}, t_max={self.t_max:g}, "
                f"field={self.field}, activation={self.activation}, prior={self.prior}, hidden={self.W_up.shape[0]}")


@torch.library.register_fake("cordage::clex")
def _(up, down, t, *settings):
    on_one_device("CLEX", up, {}, {"W_down": down, "t": t})
    basis = up.new_empty(t.numel(), up.shape[1], dtype=torch.float64, device="meta" if up.is_meta else "cpu")
    return basis, basis.new_empty(t.numel())


@torch.library.register_fake("cordage::clex_backward")
def _(grad_inv_freq, up, down, t, *settings):
    on_one_device("CLEX", up, {}, {"grad_inv_freq": grad_inv_freq, "W_down": down, "t": t})
    return torch.empty_like(up, memory_format=torch.contiguous_format), \
        torch.empty_like(down, memory_format=torch.contiguous_format)


def _keep_solution(ctx, inputs, output):
    up, down, t, *ctx.settings = inputs
    ctx.save_for_backward(up, down, t)


def _solution_backward(ctx, grad_inv_freq, grad_factor):
    grads = _ops.clex_backward(grad_inv_freq, *ctx.saved_tensors, *ctx.settings)
    return *grads, None, *(None for _ in ctx.settings)


torch.library.register_autograd("cordage::clex", _solution_backward, setup_context=_keep_solution)
refuse_second_derivatives("clex_backward", "CLEX")
