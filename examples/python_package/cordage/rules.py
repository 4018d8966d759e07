# SPDX-License-Identifier: MIT
"""A model's rotation, and its frequencies at a length."""
from __future__ import annotations

import ctypes as c
import json
import numbers
import os
from typing import Any

import numpy as np

from ._library import (ABI, PAIRINGS, POLICIES, SCHEDULES, BasisInfo, Handle, ModelInfo, RuleInfo, RuleNumbers, call, named,
                       text, whole)


class Basis:
    """Frequencies at one length ratio.

        Basis(1e6 ** -(np.arange(64) / 64))

    Args:
        inv_freq: [pairs] float64, radians per position; pairs is rotary_dim/2
        attention_factor: multiplies cos and sin

    Raises ValueError naming the argument: angles of frequencies rounded to float32 are off by 6e-3 rad at position 10^5.
    """

    def __init__(self, inv_freq: Any, attention_factor: float = 1.0):
        given = np.asarray(inv_freq)
        if given.dtype.kind != "i" and given.dtype != np.float64:
            raise ValueError(f"Basis: inv_freq {given.dtype} must be float64; compute it in float64, or use the rounded "
                             "frequencies by inv_freq.astype(np.float64)")
        dense = np.ascontiguousarray(given, np.float64)
        if dense.ndim != 1:
            raise ValueError(f"Basis: inv_freq {dense.shape} must be [rotary_dim/2]")
        self._read(Handle("basis", "basis_from_numbers", ABI, dense.ctypes.data, dense.size, attention_factor))

    @classmethod
    def _of(cls, name: str, rule: Rule, where: float) -> Basis:
        if not isinstance(where, numbers.Real):
            raise TypeError(f"Rule: {'length' if name == 'basis_at_length' else 't'} {where!r} must be a number")
        basis = cls.__new__(cls)
        basis._read(Handle("basis", name, rule._handle.value, where))
        return basis

    def _read(self, handle: Handle) -> None:
        info = BasisInfo()
        call("basis_get_info", handle.value, c.byref(info))
        inv_freq = np.empty(info.pairs)
        call("basis_get_inv_freq", handle.value, inv_freq.ctypes.data, info.pairs)
        inv_freq.flags.writeable = False
        self._handle, self._inv_freq, self._info = handle, inv_freq, info

    @property
    def inv_freq(self) -> np.ndarray:
        """[pairs] float64, radians per position; read-only."""
        return self._inv_freq

    @property
    def attention_factor(self) -> float:
        return self._info.attention_factor

    @property
    def fingerprint(self) -> int:
        """A 64-bit hash of all its numbers, the same on every platform: tag the blocks of a cache by it."""
        return self._info.fingerprint

    def __repr__(self) -> str:
        return f"<cordage.Basis of {self._info.pairs} pairs, attention factor {self.attention_factor:.6g}>"


class Rule:
    """A model's rotation: its policy and schedule. Made by from_file, from_config or from_numbers.

    A caller that ignores first_lane, axis_of_pair, is_inverse, has_head_temperatures, query_beta or log_scale where a model
    has them computes other scores than the model.
    """

    def __init__(self, handle: Handle):
        info = RuleInfo()
        call("rule_get_info", handle.value, c.byref(info))
        axes = np.empty(info.rotary_dim // 2, np.uint8)
        call("rule_get_axes", handle.value, axes.ctypes.data, axes.size)
        self._handle, self._info, self._axes = handle, info, axes

    @classmethod
    def from_file(cls, path: str | os.PathLike, *, checkpoint: str | os.PathLike | None = None,
                  layer_type: str | None = None) -> Rule:
        """The rotation described by a config.json, in any spelling in docs/config_keys.md; unknown keys are errors.

        Args:
            path: a config.json, Mistral's params.json, a GGUF file, a folder with one of the first two, or
                "organisation/model", a name in the cache of transformers
            checkpoint: the weights of the model, a .safetensors file, an index or a folder, which CLEX and LeRoPE need;
                layers with a CLEX of their own have layer_type "layer 0" and so on
            layer_type: the layers, as named in the config; None if all layers are alike
        """
        return cls(Handle("rule", "rule_from_file", ABI, text("Rule.from_file: path", os.fsencode(path)),
                          None if checkpoint is None else text("Rule.from_file: checkpoint", os.fsencode(checkpoint)),
                          None if layer_type is None else text("Rule.from_file: layer_type", layer_type)))

    @classmethod
    def from_config(cls, config: dict | str, *, layer_type: str | None = None) -> Rule:
        """As from_file, for a config as a dict or as the text of a file."""
        words = config if isinstance(config, str) else json.dumps(config)
        return cls(Handle("rule", "rule_from_config", ABI, text("Rule.from_config: config", words),
                          None if layer_type is None else text("Rule.from_config: layer_type", layer_type)))

    @classmethod
    def from_numbers(cls, *, head_dim: int, rotary_dim: int | None = None, theta_base: float = 10000.0,
                     original_length: float, policy: str = "unscaled", schedule: str = "continuous",
                     factor: float = 1.0) -> Rule:
        """A rule of a policy with default settings. (Policies with other settings, and LongRoPE's tables, need a config.)

        Args:
            rotary_dim: rotated lanes, the first ones of a head; None: all
            original_length: tokens of the base model
            policy: "unscaled", "linear", "ntk_aware", "yarn" or "llama3"
            schedule: "fixed": t is factor; "continuous": t is length / original_length, at least factor; "dynamic":
                transformers' dynamic NTK of that factor
        """
        rotary_dim = head_dim if rotary_dim is None else rotary_dim
        given = RuleNumbers(whole("Rule.from_numbers: head_dim", head_dim),
                            whole("Rule.from_numbers: rotary_dim", rotary_dim), theta_base, original_length,
                            named("Rule.from_numbers", "policy", policy, POLICIES),
                            named("Rule.from_numbers", "schedule", schedule, SCHEDULES), factor)
        return cls(Handle("rule", "rule_from_numbers", ABI, c.byref(given)))

    def at_length(self, length: float) -> Basis:
        """The frequencies for a sequence of `length` tokens."""
        return Basis._of("basis_at_length", self, length)

    def at_ratio(self, t: float) -> Basis:
        """The frequencies at a length ratio t >= 1, independent of the schedule."""
        return Basis._of("basis_at_ratio", self, t)

    @property
    def head_dim(self) -> int:
        return self._info.head_dim

    @property
    def rotary_dim(self) -> int:
        """Number of rotated lanes of a head."""
        return self._info.rotary_dim

    @property
    def first_lane(self) -> int:
        """The first rotated lane: first_lane of rotate."""
        return self._info.first_lane

    @property
    def theta_base(self) -> float:
        return self._info.theta_base

    @property
    def original_length(self) -> float:
        return self._info.original_length

    @property
    def pairing(self) -> str | None:
        """"half_split" or "interleaved"; None: unknown for this model family."""
        return {number: name for name, number in PAIRINGS.items()}.get(self._info.pairing)

    @property
    def axis_of_pair(self) -> np.ndarray | None:
        """M-RoPE: the axis of each pair, [rotary_dim/2] uint8, for Angles; None: positions have one axis."""
        return self._axes.copy() if self._info.axes > 1 else None

    @property
    def is_inverse(self) -> bool:
        """Rotation by the negative angle: use rotate_inverse instead of rotate."""
        return bool(self._info.is_inverse)

    @property
    def has_head_temperatures(self) -> bool:
        """LeRoPE: the queries of each head are multiplied by scale ln(position + 1) + bias, numbers of the weights."""
        return bool(self._info.has_head_temperatures)

    @property
    def query_beta(self) -> float:
        """Query temperature 1 + beta ln(1 + floor((position + query_counted_from) / query_block_length)); 0: none."""
        return self._info.query_beta

    @property
    def query_block_length(self) -> float:
        return self._info.query_block_length

    @property
    def query_counted_from(self) -> float:
        return self._info.query_counted_from

    @property
    def log_scale(self) -> bool:
        """CLEX: scores of a sequence of L > original_length tokens are multiplied by ln L / ln original_length."""
        return bool(self._info.log_scale)

    @property
    def is_unrotated(self) -> bool:
        """These layers have no rotation of q and k; of this rule only a query temperature applies."""
        return bool(self._info.is_unrotated)


class Model:
    """All rules of a model, and which layer has which.

        rule = Model("Qwen/Qwen3-8B").rule(7)

    Args:
        path: as Rule.from_file
        checkpoint: as Rule.from_file
    """

    def __init__(self, path: str | os.PathLike, *, checkpoint: str | os.PathLike | None = None):
        weights = None if checkpoint is None else text("Model: checkpoint", os.fsencode(checkpoint))
        self._handle = Handle("model", "model_from_file", ABI, text("Model: path", os.fsencode(path)), weights)
        self._info = ModelInfo()
        call("model_get_info", self._handle.value, c.byref(self._info))

    @property
    def layers(self) -> int:
        """Number of layers; 0: the file does not tell which layer has which rule."""
        return self._info.layers

    @property
    def max_length(self) -> float:
        """Tokens; 0: not given."""
        return self._info.max_length

    def rule(self, layer: int) -> Rule:
        """The rule of layer 0, 1, ...; its is_unrotated is True where the layer does not rotate q and k."""
        return Rule(Handle("rule", "rule_of_layer", self._handle.value, whole("Model.rule: layer", layer)))

    def indexer(self, layer: int) -> Rule | None:
        """The layer's second rotation, of the indexer of its sparse attention; None if it has none."""
        handle = Handle("rule", "rule_of_indexer", self._handle.value, whole("Model.indexer: layer", layer))
        return Rule(handle) if handle.value else None
