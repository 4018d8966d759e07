# SPDX-License-Identifier: MIT
"""Bases as functions of the length ratio t: CLEX's neural ODE, and a table."""
from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._ffi import call
from .rotation import inv_freq


class ClexSettings(NamedTuple):
    """The settings of a CLEX, without its weights. Hashable, so that it can be a static argument.

        theta_base: the 10000 of RoPE
        original_length: tokens that the base model was trained on; t = length / original_length
        t_max: the largest t that can be evaluated
        field: "paper" (eq. 12-14), "log_length" (in ln t; fast pairs change less, and a step of Adam moves log alpha by ln t
            times what it moves a learned_table's) or "released" (the authors' code)
        activation: "silu" or "tanh"; the released code has "tanh"
        prior, prior_numbers: the result for W_down = 0: "ntk_aware", "linear", "yarn" (beta_fast, beta_slow) or "by_parts"
            (rotations_low, rotations_high)
        tolerance: of the adaptive solver, in log inv_freq
        step_size: if > 0, fixed steps of this size instead; 0.01 in the released code
    """
    original_length: float
    theta_base: float = 10000.0
    t_max: float = 16.0
    field: str = "paper"
    activation: str = "silu"
    prior: str = "ntk_aware"
    prior_numbers: tuple[float, ...] = ()
    tolerance: float = 1e-10
    step_size: float = 0.0

    def attributes(self, dtype):
        """For the handlers. dtype: of t, in which t_max may be larger than it is here."""
        numbers = {name: np.float64(getattr(self, name)) for name in
                   ("theta_base", "original_length", "t_max", "tolerance", "step_size")}
        numbers["t_max"] = max(numbers["t_max"], np.float64(numbers["t_max"].astype(dtype)))
        return numbers | {"field": self.field, "activation": self.activation, "prior": self.prior,
                          "prior_numbers": np.array(self.prior_numbers, np.float64)}


def clex(W_up: jax.Array, W_down: jax.Array, t: jax.Array | float,
         settings: ClexSettings) -> tuple[jax.Array, jax.Array]:
    """log_alpha at each t, for rotate(..., inv_freq=inv_freq(2*pairs, settings.theta_base), log_alpha=...), and the
    prior's attention factor at t (without gradient).

    The ODE and its gradient are solved in C++ in double precision, for any type of the weights.

    Args:
        W_up, W_down: [hidden, pairs] and [pairs, hidden], float32 or float64; at first W_down 0, and W_up normal, of standard
            deviation sqrt(pairs) if field is "log_length", else 1 / sqrt(pairs)
        t: [] or [ts], 1 to settings.t_max; gets no gradient

    Returns log_alpha [pairs] or [ts, pairs], and the factors [] or [ts], in the type of the weights.
    """
    if W_up.ndim != 2 or W_down.shape != W_up.shape[::-1] or W_up.dtype != W_down.dtype or \
            W_up.dtype not in (jnp.float32, jnp.float64):
        raise ValueError(f"clex: W_up {W_up.dtype} {W_up.shape} and W_down {W_down.dtype} {W_down.shape} must be "
                         "[hidden, pairs] and [pairs, hidden], both float32 or both float64")
    ts = jnp.asarray(t, W_up.dtype)
    if ts.ndim > 1:
        raise ValueError(f"clex: t {ts.shape} must be a number or [ts]")
    log_alpha, factors = _clex(W_up, W_down, ts.reshape(-1), settings)
    return (log_alpha, factors) if ts.ndim else (log_alpha[0], factors[0])


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _clex(up, down, ts, settings):
    results = jax.ShapeDtypeStruct((ts.shape[0], up.shape[1]), up.dtype), jax.ShapeDtypeStruct(ts.shape, up.dtype)
    return tuple(call("clex", results, up, down, ts, vmap_method="sequential", **settings.attributes(ts.dtype)))


def _clex_forward(up, down, ts, settings):
    return _clex(up, down, ts, settings), (up, down, ts)


def _clex_backward(settings, kept, grads):
    up, down, ts = kept
    results = jax.ShapeDtypeStruct(up.shape, up.dtype), jax.ShapeDtypeStruct(down.shape, down.dtype)
    grad_up, grad_down = call("clex_gradients", results, up, down, ts, grads[0], vmap_method="sequential",
                              **settings.attributes(ts.dtype))
    return grad_up, grad_down, jnp.zeros_like(ts)


_clex.defvjp(_clex_forward, _clex_backward)


def learned_table(offsets: jax.Array, knots: tuple[float, ...], t: jax.Array | float, *, original_length: float,
                  theta_base: float = 10000.0) -> jax.Array:
    """Learned log alpha at t, to be added to a prior's: s_i times a number that is 0 at t = 1, offsets[k, i] at knots[k],
    linear in ln t between knots and constant beyond the last. s_i = 1/(1 + theta_i original_length) is the gate of the field
    "log_length" (cordage/scaling/learned_table.hpp).

    Args:
        offsets: [knots, pairs]
        knots: increasing ratios > 1
        t: a number >= 1, or []; a traced t below 1 is taken as 1
        original_length: tokens that the base model was trained on
        theta_base: the 10000 of RoPE

    Returns [pairs].
    """
    if len(knots) != offsets.shape[0] or not all(a < b for a, b in zip((1.0, *knots), knots)):
        raise ValueError(f"learned_table: knots {knots} must be {offsets.shape[0]} increasing ratios > 1, one for each row "
                         "of offsets")
    if not isinstance(t, jax.core.Tracer) and not np.all(np.asarray(t, np.float64) >= 1.0):
        raise ValueError(f"learned_table: t {t} must be >= 1")
    log_knots = np.log(np.array([1.0, *knots]))
    rows = jnp.concatenate([jnp.zeros_like(offsets[:1]), offsets])
    log_t = jnp.log(jnp.asarray(t, offsets.dtype))
    offset = jax.vmap(lambda column: jnp.interp(log_t, log_knots.astype(offsets.dtype), column), 1)(rows)
    gate = 1.0 / (1.0 + inv_freq(2 * offsets.shape[1], theta_base) * original_length)
    return gate.astype(offsets.dtype) * offset
