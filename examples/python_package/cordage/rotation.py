# SPDX-License-Identifier: MIT
"""The rotation of q and k, its inverse, its gradients, and moves of cached keys."""
from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ._library import (PAIRINGS, AngleOptions, BackwardStruct, Executor, GradientsStruct, Handle, HeadsStruct, NormStruct,
                       OperandStruct, ShapeError, call, named, whole)
from .rules import Basis, Rule
from .tensors import OF_POSITIONS, OF_WEIGHTS, Kept


class Angles:
    """The angles of positions, exact up to 2^31, and their cos and sin, computed once for all layers. `new - old` are the
    angles that rotate cached keys of `old` into keys of `new`, for move.

        angles = Angles(rule.at_length(131072), np.arange(4096))

    Args:
        bases: one, or one for each row of the batch, or those that basis_of_token selects
        position_ids: [tokens] or [batch, tokens]; int32, int64, float32 or float64, any sign
        basis_of_token: [tokens] or [batch, tokens] int32: the index of each token's basis
        axis_of_pair: [pairs]: M-RoPE; position_ids are then [axes, tokens] or [axes, batch, tokens]
        rounds_to_float32: angles in float32 as in most other code, error 7e-3 at position 10^5
    """

    def __init__(self, bases: Basis | Sequence[Basis], position_ids: Any, *, basis_of_token: Any = None,
                 axis_of_pair: Any = None, rounds_to_float32: bool = False):
        if isinstance(bases, Rule):
            raise TypeError("Angles: bases of type Rule must be a cordage.Basis: rule.at_length(tokens)")
        if isinstance(position_ids, int):
            raise TypeError(f"Angles: position_ids {position_ids} must have a position for each token: [{position_ids}], or "
                            f"np.arange({position_ids})")
        all_bases = [bases] if isinstance(bases, Basis) else list(bases)
        for i, one in enumerate(all_bases):
            if not isinstance(one, Basis):
                raise TypeError(f"Angles: bases[{i}] of type {type(one).__name__} must be a cordage.Basis")
        kept = Kept("Angles")
        ids = kept.indices("position_ids", position_ids, OF_POSITIONS)
        options = AngleOptions(None, None, int(rounds_to_float32))
        if basis_of_token is not None:
            options.basis_of_token = kept.indices("basis_of_token",
                                                  kept.exactly("basis_of_token", basis_of_token, np.int32))
        self.bases, self.pairs = len(all_bases), all_bases[0].inv_freq.size if all_bases else 0
        if axis_of_pair is not None:
            axes = kept.exactly("axis_of_pair", axis_of_pair, np.uint8)
            if axes.shape != (self.pairs,):
                raise ShapeError(f"Angles: axis_of_pair {axes.shape} must be [pairs], pairs {self.pairs}")
            options.axis_of_pair = axes.ctypes.data
        self.has_axes, self.shape = axis_of_pair is not None, tuple(ids.contents.shape[:ids.contents.ndim])
        handles = (c.c_void_p * len(all_bases))(*(one._handle.value for one in all_bases))
        self._handle = Handle("angles", "angles_create", handles, len(all_bases), ids, c.byref(options))

    def __sub__(self, old: Angles) -> Angles:
        _check_angles("Angles", old)
        difference = Angles.__new__(Angles)
        difference.bases, difference.pairs, difference.has_axes, difference.shape = (self.bases, self.pairs, self.has_axes,
                                                                                     self.shape)
        difference._handle = Handle("angles", "angles_difference", self._handle.value, old._handle.value)
        return difference


@dataclass(eq=False)
class RMSNorm:
    """RMSNorm of each head, in the pass that rotates it.

    Args:
        weight: [head_dim], or [heads, head_dim] over all heads; float32, float16, bfloat16, or float64 for float64 heads;
            None: none
        adds_one: the factor is 1 + weight
        is_over_all_heads: one mean for all heads of a token
        is_after_rotation: the norm follows the rotation
        is_rounded_between: round to x's type between norm and rotation
    """
    weight: Any = None
    epsilon: float = 1e-6
    adds_one: bool = False
    is_over_all_heads: bool = False
    is_after_rotation: bool = False
    is_rounded_between: bool = False


@dataclass(eq=False)
class Operand:
    """One array of a call, with options of its own.

    Args:
        x: an array or Heads, which is read
        out: an array or Heads, which is written, with the same tokens and heads; None: a new array; x itself: in place
        norm: for rotate only
        first_lane: first rotated lane of a head; None: the call's
        is_unrotated: v on its way into a cache
    """
    x: Any
    out: Any = None
    norm: RMSNorm | None = None
    first_lane: int | None = None
    is_unrotated: bool = False


class Gradients(NamedTuple):
    """The results of rotate_backward.

    x: the gradient of each array, in its shape and type
    inv_freq: [bases, pairs] float64; None, as the fields below, if y was not given
    position_ids: in the shape of the positions, float64
    attention_factor: [bases] float64
    """
    x: tuple
    inv_freq: np.ndarray | None
    position_ids: np.ndarray | None
    attention_factor: np.ndarray | None


def rotate(*x: Any, angles: Angles, pairing: str, out: Any = None, first_lane: int = 0, threads: int = 1) -> tuple:
    """Rotates the first 2*pairs lanes of every head by the angle of its token and pair; later lanes are copied:

        y0 = m (x0 cos a - x1 sin a),  y1 = m (x0 sin a + x1 cos a)      m the attention factor

        q, k = rotate(q, k, angles=angles, pairing="half_split")
        rotate(q, k, angles=angles, pairing="half_split", out=(q, k))     # in place

    Args:
        x: arrays [tokens, heads, head_dim] or [batch, tokens, heads, head_dim], Heads or Operands, up to 64 of the same
            batch and tokens; float32, float64, float16 or bfloat16, of numpy or anything with __dlpack__ on the CPU
        pairing: which lanes form pairs: "half_split" (i, i + pairs) or "interleaved" (2i, 2i + 1)
        out: destinations, one of these for each x; None: new numpy arrays
        first_lane: first rotated lane of a head
        threads: number of threads, including the calling one

    Returns the outputs, always as a tuple. Arithmetic is in float32 (float64 for float64), rounded once.
    Raises ValueError or ShapeError, before anything is written.
    """
    return _rotate("rotate_forward", "rotate", x, angles, pairing, out, first_lane, threads)


def rotate_inverse(*x: Any, angles: Angles, pairing: str, out: Any = None, first_lane: int = 0, threads: int = 1) -> tuple:
    """Undoes rotate with the same arguments: x = R(-a) y / m."""
    return _rotate("rotate_inverse", "rotate_inverse", x, angles, pairing, out, first_lane, threads)


def move(*keys: Any, angles: Angles, pairing: str, out: Any = None, first_lane: int = 0, threads: int = 1) -> tuple:
    """Rotates cached keys to other positions or another basis, by a difference of angles; in place (out=keys), into other
    slots, or into new arrays.

        move(keys, angles=Angles(basis, new_ids) - Angles(basis, old_ids), pairing="half_split", out=keys)

    Quantised keys that are not rotated keep their bytes.
    """
    return _rotate("rebase", "move", keys, angles, pairing, out, first_lane, threads)


def rotate_backward(*grad_y: Any, angles: Angles, pairing: str, y: Any = None, first_lane: int = 0,
                    threads: int = 1) -> Gradients:
    """grad_x = m R(-a) grad_y, and in the same pass the other gradients; the same bits for any number of threads.

        grads = rotate_backward(grad_q, grad_k, angles=angles, pairing="half_split", y=(rotated_q, rotated_k))

    Args:
        grad_y: the gradient of each result of rotate
        y: the results of rotate, one for each; None: only the gradients of x
    """
    function = "rotate_backward"
    _check_angles(function, angles)
    kept = Kept(function)
    results = None if y is None else _one_for_each(function, "y", y, grad_y)
    grad_x = tuple(_new_like(function, f"grad_y[{i}]", one) for i, one in enumerate(grad_y))
    operands = (BackwardStruct * len(grad_y))()
    for i, operand in enumerate(operands):
        operand.grad_y = kept.tensor(f"grad_y[{i}]", grad_y[i])
        operand.grad_x = kept.tensor(f"grad_x[{i}]", grad_x[i])
        if results is not None:
            operand.y = kept.tensor(f"y[{i}]", results[i])
        operand.first_lane = whole(f"{function}: first_lane", first_lane)
    pointers = None
    if results is not None:
        inv_freq, factor = np.zeros((angles.bases, angles.pairs)), np.zeros(angles.bases)
        axes, *rows, tokens = angles.shape if angles.has_axes else (1, *angles.shape)
        batch = grad_x[0].shape[0] if grad_x and grad_x[0].ndim == 4 else 1
        positions = np.zeros((axes, batch, tokens))
        pointers = c.byref(GradientsStruct(*(n for s in (inv_freq, positions, factor) for n in (s.ctypes.data, s.size))))
    call(function, _executor(function, threads), angles._handle.value, named(function, "pairing", pairing, PAIRINGS),
         pointers, operands, len(operands))
    if results is None:
        return Gradients(grad_x, None, None, None)
    if rows in ([], [1]):  # of all rows
        positions = positions.sum(axis=1)
    return Gradients(grad_x, inv_freq, positions.reshape(angles.shape), factor)


def _rotate(name, function, x, angles, pairing, out, first_lane, threads):
    _check_angles(function, angles)
    kept = Kept(function)
    outs = (None,) * len(x) if out is None else _one_for_each(function, "out", out, x)
    operands, written = (OperandStruct * len(x))(), []
    for i, (struct, one, to) in enumerate(zip(operands, x, outs, strict=True)):
        if not isinstance(one, Operand):
            one = Operand(one)
        if to is not None and one.out is not None:
            raise ValueError(f"{function}: out[{i}] must be None, as the operand has its own")
        to = one.out if to is None else to
        if to is None:
            to = _new_like(function, f"x[{i}]", one.x)
        written.append(to)
        struct.x = kept.heads(f"x[{i}]", one.x)
        struct.y = HeadsStruct() if to is one.x else kept.heads(f"out[{i}]", to)
        struct.norm = _norm(kept, f"x[{i}].norm", one.norm)
        struct.first_lane = whole(f"{function}: first_lane", first_lane if one.first_lane is None else one.first_lane)
        struct.is_unrotated = int(one.is_unrotated)
    call(name, _executor(function, threads), angles._handle.value, named(function, "pairing", pairing, PAIRINGS), operands,
         len(x))
    return tuple(written)


def _one_for_each(function, name, given, x):
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(given) != len(x):
        raise ShapeError(f"{function}: {len(given)} of {name} must be one for each of {len(x)} arrays")
    return given


def _new_like(function, name, x):
    if not isinstance(x, np.ndarray):
        raise TypeError(f"{function}: {name} of type {type(x).__name__} must be an array of numpy, as np.asarray(x, np.float32); "
                        "or give out, where the result goes")
    return np.empty(x.shape, x.dtype)


def _norm(kept, name, norm):
    if norm is None:
        return None
    if not isinstance(norm, RMSNorm):
        raise TypeError(f"{kept.function}: {name} of type {type(norm).__name__} must be cordage.RMSNorm(weight)")
    struct = NormStruct(epsilon=norm.epsilon, adds_one=int(norm.adds_one), is_over_all_heads=int(norm.is_over_all_heads),
                        is_after_rotation=int(norm.is_after_rotation), is_rounded_between=int(norm.is_rounded_between))
    if norm.weight is not None:
        struct.weight = kept.tensor(name + ".weight", norm.weight, kinds=OF_WEIGHTS)
    return c.pointer(kept.keep(struct))


def _executor(function, threads):
    return None if threads == 1 else c.byref(Executor(None, None, whole(f"{function}: threads", threads)))


def _check_angles(function, angles):
    if not isinstance(angles, Angles):
        raise TypeError(f"{function}: angles of type {type(angles).__name__} must be cordage.Angles(basis, position_ids)")
