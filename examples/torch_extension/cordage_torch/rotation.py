# SPDX-License-Identifier: MIT
"""The rotation of q and k as differentiable operators for torch.compile."""
from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from . import _operators  # noqa: F401  registers them

_ops = torch.ops.cordage
_rotate, _rotate_normalized, _rotate_by_table = (
    getattr(_ops, name).default for name in ("rotate", "rotate_normalized", "rotate_by_table"))


class RMSNorm:
    """RMSNorm of every head, of all its lanes: x * w / sqrt(mean of x^2 + eps), with the mean in float32 (float64 for
    float64).

        q, k = rotate(q, k, norm=RMSNorm(q_norm.weight, k_norm.weight, eps=1e-6), position_ids=ids, inv_freq=inv_freq)

    Args:
        weights: one for each tensor, [head_dim], or [heads, head_dim] over all heads, of any floating type; or none
        eps: finite, >= 0
        adds_one: the factor is 1 + w, as in Gemma
        over_all_heads: one mean for all heads of a token
        after_rotation: the norm follows the rotation
        rounded_between: the result of the first step, norm or rotation, is rounded to the type of x, as by two calls
    """

    def __init__(self, *weights: Tensor, eps: float = 1e-6, adds_one: bool = False, over_all_heads: bool = False,
                 after_rotation: bool = False, rounded_between: bool = False):
        self.weights = list(weights)
        self.settings = (float(eps), adds_one, over_all_heads, after_rotation, rounded_between)


def rotate(*x: Tensor, position_ids: Tensor, inv_freq: Tensor, attention_factor: float | Tensor = 1.0,
           norm: RMSNorm | None = None, interleaved: bool = False, heads_first: bool = True) -> tuple[Tensor, ...]:
    """Rotates the first 2*pairs lanes of every head by position * inv_freq[pair]; later lanes are copied.

        q, k = rotate(q, k, position_ids=ids, inv_freq=inv_freq)

    Angles are reduced exactly: correct to rounding at every position. In bfloat16 and float16 the arithmetic is float32.

    Args:
        x: q and k, or any number of tensors [batch, heads, tokens, head_dim] of one type, float32, float64, bfloat16 or
            float16 (on a GPU not float64); views are read in place, with any strides whose last is 1
        position_ids: [tokens] or [batch, tokens]; int32, int64, float32 or float64
        inv_freq: [pairs] float64, radians per position; on the CPU, or on the GPU of x
        attention_factor: multiplies cos and sin; a number, or a tensor [] float64, on the CPU or, with inv_freq, on the GPU
        norm: RMSNorm of all tensors, in the same pass
        interleaved: lanes 2i and 2i+1 form a pair, instead of i and i + pairs
        heads_first: False for x of [batch, tokens, heads, head_dim]

    On a GPU neither the call nor its gradient synchronises, except that a gradient to numbers on the CPU is copied there. A
    CUDA graph follows inv_freq on the GPU when it changes, and keeps the values that it has at capture on the CPU. Values on
    a GPU are not checked: an invalid position makes the rotated lanes of its token NaN, an invalid inv_freq or factor all.

    Returns new tensors in x's shapes. Gradients flow to x, and to a norm's weights, inv_freq, attention_factor and (floating)
    position_ids if they require it; all in one pass over the gradient and the result (x, if it was normalized). There are
    no second derivatives.

    Raises ValueError naming the argument.
    """
    if not x:
        raise ValueError("rotate: x must be at least one tensor, such as q, k")
    for i, one in enumerate(x):
        if one.dim() != 4:
            check_heads("rotate", f"x[{i}]", one, heads_first)
    angles = checked_angles("rotate", position_ids, inv_freq, attention_factor)
    if norm is None:
        return tuple(_rotate(x, *angles, interleaved, heads_first))
    check_norm("rotate", norm)
    return tuple(_rotate_normalized(x, norm.weights, *norm.settings, *angles, interleaved, heads_first))


def check_heads(function: str, name: str, x: Tensor, heads_first: bool) -> None:
    if x.dim() != 4:
        layout = "[batch, heads, tokens, head_dim]" if heads_first else "[batch, tokens, heads, head_dim]"
        raise ValueError(f"{function}: {name} {list(x.shape)} must be {layout}")


def check_norm(function: str, norm: RMSNorm) -> None:
    if not isinstance(norm, RMSNorm):
        raise ValueError(f"{function}: norm of type {type(norm).__name__} must be cordage_torch.RMSNorm(q_weight, k_weight)")


def checked_angles(function: str, position_ids: Tensor, inv_freq: Tensor,
                   attention_factor: float | Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The arguments in the form of the operators."""
    if inv_freq.dim() != 1 or inv_freq.dtype != torch.float64:
        raise ValueError(f"{function}: inv_freq {inv_freq.dtype} {list(inv_freq.shape)} must be float64 [rotary_dim/2]")
    if not isinstance(attention_factor, Tensor):
        attention_factor = torch.full((), attention_factor, dtype=torch.float64, device="cpu")
    elif attention_factor.dim() != 0 or attention_factor.dtype != torch.float64:
        raise ValueError(f"{function}: attention_factor {attention_factor.dtype} {list(attention_factor.shape)} must be a "
                         "number or a float64 tensor []")
    return position_ids, inv_freq, attention_factor


def rotate_by_table(*x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False,
                    heads_first: bool = True) -> tuple[Tensor, ...]:
    """Rotates by given cos and sin, with every product and sum rounded as in torch: in float32 and float64 the result has
    the bits of q * cos + rotate_half(q) * sin. In bfloat16 and float16 the arithmetic is float32, rounded once.

    Args:
        x: as for rotate
        cos, sin: [batch or 1, tokens, pairs] in x's type, or float32 if that has 16 bits; on its device; times the attention
            factor; without gradients
    """
    if cos.dim() != 3 or cos.shape != sin.shape:
        raise ValueError(f"rotate_by_table: cos {list(cos.shape)} and sin {list(sin.shape)} must both be "
                         "[batch or 1, tokens, rotary_dim/2]")
    return tuple(_rotate_by_table(x, cos, sin, interleaved, False, heads_first))


def rotate_by_axes(*x: Tensor, position_ids: Tensor, axis_of_pair: Tensor, inv_freq: Tensor, attention_factor: Tensor,
                   interleaved: bool = False, heads_first: bool = True) -> tuple[Tensor, ...]:
    """Rotates each pair by the position of one axis (M-RoPE), by exact angles as a table.

    Args:
        x, inv_freq, attention_factor: as for rotate; inv_freq and the factor get no gradient
        position_ids: [axes, batch or 1, tokens]
        axis_of_pair: [pairs] int64
    """
    of_pair = position_ids[axis_of_pair.to(position_ids.device)].movedim(0, -1)
    angle = of_pair * inv_freq.to(x[0].device)  # float64: right to 1e-9 at position 10^7
    dtype = x[0].dtype if x[0].dtype == torch.float64 else torch.float32
    factor = attention_factor.to(x[0].device)
    return rotate_by_table(*x, cos=(angle.cos() * factor).to(dtype), sin=(angle.sin() * factor).to(dtype),
                           interleaved=interleaved, heads_first=heads_first)


# Fake kernels for torch.compile: shapes and strides ---------------------------------------------------------------


def _new(x: list[Tensor], heads_first: bool) -> list[Tensor]:
    def of(one):  # [batch, tokens, heads, head_dim], as the kernels see it
        return torch.empty_like(one if one.stride(-1) == 1 else one.contiguous())
    return [of(one.transpose(1, 2)).transpose(1, 2) if heads_first else of(one) for one in x]


def _behind(inputs: tuple[Tensor, ...], wanted: list[bool]) -> list[Tensor]:
    return [torch.empty(like.shape if is_wanted else (0,), dtype=like.dtype, device=like.device)
            for like, is_wanted in zip(inputs, wanted, strict=True)]


def named(name: str, tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    return {f"{name}[{i}]": one for i, one in enumerate(tensors)}


def on_one_device(function: str, like: Tensor, tensors: dict[str, Tensor | None], numbers: dict[str, Tensor]) -> None:
    """Checks devices: if one argument is on meta, torch runs the fake kernel in place of the one that checks them.

    numbers: may be on the CPU or on that of `like`
    """
    for name, one in tensors.items():
        if one is not None and one.device != like.device:
            raise ValueError(f"{function}: {name} on {one.device} must be on {like.device}")
    for name, one in numbers.items():
        if one.is_meta and not like.is_meta:
            raise ValueError(f"{function}: {name} on meta must be on cpu")


@torch.library.register_fake("cordage::rotate")
def _(x, position_ids, inv_freq, attention_factor, interleaved, heads_first=False):
    on_one_device("rotate", x[0], named("x", x) | {"position_ids": position_ids},
                  {"inv_freq": inv_freq, "attention_factor": attention_factor})
    return _new(x, heads_first)


@torch.library.register_fake("cordage::rotate_backward")
def _(grad_y, y, position_ids, inv_freq, attention_factor, interleaved, wanted, heads_first=False):
    on_one_device("rotate", grad_y[0], named("grad_y", grad_y) | named("y", y) | {"position_ids": position_ids},
                  {"inv_freq": inv_freq, "attention_factor": attention_factor})
    return _new(grad_y, heads_first), *_behind((position_ids, inv_freq, attention_factor), wanted)


@torch.library.register_fake("cordage::rotate_normalized")
def _(x, weights, eps, adds_one, over_all_heads, after_rotation, rounded_between, position_ids, inv_freq, attention_factor,
      interleaved, heads_first=False):
    on_one_device("rotate", x[0], named("x", x) | named("weights", weights) | {"position_ids": position_ids},
                  {"inv_freq": inv_freq, "attention_factor": attention_factor})
    return _new(x, heads_first)


@torch.library.register_fake("cordage::rotate_normalized_backward")
def _(grad_y, x, weights, eps, adds_one, over_all_heads, after_rotation, rounded_between, position_ids, inv_freq,
      attention_factor, interleaved, wanted, wants_weights, heads_first=False):
    on_one_device("rotate", grad_y[0], named("grad_y", grad_y) | named("x", x) | named("weights", weights)
                  | {"position_ids": position_ids}, {"inv_freq": inv_freq, "attention_factor": attention_factor})
    of_weights = [one.new_empty(one.shape) for one in weights] if wants_weights else []
    return _new(grad_y, heads_first), of_weights, *_behind((position_ids, inv_freq, attention_factor), wanted)


@torch.library.register_fake("cordage::rotate_by_table")
def _(x, cos, sin, interleaved, adjoint, heads_first=False):
    on_one_device("rotate_by_table", x[0], named("x", x) | {"cos": cos, "sin": sin}, {})
    return _new(x, heads_first)


# Gradients are in csrc/autograd.cpp; there are no second ones -----------------------------------------------------


def refuse_second_derivatives(operator: str, function: str) -> None:
    def backward(ctx, *grads):
        raise RuntimeError(f"cordage: {function} has no second derivatives; backward must not be asked for create_graph=True")
    torch.library.register_autograd(f"cordage::{operator}", backward)


for _name in ("rotate_backward", "rotate_normalized_backward"):
    refuse_second_derivatives(_name, "rotate")
