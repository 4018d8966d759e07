# SPDX-License-Identifier: MIT
"""The basis of a model's layers at any length, from its config or learned."""
from __future__ import annotations

import functools
import hashlib
import importlib
import json
from typing import NamedTuple

import torch
from torch import Tensor

from cordage_torch import LearnedBasis

_ops = torch.ops.cordage
WAY_OUT = "start vLLM with VLLM_PLUGINS='' to use its own rotation"


class Basis(NamedTuple):
    inv_freq: Tensor  # [rotary_dim/2] float64
    attention_factor: Tensor  # [] float64
    fingerprint: str  # of both


class LayerRule:
    """The rule of the layers of one type."""

    def __init__(self, config_json: str, layer_type: str, rope: dict, learned: LearnedBasis | None,
                 default_length: int) -> None:
        try:
            self.rule = json.loads(_ops.config_rule(config_json, layer_type))
        except ValueError as refused:
            raise ValueError(f"cordage_vllm: {_first_line(refused)}; {WAY_OUT}") from None
        if not self.rule["is_plain"]:
            keys = ", ".join(rope)
            raise ValueError(f"cordage_vllm: rope_parameters with the keys {keys} must rotate q and k by frequencies "
                             f"only; {WAY_OUT}")
        section, pairs = rope.get("mrope_section"), self.rule["rotary_dim"] // 2
        if section and sum(section) != pairs:  # vLLM's own error does not name the key
            raise ValueError(f"cordage_vllm: mrope_section {section} must sum to rotary_dim / 2 = {pairs}; {WAY_OUT}")
        for name in ("rotary_dim", "theta_base"):
            if learned is not None and getattr(learned, name) != self.rule[name]:
                raise ValueError(f"cordage_vllm: additional_config['cordage']['basis'] has {name} {getattr(learned, name)}, "
                                 f"must have the model's {self.rule[name]}")
        if learned is None and self.rule["rope_type"] == "longrope":
            _check_longest(config_json, default_length)
        self.config_json, self.layer_type, self.learned = config_json, layer_type, learned
        self.axis_of_pair = torch.tensor(self.rule["axis_of_pair"], dtype=torch.int64)  # [pairs] of M-RoPE, else empty
        self.depends_on_length = learned is not None or self.rule["depends_on_length"]
        self.default_length = default_length
        self.at = functools.lru_cache(maxsize=1024)(self._at)

    def _at(self, length: int | None) -> Basis:
        """The basis for a request of that many tokens; None: for the engine's maximum."""
        length = torch.tensor(self.default_length if length is None else length)
        with torch.no_grad():
            if self.learned is not None:
                inv_freq, factor = self.learned.basis(self.learned.t_of(length))
            else:
                inv_freq, factor = _ops.config_basis(length, self.config_json, self.layer_type)
        numbers = inv_freq.numpy().tobytes() + factor.numpy().tobytes()
        return Basis(inv_freq, factor, hashlib.sha256(numbers).hexdigest())


def settings_of(vllm_config) -> str:
    """What the basis of a model's layers depends on beside its config."""
    return f"{vllm_config.model_config.max_model_len} {(vllm_config.additional_config or {}).get('cordage')}"


def _check_longest(config_json: str, length: int) -> None:
    """The long factors are one basis, for the longest length of the config; vLLM can be told to go beyond it."""
    longest = json.loads(config_json).get("max_position_embeddings")
    if longest is not None and length > longest:
        raise ValueError(f"cordage_vllm: max_model_len {length} must be <= max_position_embeddings {longest}, as the factors of "
                         f"rope_type 'longrope' are for up to {longest} tokens; start vLLM with max_model_len {longest}, or export "
                         f"a basis for {length} tokens")


class ModelRules:
    """The rules of all layers of a model, from vLLM's engine config."""

    def __init__(self, vllm_config) -> None:
        config = vllm_config.model_config.hf_text_config
        ropes = getattr(config, "rope_parameters", None)
        self.of_layers: dict[str, LayerRule] = {}
        self.way_out = WAY_OUT
        if vllm_config.model_config.is_multimodal_model:
            self.way_out += ", or with language_model_only=True to leave towers out"
        if not ropes:
            return  # a model without rotary embeddings
        if vllm_config.model_config.using_transformers_backend():
            raise ValueError(f"cordage_vllm: model_type {config.model_type!r} runs by vLLM's transformers backend, which "
                             f"rotates by transformers; {WAY_OUT}")
        config_json = config.to_json_string(use_diff=False).replace('"deepseek_yarn"', '"yarn"')  # as vLLM renames it
        learned = _learned_basis(vllm_config)
        layer_types = [key for key, value in ropes.items() if isinstance(value, dict)]
        scaled = "full_attention" if layer_types else ""
        for layer_type in layer_types or [""]:
            self.of_layers[layer_type] = LayerRule(
                config_json, layer_type, ropes[layer_type] if layer_type else ropes, learned if layer_type == scaled else None,
                vllm_config.model_config.max_model_len)

    def depends_on_length(self) -> bool:
        return any(rule.depends_on_length for rule in self.of_layers.values())

    def warnings(self) -> list[str]:
        return sorted({warning for rule in self.of_layers.values() for warning in rule.rule["warnings"]})

    def fingerprint(self, length: int | None) -> str:
        """A fingerprint of the bases of all layers."""
        return hashlib.sha256("".join(rule.at(length).fingerprint for rule in self.of_layers.values()).encode()).hexdigest()

    def of(self, rope_type: str, rotary_dim: int, theta_base: float) -> LayerRule:
        """The rule for vLLM's rotary embedding with these arguments."""
        found = [rule for rule in self.of_layers.values()
                 if (rule.rule["rope_type"], rule.rule["rotary_dim"], rule.rule["theta_base"])
                 == (rope_type, rotary_dim, theta_base)]
        if not found or len({rule.at(None).fingerprint for rule in found}) > 1:
            named = ", ".join(f"{rule.rule['rope_type']!r} with rotary_dim {rule.rule['rotary_dim']} and rope_theta "
                              f"{rule.rule['theta_base']:g}" for rule in self.of_layers.values()) or "none"
            raise ValueError(f"cordage_vllm: vLLM makes a rotary embedding of rope_type {rope_type!r} with rotary_dim "
                             f"{rotary_dim} and rope_theta {theta_base:g}, which must be one rule of rope_parameters "
                             f"({named}); {self.way_out}")
        return found[0]


def _learned_basis(vllm_config) -> LearnedBasis | None:
    """The LearnedBasis of additional_config={"cordage": {"basis": "module:function"}}, called with the model's config."""
    settings = (vllm_config.additional_config or {}).get("cordage", {})
    unknown = sorted(set(settings) - {"basis"})
    if unknown:
        raise ValueError(f"cordage_vllm: additional_config['cordage'] has the key {unknown[0]!r}, must have 'basis' alone")
    if not settings:
        return None
    said = settings["basis"]
    module, _, function = str(said).partition(":")
    try:
        basis = getattr(importlib.import_module(module), function)(vllm_config.model_config.hf_text_config)
    except (ImportError, AttributeError, ValueError) as missing:
        raise ValueError(f"cordage_vllm: additional_config['cordage']['basis'] {said!r} must be 'module:function', a function "
                         f"of the model's config that returns a cordage_torch.LearnedBasis: {missing}") from missing
    if not isinstance(basis, LearnedBasis):
        raise ValueError(f"cordage_vllm: additional_config['cordage']['basis'] {said!r} returned a {type(basis).__name__}, "
                         "must return a cordage_torch.LearnedBasis")
    return basis


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
