# SPDX-License-Identifier: MIT
"""Replaces LMCache's rotation of keys that move to other positions by cordage's: by the exact difference of the angles, under
the rule of the model's config.

    patch = serve("config.json")    # LMCache's rotary_embedding_k_fused now is cordage's move
    patch.undo()
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import lmcache
import torch
from cordage_torch import PagedCache, move, rotate
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

__all__ = ["Patch", "serve"]

_FUNCTIONS = ("rotary_embedding_k_fused", "rotary_embedding_k_fused_strided")
_TYPES = (torch.float32, torch.float16, torch.bfloat16)


def serve(config: str | PathLike | Mapping, *, length: int | None = None) -> Patch:
    """Replaces LMCache's rotary_embedding_k_fused and its strided form by cordage's move, in this process, until undo() of the
    returned Patch is called.

    Args:
        config: the model's config.json: its path, or its content, or a transformers config
        length: the sequence length that the keys were rotated for, if the rule depends on it (longrope, dynamic)

    LMCache's cos_sin_cache identifies the layer type of a key; a key whose cos_sin_cache does not belong to one of the
    config's rules is rejected, as is one whose heads or pairs do not fit.

    Raises ValueError naming the key of the config or the argument.
    """
    if isinstance(lmcache.device_ops.rotary_embedding_k_fused, _Moving):
        raise ValueError("serve: LMCache is served already; undo() that patch first")
    text = config.to_json_string(use_diff=False) if hasattr(config, "to_json_string") else (
        json.dumps(dict(config)) if isinstance(config, Mapping) else Path(config).read_text())
    return Patch(_rules(text, length))


class Patch:
    """LMCache with cordage's move; a context manager that calls undo() at its end."""

    def __init__(self, rules: list[_Rule]) -> None:
        self.rules = "".join(rule.words for rule in rules)  # description of the rotation of the keys
        for name, is_strided in zip(_FUNCTIONS, (False, True), strict=True):
            setattr(lmcache.device_ops, name, _Moving(rules, is_strided))

    def undo(self) -> None:
        """Restores LMCache's own functions. A second call does nothing."""
        for name in _FUNCTIONS:
            vars(lmcache.device_ops).pop(name, None)

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *exception) -> None:
        self.undo()


class _Rule:
    """The rotation of the layers of one type: inv_freq, the attention factor, the pair layout."""

    def __init__(self, text: str, layer_type: str, length: int | None) -> None:
        says = json.loads(torch.ops.cordage.config_rule(text, layer_type))
        self.words, self.layout, self.is_rotated = says["words"], says["layout"], says["rope_type"] != "none"
        if says["axis_of_pair"] or says["needs_weights"] or says["is_inverse"]:
            raise ValueError("serve: keys must be rotated by one position each, by the positive angle and by numbers of the config "
                             f"alone, and are not; leave LMCache's own function:\n{self.words}")
        self.first_lane = says["first_lane"]
        if says["depends_on_length"] and length is None:
            raise ValueError(f"serve: length must be given for rope_type {says['rope_type']!r}, whose basis depends on it")
        at = torch.tensor(length or 0, dtype=torch.int64)
        self.inv_freq, self.attention_factor = torch.ops.cordage.config_basis(at, text, layer_type)

    def has_made(self, cos_sin_cache: Tensor) -> bool:
        """Whether a row of the cache, that of position 1, whose sines distinguish frequencies, is this rule's."""
        row = torch.cat((self.inv_freq.cos(), self.inv_freq.sin())) * self.attention_factor
        if cos_sin_cache.dim() != 2 or cos_sin_cache.shape[0] < 2 or cos_sin_cache.shape[1] != len(row):
            return False
        given = cos_sin_cache[1].to("cpu", torch.float64)
        return torch.allclose(given, row, rtol=8 * torch.finfo(cos_sin_cache.dtype).eps, atol=0.0)


def _rules(text: str, length: int | None) -> list[_Rule]:
    names = json.loads(torch.ops.cordage.config_rule(text, ""))["layer_types"]
    return [rule for rule in (_Rule(text, name, length) for name in names) if rule.is_rotated]


class _Moving:
    """Called by LMCache instead of its own function."""

    def __init__(self, rules: list[_Rule], is_strided: bool) -> None:
        self.rules, self.is_strided = rules, is_strided
        self.known = WeakTensorKeyDictionary()  # the rule of each table so far, since reading a table on a GPU synchronises

    @torch.no_grad()
    def __call__(self, old_positions: Tensor, new_positions: Tensor, key: Tensor, head_size: int, *rest) -> None:
        *head_stride, cos_sin_cache, is_neox = rest
        if self.is_strided:
            key = key[..., :head_size]
        if cos_sin_cache not in self.known:
            self.known[cos_sin_cache] = next((rule for rule in self.rules if rule.has_made(cos_sin_cache)), None)
        rule = self.known[cos_sin_cache]
        if rule is None:
            raise ValueError(
                f"cordage_lmcache: cos_sin_cache {cos_sin_cache.dtype} {list(cos_sin_cache.shape)} must be of a rule of the "
                "config that serve() was given, as rope_scaling and partial_rotary_factor say; give LMCache the cos_sin_cache "
                f"of the model's own rotary_emb, or serve() the config that the engine runs:\n"
                f"{''.join(rule.words for rule in self.rules)}")
        layout = "half_split" if is_neox else "interleaved"
        if rule.layout not in (layout, "layout unknown"):
            raise ValueError(f"cordage_lmcache: is_neox {is_neox} says {layout}, and the config says:\n{rule.words}")
        if key.dim() != 3 or key.shape[-1] != head_size or cos_sin_cache.shape[1] > head_size:
            raise ValueError(f"cordage_lmcache: key {list(key.shape)} must be [tokens, heads, head_size {head_size}], of heads "
                             f"not smaller than the {cos_sin_cache.shape[1]} rotated lanes; head_dim of the config must be "
                             "the engine's")
        if rule.first_lane > 0 and head_size != cos_sin_cache.shape[1]:
            raise ValueError(f"cordage_lmcache: key {list(key.shape)} must have the {cos_sin_cache.shape[1]} rotated lanes alone, as the "
                             f"rotation begins at lane {rule.first_lane} of a head; undo() for LMCache's own function")
        if old_positions.shape != key.shape[:1] or new_positions.shape != key.shape[:1]:
            raise ValueError(f"cordage_lmcache: old_positions {list(old_positions.shape)} and new_positions "
                             f"{list(new_positions.shape)} must be [tokens] = {list(key.shape[:1])}, as key has")
        if key.dtype not in _TYPES:
            raise ValueError(f"cordage_lmcache: key of {key.dtype} must be float32, float16 or bfloat16; set the engine's "
                             "kv_cache_dtype to one of them, or undo() for LMCache's own function")
        _move(key, old_positions, new_positions, rule, not is_neox)


def _move(key: Tensor, old: Tensor, new: Tensor, rule: _Rule, interleaved: bool) -> None:
    """Moves key [tokens, heads, head_size] in place from positions to positions."""
    if key.device.type != "cpu":  # both positions are under one basis, so that only their difference rotates
        rotated, = rotate(key[None], position_ids=new - old, inv_freq=rule.inv_freq, interleaved=interleaved,
                         heads_first=False)
        key.copy_(rotated[0])
        return
    slots = torch.arange(len(key))
    no_values = key.new_zeros(1, len(key), 1, 2)
    cache = PagedCache(key[None], no_values)  # a block of all tokens
    move(cache, slots, slots, from_position_ids=old, position_ids=new, inv_freq=rule.inv_freq, interleaved=interleaved)
