# SPDX-License-Identifier: MIT
"""From the projection to a paged cache in one pass: norm and rotation of q and k, k and v into their slots; and moves of
cached keys. Operators for torch.compile; without gradients."""
from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .rotation import RMSNorm, check_heads, check_norm, checked_angles, named, on_one_device

_ops = torch.ops.cordage


class PagedCache(NamedTuple):
    """Keys and values in blocks and, if they are quantised, their scales. They are written in place, so that a cache made
    elsewhere can be used; pass one [blocks, heads, block_size, head_dim] transposed, and bytes as keys.view(dtype).

        cache = PagedCache.zeros(blocks, block_size, kv_heads, head_dim, dtype=torch.int8)
        cache = PagedCache.zeros(blocks, block_size, kv_heads, head_dim, dtype=torch.float4_e2m1fn_x2,
                                 scales_dtype=torch.float8_e8m0fnu)  # MXFP4

    Args:
        keys, values: [blocks, block_size, heads, head_dim] of one type, any strides whose last is 1: float32, float16,
            bfloat16, or with scales int8, float8_e4m3fn, float8_e5m2, or float4_e2m1fn_x2, whose last size is head_dim / 2;
            head sizes may differ
        key_scales, value_scales: [blocks, block_size, heads], or [blocks, block_size, heads, groups] where groups of lanes
            have a scale each; None without quantisation. x = scale * code
            float32: of int8 and float8; the largest magnitude of the group / 127 (448, 57344)
            float8_e8m0fnu, or its bytes in uint8: of float8 and float4; a power of two, in OCP MX of 32 lanes (MXFP8, MXFP4)
            float8_e4m3fn: of float4; of 16 lanes (NVFP4)
        scales_round_up: float8_e8m0fnu: up, so that no lane saturates; otherwise down, as OCP MX
        scale_least: float8_e8m0fnu: a group's largest magnitude counts as at least this
        key_tensor_scale, value_tensor_scale: NVFP4: x = tensor scale * scale * code
    """

    keys: Tensor
    values: Tensor
    key_scales: Tensor | None = None
    value_scales: Tensor | None = None
    scales_round_up: bool = False
    scale_least: float = 0.0
    key_tensor_scale: float = 1.0
    value_tensor_scale: float = 1.0

    @classmethod
    def zeros(cls, blocks: int, block_size: int, heads: int, head_dim: int, dtype: torch.dtype = torch.bfloat16,
              device: torch.device | str | None = None, *, scales_dtype: torch.dtype | None = None,
              lanes_of_scale: int | None = None, **options) -> PagedCache:
        """A cache of zeros. scales_dtype: of int8 and float8 otherwise float32. lanes_of_scale: otherwise 32 for float8_e8m0fnu,
        16 for float8_e4m3fn, and the whole head for float32. options: the last four fields."""
        shape, is_fp4 = (blocks, block_size, heads), dtype == torch.float4_e2m1fn_x2
        if is_fp4 and scales_dtype is None:
            raise ValueError(f"PagedCache.zeros: scales_dtype must be given for {dtype}: float8_e8m0fnu (MXFP4) or "
                             "float8_e4m3fn (NVFP4)")
        if dtype.itemsize > 1 and (scales_dtype or lanes_of_scale) is not None:
            raise ValueError(f"PagedCache.zeros: scales_dtype and lanes_of_scale must be None for {dtype}, which has no scales")
        if lanes_of_scale is not None and lanes_of_scale < 1:
            raise ValueError(f"PagedCache.zeros: lanes_of_scale {lanes_of_scale} must be >= 1, or None")
        lanes = lanes_of_scale or {torch.float8_e8m0fnu: 32, torch.float8_e4m3fn: 16}.get(scales_dtype)
        if head_dim % (lanes or 1 + is_fp4):
            raise ValueError(f"PagedCache.zeros: head_dim {head_dim} must be a multiple of {lanes or 2}, the lanes of a scale"
                             if lanes else f"PagedCache.zeros: head_dim {head_dim} must be even for {dtype}")
        # (torch fills no float4)
        part = torch.zeros(*shape, head_dim // 2, dtype=torch.uint8, device=device).view(dtype) if is_fp4 else \
            torch.zeros(*shape, head_dim, dtype=dtype, device=device)
        groups = (head_dim // lanes,) if lanes else ()
        scales = (torch.ones(*shape, *groups, dtype=scales_dtype, device=device) for _ in range(2 if dtype.itemsize == 1 else 0))
        return cls(part, part.clone(), *scales, **options)


def rotate_and_store(q: Tensor, k: Tensor, v: Tensor, *, cache: PagedCache, slot_mapping: Tensor, position_ids: Tensor,
                     inv_freq: Tensor, attention_factor: float | Tensor = 1.0, norm: RMSNorm | None = None,
                     interleaved: bool = False, heads_first: bool = True) -> Tensor:
    """Normalizes (if requested) and rotates q and k, and stores k and v into the slots of a paged cache, quantised if it is.
    One pass over the tokens, without intermediate tensors.

        q = rotate_and_store(q, k, v, cache=cache, slot_mapping=slots, norm=RMSNorm(q_weight, k_weight), position_ids=ids,
                             inv_freq=inv_freq)

    Args:
        q, k, v: [batch, heads, tokens, head_dim] of one type, float32, float16 or bfloat16; views are read in place, with any
            strides whose last is 1. v is not rotated
        cache: is written. float32 may go into float16 and bfloat16, other types into their own, all into quantised ones
        slot_mapping: [tokens] for a batch of one, or [batch, tokens]; int32 or int64. Slot s is slot s % block_size of
            block s // block_size; -1: the token's k and v are not stored
        position_ids, inv_freq, attention_factor, interleaved, heads_first: as for rotate
        norm: RMSNorm of q and k

    Returns the rotated q, new. There are no gradients: call it under torch.no_grad().

    Raises ValueError naming the argument, before anything is written. On a GPU nothing synchronises and values are not
    checked: a slot outside the cache is skipped, one that is listed twice gets either token, and lanes rotated by an invalid
    position or basis are NaN.
    """
    for name, one in (("q", q), ("k", k), ("v", v)):
        check_heads("rotate_and_store", name, one, heads_first)
    weights: list[Tensor] = []
    settings: tuple = (None, False, False, False, False)
    if norm is not None:
        check_norm("rotate_and_store", norm)
        weights, settings = norm.weights, norm.settings
    angles = checked_angles("rotate_and_store", position_ids, inv_freq, attention_factor)
    if torch.is_grad_enabled():
        _refuse_gradients("rotate_and_store", q=q, k=k, v=v, position_ids=position_ids, inv_freq=inv_freq,
                          attention_factor=angles[2], **{f"norm.weights[{i}]": one for i, one in enumerate(weights)})
    if heads_first:
        q, k, v = (one.transpose(1, 2) for one in (q, k, v))
    rotated = _ops.rotate_and_store.default(q, k, v, *_tensors(cache), slot_mapping, weights, *settings, *angles, interleaved,
                                            *cache[4:])
    return rotated.transpose(1, 2) if heads_first else rotated


def move(cache: PagedCache, from_slots: Tensor, to_slots: Tensor, *, from_position_ids: Tensor, position_ids: Tensor,
         inv_freq: Tensor, attention_factor: float | Tensor = 1.0, from_inv_freq: Tensor | None = None,
         from_attention_factor: float | Tensor | None = None, interleaved: bool = False) -> None:
    """Rotates cached keys to other positions, another basis, or both, and moves them to other slots, with their values, in
    one pass (on a GPU in two). The angle is the exact difference; quantised keys that are not rotated keep their bytes (on a
    GPU in place; in other slots they are quantised again).

        move(cache, old_slots, new_slots, from_position_ids=old_ids, position_ids=new_ids, inv_freq=inv_freq)

    Args:
        cache: is written
        from_slots, to_slots: [tokens] int32 or int64; -1 skips a token. List moves to lower slots in ascending order, to
            higher ones in descending order: a slot that would be written before it is read is an error. On a GPU the order
            has no meaning: all are read, into a tensor of as many tokens, before one is written
        from_position_ids, position_ids: [tokens], the old and the new positions
        inv_freq, attention_factor: the new ones
        from_inv_freq, from_attention_factor: the old ones; if not given, unchanged

    Raises ValueError naming the argument, before anything is written.
    """
    to = checked_angles("move", position_ids, inv_freq, attention_factor)
    before = checked_angles("move", from_position_ids, inv_freq if from_inv_freq is None else from_inv_freq,
                            attention_factor if from_attention_factor is None else from_attention_factor)
    if torch.is_grad_enabled():
        _refuse_gradients("move", position_ids=position_ids, inv_freq=inv_freq, attention_factor=to[2],
                          from_position_ids=from_position_ids, from_inv_freq=before[1], from_attention_factor=before[2])
    _ops.move.default(*_tensors(cache), from_slots, to_slots, *before, *to, interleaved, *cache[4:])


def _tensors(cache: PagedCache) -> list[Tensor | None]:
    # inductor of torch 2.15 compiles no operator that writes float8_e8m0fnu
    return [x.view(torch.uint8) if x is not None and x.dtype == torch.float8_e8m0fnu and torch.compiler.is_compiling() else x
            for x in cache[:4]]


def _refuse_gradients(function: str, **tensors: Tensor) -> None:
    for name, one in tensors.items():
        if one.requires_grad:
            raise ValueError(f"{function}: {name} must not require a gradient, which ends at a cache; call it under "
                             "torch.no_grad()")


# Fake kernels for torch.compile: the rotated q is new, the cache is written in place -------------------------------


@torch.library.register_fake("cordage::rotate_and_store")
def _(q, k, v, keys, values, key_scales, value_scales, slot_mapping, weights, eps, adds_one, over_all_heads, after_rotation,
      rounded_between, position_ids, inv_freq, attention_factor, interleaved, *scaling):
    on_one_device("rotate_and_store", q, named("weights", weights) | {
        "k": k, "v": v, "keys": keys, "values": values, "key_scales": key_scales, "value_scales": value_scales,
        "slot_mapping": slot_mapping, "position_ids": position_ids},
        {"inv_freq": inv_freq, "attention_factor": attention_factor})
    return torch.empty_like(q if q.stride(-1) == 1 else q.contiguous())


@torch.library.register_fake("cordage::move")
def _(keys, values, key_scales, value_scales, from_slots, to_slots, from_position_ids, from_inv_freq, from_attention_factor,
      position_ids, inv_freq, attention_factor, interleaved, *scaling):
    on_one_device("move", keys, {
        "values": values, "key_scales": key_scales, "value_scales": value_scales, "from_slots": from_slots,
        "to_slots": to_slots, "from_position_ids": from_position_ids, "position_ids": position_ids},
        {"inv_freq": inv_freq, "attention_factor": attention_factor, "from_inv_freq": from_inv_freq,
         "from_attention_factor": from_attention_factor})
