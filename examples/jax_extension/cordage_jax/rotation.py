# SPDX-License-Identifier: MIT
"""The rotation of q and k, and moves of cached keys, as functions that JAX transforms."""
from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from ._ffi import call


class _Rule(NamedTuple):
    """The static arguments of a traced function. Hashable."""
    inv_freq: tuple[float, ...]
    attention_factor: float
    is_interleaved: bool

    def attributes(self):
        return {"inv_freq": np.array(self.inv_freq, np.float64), "attention_factor": np.float64(self.attention_factor),
                "is_interleaved": self.is_interleaved}


def inv_freq(rotary_dim: int, theta_base: float = 10000.0) -> np.ndarray:
    """RoPE's unscaled frequencies, theta_base^(-2i/rotary_dim), radians per position: [rotary_dim/2] numpy float64."""
    if rotary_dim < 2 or rotary_dim % 2:
        raise ValueError(f"inv_freq: rotary_dim {rotary_dim} must be even and >= 2")
    return theta_base ** -(np.arange(rotary_dim // 2) / (rotary_dim // 2))


def rotate(*x: jax.Array, position_ids: jax.Array, inv_freq: np.ndarray, log_alpha: jax.Array | None = None,
           attention_factor: float = 1.0, interleaved: bool = False) -> tuple[jax.Array, ...]:
    """Rotates the first 2*pairs lanes of every head by position * inv_freq[pair] * exp(log_alpha[pair]); later lanes are
    copied.

        q, k = rotate(q, k, position_ids=ids, inv_freq=inv_freq(128))

    Angles are reduced exactly: correct to rounding at every position, with or without jax_enable_x64. In bfloat16 and
    float16 the arithmetic is float32. If x is donated or no longer used, it is rotated in place.

    Args:
        x: q and k, or any number of arrays [batch, tokens, heads, head_dim]; float32, float64, bfloat16 or float16
        position_ids: [tokens] or [batch, tokens]; int32, int64, float32 or float64
        inv_freq: [pairs] numpy float64, radians per position: constants of the traced function
        log_alpha: [pairs] or [batch, pairs] float32 or float64, learned; None: 0
        attention_factor: multiplies cos and sin; a number
        interleaved: lanes 2i and 2i+1 form a pair, instead of i and i + pairs

    Gradients flow to x, log_alpha and floating position_ids. There are no second derivatives, and no forward mode.

    Raises ValueError naming the argument.
    """
    rule = _checked_rule("rotate", inv_freq, attention_factor, interleaved)
    return tuple(_rotate_one(f"x[{i}]", one, position_ids, rule, log_alpha) for i, one in enumerate(x))


def move(keys: jax.Array, *, old_positions: jax.Array, new_positions: jax.Array, inv_freq: np.ndarray,
         new_inv_freq: np.ndarray | None = None, attention_factor: float = 1.0,
         new_attention_factor: float | None = None, interleaved: bool = False) -> jax.Array:
    """Changes cached keys, rotated at old_positions by inv_freq, into those rotated at new_positions by new_inv_freq: one
    rotation by the exact difference of the angles.

    Args:
        keys: [batch, tokens, heads, head_dim]; rotated in place if donated
        old_positions, new_positions: [tokens] or [batch, tokens]; both integers or both floating
        inv_freq, attention_factor: those by which keys were rotated
        new_inv_freq, new_attention_factor: None: unchanged

    Raises ValueError naming the argument.
    """
    before = _checked_rule("move", inv_freq, attention_factor, interleaved)
    after = _checked_rule("move", inv_freq if new_inv_freq is None else new_inv_freq,
                          attention_factor if new_attention_factor is None else new_attention_factor, interleaved, "new_")
    if len(after.inv_freq) != len(before.inv_freq):
        raise ValueError(f"move: new_inv_freq of {len(after.inv_freq)} pairs must have as many as inv_freq, "
                         f"{len(before.inv_freq)}")
    _check_heads("move", "keys", keys, before)
    old, new = (_rows_of_positions("move", name, ids, keys) for name, ids in
                (("old_positions", old_positions), ("new_positions", new_positions)))
    if jnp.issubdtype(old.dtype, jnp.floating) != jnp.issubdtype(new.dtype, jnp.floating):
        raise ValueError(f"move: new_positions {new.dtype} must be integers where old_positions are, {old.dtype}")
    return _move(before, after)(keys, old, new)


# Arguments --------------------------------------------------------------------------------------------------------


def _checked_rule(function, inv_freq, attention_factor, interleaved, prefix="") -> _Rule:
    """prefix: of the arguments' names, in messages."""
    if isinstance(inv_freq, jax.core.Tracer):
        raise ValueError(f"{function}: {prefix}inv_freq must be numbers that are known when the function is traced; what is "
                         "learned is log_alpha")
    values = np.asarray(inv_freq)
    if values.dtype.kind != "i" and values.dtype != np.float64:
        raise ValueError(f"{function}: {prefix}inv_freq {values.dtype} must be float64; compute it in float64, as "
                         "inv_freq(rotary_dim) does, or use the rounded frequencies by .astype(np.float64)")
    values = values.astype(np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"{function}: {prefix}inv_freq {values.shape} must be finite numbers [rotary_dim/2]")
    if not 2.0**-60 <= abs(float(attention_factor)) <= 2.0**60:
        raise ValueError(f"{function}: {prefix}attention_factor {attention_factor} must be 2^-60 to 2^60 in magnitude")
    return _Rule(tuple(values.tolist()), float(attention_factor), bool(interleaved))


def _check_heads(function, name, x, rule):
    if x.ndim != 4:
        raise ValueError(f"{function}: {name} {x.shape} must be [batch, tokens, heads, head_dim]")
    if x.dtype not in (jnp.float32, jnp.float64, jnp.bfloat16, jnp.float16):
        raise ValueError(f"{function}: {name} {x.dtype} must be float32, float64, bfloat16 or float16")
    if 2 * len(rule.inv_freq) > x.shape[3]:
        raise ValueError(f"{function}: inv_freq of {len(rule.inv_freq)} pairs must have at most head_dim/2 = "
                         f"{x.shape[3] // 2}")


def _rows_of_positions(function, name, ids, x):
    ids = jnp.asarray(ids)
    if ids.dtype not in (jnp.int32, jnp.int64, jnp.float32, jnp.float64):
        raise ValueError(f"{function}: {name} {ids.dtype} must be int32, int64, float32 or float64")
    if ids.shape not in ((x.shape[1],), (1, x.shape[1]), x.shape[:2]):
        raise ValueError(f"{function}: {name} {ids.shape} must be [tokens] or [batch, tokens] of {x.shape}")
    return jnp.broadcast_to(ids, x.shape[:2])


def _rotate_one(name, x, position_ids, rule, log_alpha):
    _check_heads("rotate", name, x, rule)
    ids = _rows_of_positions("rotate", "position_ids", position_ids, x)
    pairs = len(rule.inv_freq)
    if log_alpha is None:
        log_alpha = np.zeros((1, pairs), np.float32)
    elif log_alpha.shape not in ((pairs,), (1, pairs), (x.shape[0], pairs)):
        raise ValueError(f"rotate: log_alpha {log_alpha.shape} must be [pairs] or [batch, pairs], pairs {pairs}")
    elif log_alpha.dtype not in (jnp.float32, jnp.float64):
        raise ValueError(f"rotate: log_alpha {log_alpha.dtype} must be float32 or float64")
    return _rotate(x, ids, jnp.atleast_2d(log_alpha), rule)


# Calls over rows, [rows, tokens, heads, head_dim]: vmap's batches are further rows, a shard has some of the rows ------------


def _like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _over_rows(function, sharding_rule, sums=()):
    """`function` of arrays whose first axis is rows, under vmap and over sharded arrays.

    sums: for each result the letters of sharding_rule that it is a sum over, where they are sharded.
    """
    partitioned = custom_partitioning(function)
    factors = [operand.split() for operand in sharding_rule.split("->")[0].split(",")]

    def partition(mesh, arg_shapes, result_shape):
        axes_of = {}
        for shape, letters in zip(arg_shapes, factors):
            spec = tuple(shape.sharding.spec) + (None,) * len(letters)
            axes_of |= {letter: axes for letter, axes in zip(letters, spec) if axes is not None}

        def local(*args):
            results = function(*args)
            if not sums:
                return results
            out = []
            for result, letters in zip(results, sums):
                for letter in letters:
                    if letter in axes_of:
                        result = jax.lax.psum(result, axes_of[letter])
                out.append(result)
            return tuple(out)

        def placed(letters):
            return NamedSharding(mesh, PartitionSpec(*(axes_of.get(letter) for letter in letters)))
        results = [placed(result.split()) for result in sharding_rule.split("->")[1].split(",")]
        return (mesh, local, results[0] if len(results) == 1 else tuple(results),
                tuple(placed(letters) for letters in factors))

    whole = sorted({"d", "p"} & set(sharding_rule), key=sharding_rule.index)  # in the order that XLA requires
    partitioned.def_partition(partition, sharding_rule=sharding_rule, need_replication_factors=tuple(whole))

    batched = custom_vmap(partitioned)

    @batched.def_vmap
    def _(size, is_batched, *args):
        rows = args[0].shape[1 if is_batched[0] else 0]

        def fold(arg, has_batch):
            arg = arg if has_batch else jnp.broadcast_to(arg, (size, *arg.shape))
            if arg.shape[1] != rows:  # log_alpha of all rows
                arg = jnp.broadcast_to(arg, (size, rows, *arg.shape[2:]))
            return arg.reshape(size * rows, *arg.shape[2:])

        results = batched(*map(fold, args, is_batched))
        unfolded = jax.tree.map(lambda y: y.reshape(size, rows, *y.shape[1:]), results)
        return unfolded, jax.tree.map(lambda _: True, results)

    return batched


@functools.lru_cache(maxsize=256)
def _turn(rule, is_adjoint, has_row_bases):
    def local(x, ids, log_alpha):
        return call("rotate", _like(x), x, ids, log_alpha, aliases={0: 0}, is_adjoint=is_adjoint, **rule.attributes())
    return _over_rows(local, f"b t h d, b t, {'b' if has_row_bases else 'r'} p -> b t h d")


@functools.lru_cache(maxsize=256)
def _gradients(rule):
    def local(grad_y, y, ids, log_alpha):
        floating = ids.dtype if jnp.issubdtype(ids.dtype, jnp.floating) else jnp.float32
        results = _like(grad_y), _like(log_alpha), jax.ShapeDtypeStruct(ids.shape, floating)
        return tuple(call("rotate_gradients", results, grad_y, y, ids, log_alpha, aliases={0: 0}, **rule.attributes()))
    return _over_rows(local, "b t h d, b t h d, b t, b p -> b t h d, b p, b t", sums=("", "th", "h"))


@functools.lru_cache(maxsize=256)
def _move(before, after):
    def local(keys, old, new):
        return call("move", _like(keys), keys, old, new, aliases={0: 0},
                    from_inv_freq=np.array(before.inv_freq), from_factor=np.float64(before.attention_factor),
                    to_inv_freq=np.array(after.inv_freq), to_factor=np.float64(after.attention_factor),
                    is_interleaved=before.is_interleaved)
    return _over_rows(local, "b t h d, b t, b t -> b t h d")


# Gradients --------------------------------------------------------------------------------------------------------


def _apply(x, ids, log_alpha, rule, is_adjoint=False):
    return _turn(rule, is_adjoint, log_alpha.shape[0] == x.shape[0])(x, ids, log_alpha)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _rotate(x, ids, log_alpha, rule):
    return _apply(x, ids, log_alpha, rule)


def _rotate_forward(x, ids, log_alpha, rule):
    learns = log_alpha.perturbed or (ids.perturbed and jnp.issubdtype(ids.value.dtype, jnp.floating))
    y = _apply(x.value, ids.value, log_alpha.value, rule)
    return y, (y if learns else None, ids.value, log_alpha.value)


def _rotate_backward(rule, kept, grad_y):
    y, ids, log_alpha = kept
    floating = jnp.issubdtype(ids.dtype, jnp.floating)
    none = jnp.zeros(ids.shape, ids.dtype) if floating else np.zeros(ids.shape, jax.dtypes.float0)
    if isinstance(grad_y, SymbolicZero):
        grad_y = jnp.zeros(grad_y.shape, grad_y.dtype)
    if y is None:
        return _apply(grad_y, ids, log_alpha, rule, is_adjoint=True), none, jnp.zeros_like(log_alpha)
    rows = jnp.broadcast_to(log_alpha, (y.shape[0], log_alpha.shape[1]))
    grad_x, grad_rows, grad_ids = _gradients(rule)(grad_y, y, ids, rows)
    grad_log_alpha = grad_rows if rows.shape == log_alpha.shape else grad_rows.sum(0, keepdims=True)
    return grad_x, grad_ids if floating else none, grad_log_alpha


_rotate.defvjp(_rotate_forward, _rotate_backward, symbolic_zeros=True)
