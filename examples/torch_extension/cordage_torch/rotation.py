# SPDX-License-Identifier: MIT
"""The rotation of q and k as differentiable operators that torch.compile sees through."""
from __future__ import annotations

import torch
from torch import Tensor

from . import _C  # noqa: F401  registers the operators

_ops = torch.ops.cordage


def rotate(*x: Tensor, position_ids: Tensor, inv_freq: Tensor, attention_factor: float | Tensor = 1.0,
           interleaved: bool = False, heads_first: bool = True) -> tuple[Tensor, ...]:
    """Turns the first 2*pairs lanes of every head by position * inv_freq[pair]; later lanes are copied.

        q, k = rotate(q, k, position_ids=ids, inv_freq=inv_freq)

    Angles are reduced exactly: right to rounding at every position. In bfloat16 and float16 the arithmetic is float32.

    Args:
        x: q and k, or any number of tensors [batch, heads, tokens, head_dim] of one type, float32, float64, bfloat16 or
            float16 (on a GPU not float64); views are read where they lie, in any strides whose last is 1
        position_ids: [tokens] or [batch, tokens]; int32, int64, float32 or float64
        inv_freq: [pairs] float64, radians per position; on the CPU, wherever x is
        attention_factor: multiplies cos and sin; a number, or a tensor [] float64 on the CPU
        interleaved: lanes 2i and 2i+1 form a pair, instead of i and i + pairs
        heads_first: False for x of [batch, tokens, heads, head_dim]

    On a GPU nothing waits for the device, unless inv_freq or attention_factor requires a gradient, which is made there and
    lies here. A CUDA graph keeps the numbers that they have when it is captured.

    Returns new tensors of x's shapes. Gradients flow to x, and to inv_freq, attention_factor and (floating) position_ids
    where they require it; all in one pass over the gradient and the result. There are no second derivatives.

    Raises ValueError naming the argument.
    """
    if not x:
        raise ValueError("rotate: x must be at least one tensor, such as q, k")
    for i, one in enumerate(x):
        if one.dim() != 4:
            layout = "[batch, heads, tokens, head_dim]" if heads_first else "[batch, tokens, heads, head_dim]"
            raise ValueError(f"rotate: x[{i}] {list(one.shape)} must be {layout}")
    if inv_freq.dim() != 1 or inv_freq.dtype != torch.float64:
        raise ValueError(f"rotate: inv_freq {inv_freq.dtype} {list(inv_freq.shape)} must be float64 [rotary_dim/2]")
    if not isinstance(attention_factor, Tensor):
        attention_factor = torch.full((), attention_factor, dtype=torch.float64, device="cpu")
    elif attention_factor.dim() != 0 or attention_factor.dtype != torch.float64:
        raise ValueError(f"rotate: attention_factor {attention_factor.dtype} {list(attention_factor.shape)} must be a "
                         "number or a float64 tensor []")
    seen = [one.transpose(1, 2) for one in x] if heads_first else list(x)
    turned = _ops.rotate(seen, position_ids, inv_freq, attention_factor, interleaved)
    return tuple(one.transpose(1, 2) for one in turned) if heads_first else tuple(turned)


def rotate_by_table(*x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False,
                    heads_first: bool = True) -> tuple[Tensor, ...]:
    """Turns by cos and sin made elsewhere, with every product and sum rounded as torch rounds them: in float32 and float64
    the result has the bits of q * cos + rotate_half(q) * sin.

    Args:
        x: as for rotate, on the CPU, float32 or float64
        cos, sin: [batch or 1, tokens, pairs] of x's type, already times the attention factor; they get no gradient
    """
    if cos.dim() != 3 or cos.shape != sin.shape:
        raise ValueError(f"rotate_by_table: cos {list(cos.shape)} and sin {list(sin.shape)} must both be "
                         "[batch or 1, tokens, rotary_dim/2]")
    seen = [one.transpose(1, 2) for one in x] if heads_first else list(x)
    turned = _ops.rotate_by_table(seen, cos, sin, interleaved, False)
    return tuple(one.transpose(1, 2) for one in turned) if heads_first else tuple(turned)


# What torch.compile is told: shapes and strides -------------------------------------------------------------------


def _new(x: list[Tensor]) -> list[Tensor]:
    return [torch.empty_like(one if one.stride(-1) == 1 else one.contiguous()) for one in x]


@torch.library.register_fake("cordage::rotate")
def _(x, position_ids, inv_freq, attention_factor, interleaved):
    return _new(x)


@torch.library.register_fake("cordage::rotate_backward")
def _(grad_y, y, position_ids, inv_freq, attention_factor, interleaved, wanted):
    behind = [torch.empty(like.shape if is_wanted else (0,), dtype=like.dtype, device=like.device)
              for like, is_wanted in zip((position_ids, inv_freq, attention_factor), wanted, strict=True)]
    return _new(grad_y), *behind


@torch.library.register_fake("cordage::rotate_by_table")
def _(x, cos, sin, interleaved, adjoint):
    return _new(x)


# Gradients --------------------------------------------------------------------------------------------------------


def _keep_rotation(ctx, inputs, output):
    x, position_ids, inv_freq, attention_factor, ctx.interleaved = inputs
    ctx.wanted = [one.requires_grad for one in (position_ids, inv_freq, attention_factor)]
    kept = output if any(ctx.wanted) else []  # grad_x needs no values
    ctx.save_for_backward(position_ids, inv_freq, attention_factor, *kept)


def _rotation_backward(ctx, grad_y):
    position_ids, inv_freq, attention_factor, *y = ctx.saved_tensors
    grad_x, *behind = _ops.rotate_backward(grad_y, y, position_ids, inv_freq, attention_factor, ctx.interleaved,
                                           ctx.wanted)
    return grad_x, *(grad if is_wanted else None for grad, is_wanted in zip(behind, ctx.wanted, strict=True)), None


def _refuse(name: str):
    def backward(ctx, *grads):
        raise RuntimeError(f"cordage: {name} has no second derivatives; backward must not be asked for create_graph=True")
    return backward


def _keep_table(ctx, inputs, output):
    _, cos, sin, ctx.interleaved, ctx.adjoint = inputs
    ctx.save_for_backward(cos, sin)


def _table_backward(ctx, grad_y):
    return _ops.rotate_by_table(grad_y, *ctx.saved_tensors, ctx.interleaved, not ctx.adjoint), None, None, None, None


torch.library.register_autograd("cordage::rotate", _rotation_backward, setup_context=_keep_rotation)
torch.library.register_autograd("cordage::rotate_backward", _refuse("rotate"))
torch.library.register_autograd("cordage::rotate_by_table", _table_backward, setup_context=_keep_table)
