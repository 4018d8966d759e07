# SPDX-License-Identifier: MIT
"""cordage's rotation inside models of transformers: by their own config, by another rule, or under a learned basis."""
from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from .rotation import rotate, rotate_by_table
from .rules import LEROPE_FAMILIES, Rule

FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "phi3", "gpt_neox", "gemma3_text", "mistral_large4_text")


@runtime_checkable
class LearnedBasis(Protocol):
    """What apply_to asks of a basis that learns; CLEX and LearnedTable are two, any nn.Module with these is another."""

    rotary_dim: int
    theta_base: float

    def t_of(self, length: Tensor) -> Tensor:
        """The ratio t, [] float64, for a sequence of `length` tokens, [] integer."""

    def basis(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """inv_freq [rotary_dim/2] and the attention factor [], float64 on the CPU, with gradients to the parameters."""


def apply_to(model: nn.Module, scaling: Mapping | LearnedBasis | None = None, *, exact: bool = True) -> Patch:
    """Gives a transformers model cordage's rotation, in place, until undo() of the Patch it returns.

        apply_to(model)                                             # the rule of model.config
        apply_to(model, {"rope_type": "yarn", "factor": 4.0})       # another one, as config.json would say it
        apply_to(model, CLEX.for_config(model.config))              # a learned one; its weights become the model's

    Args:
        model: of a family in FAMILIES, or one that contains such a model
        scaling: None; a rope dictionary as in config.json (docs/config_keys.md), of all layers or, where the model has
            layers of several types, of its "full_attention" ones; or a LearnedBasis, such as a CLEX, for the same layers
        exact: False takes cos and sin from the model's own rotary embedding, so that in float32 the result has the bits of
            transformers' own; only with scaling None

    A model with an alpha of its own (LeRoPE: Mistral Large 4) keeps it under its config's rule and another one; a
    LearnedBasis comes in its place.

    The model's own modules stay as they are but for `rotary_emb`, which is replaced, and the function
    apply_rotary_pos_emb of its modeling module, which still serves models that are not patched.

    Raises ValueError or TypeError naming the argument.
    """
    if not (scaling is None or isinstance(scaling, (Mapping, LearnedBasis))):
        raise TypeError(f"apply_to: scaling {scaling!r} must be None, a rope dictionary or a LearnedBasis")
    if not exact and scaling is not None:
        raise ValueError("apply_to: exact=False takes cos and sin from the model, so that scaling must be None")
    parents = [module for module in model.modules() if isinstance(getattr(module, "rotary_emb", None), nn.Module)]
    if any(isinstance(parent.rotary_emb, CordageRotary) for parent in parents):
        raise ValueError("apply_to: model is patched already; undo() that patch first")
    if not parents:
        raise ValueError(f"apply_to: model {type(model).__name__} must have a rotary embedding")
    for parent in parents:
        family = getattr(getattr(parent.rotary_emb, "config", None), "model_type", None)
        if family not in FAMILIES:
            raise ValueError(f"apply_to: model of type {family!r} must be one of {', '.join(FAMILIES)}")
    rotaries = [CordageRotary(parent.rotary_emb, scaling, exact) for parent in parents]  # all errors before any change
    return Patch(list(zip(parents, rotaries, strict=True)))


class Patch:
    """A model under cordage's rotation; a context manager that ends with undo()."""

    def __init__(self, replaced: list[tuple[nn.Module, CordageRotary]]) -> None:
        self._replaced = replaced
        for parent, rotary in replaced:
            parent.rotary_emb = rotary
            _serve(rotary.modeling)

    @property
    def rules(self) -> str:
        """What turns the model's layers, in words."""
        return "".join(rotary.words for _, rotary in self._replaced)

    def undo(self) -> None:
        """Gives the model its own rotation back. A second call does nothing."""
        for parent, rotary in self._replaced:
            parent.rotary_emb = rotary.original
            _release(rotary.modeling)
        self._replaced = []

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *exception) -> None:
        self.undo()


# What a patched model passes from its rotary embedding to its attention ---------------------------------------------


@dataclass
class _Turn:
    position_ids: Tensor
    inv_freq: Tensor
    attention_factor: Tensor

    def apply(self, *x: Tensor, heads_first: bool, interleaved: bool) -> tuple[Tensor, ...]:
        return rotate(*x, position_ids=self.position_ids, inv_freq=self.inv_freq,
                      attention_factor=self.attention_factor, heads_first=heads_first, interleaved=interleaved)


@dataclass
class _TableTurn:
    cos: Tensor
    sin: Tensor

    def apply(self, *x: Tensor, heads_first: bool, interleaved: bool) -> tuple[Tensor, ...]:
        pairs = self.cos.shape[-1] // 2  # the second half repeats the first
        return rotate_by_table(*x, cos=self.cos[..., :pairs], sin=self.sin[..., :pairs], heads_first=heads_first,
                               interleaved=interleaved)


class CordageRotary(nn.Module):
    """Stands for a model's rotary embedding: gives its attention a turn, twice, where it expects cos and sin."""

    def __init__(self, original: nn.Module, scaling: Mapping | LearnedBasis | None, exact: bool) -> None:
        super().__init__()
        self.original, self.exact = original, exact
        self.modeling = sys.modules[type(original).__module__]
        is_lerope = original.config.model_type in LEROPE_FAMILIES
        layer_types = ["rope"] if is_lerope else getattr(original, "layer_types", None)
        of_all = {layer_type: _ConfigBasis(original.config, layer_type, None) for layer_type in layer_types or [""]}
        scaled = "rope" if is_lerope else "full_attention" if layer_types else ""
        if isinstance(scaling, LearnedBasis):
            of_all[scaled] = _SequenceBasis(scaling, of_all[scaled])
        elif scaling is not None:
            of_all[scaled] = _ConfigBasis(original.config, scaled, scaling)
        if is_lerope and not isinstance(scaling, LearnedBasis):
            of_all[scaled] = _OwnAlpha(of_all[scaled], original)
        self.all_layers = "rope" if is_lerope else "all"
        self.of_layers = nn.ModuleDict({layer_type or "all": basis for layer_type, basis in of_all.items()})
        self.words = "".join(basis.words for basis in of_all.values())
        # An alpha is saved and loaded under the name that it has in the model.
        self.register_state_dict_post_hook(
            lambda module, state, prefix, _: _rename(state, f"{prefix}original.alpha", f"{prefix}alpha"))
        self.register_load_state_dict_pre_hook(
            lambda module, state, prefix, *_: _rename(state, f"{prefix}alpha", f"{prefix}original.alpha"))

    def forward(self, x: Tensor, position_ids: Tensor, layer_type: str | None = None):
        if self.exact:
            turn = _Turn(position_ids, *self.of_layers[layer_type or self.all_layers](position_ids))
        else:
            turn = _TableTurn(*self.original(x, position_ids, *([layer_type] if layer_type else [])))
        return turn, turn


def _rename(state: dict[str, Tensor], old: str, new: str) -> None:
    if old in state:
        state[new] = state.pop(old)


class _ConfigBasis(nn.Module):
    """inv_freq and attention factor by a config, for the sequence that position_ids are of."""

    def __init__(self, config, layer_type: str, scaling: Mapping | None) -> None:
        super().__init__()
        self.rule, self.layer_type = Rule(config, layer_type, scaling), layer_type
        # Attention of LeRoPE's families hands over the lanes that turn alone, interleaved.
        of_part = config.model_type in LEROPE_FAMILIES
        is_part = self.rule["layout"] == "interleaved" or self.rule["first_lane"] > 0
        if not self.rule["is_plain"] or of_part != is_part:
            raise ValueError("apply_to: the rule must turn half-split pairs by one position each:\n" + self.rule["words"])
        for warning in self.rule["warnings"]:
            warnings.warn(f"apply_to: {warning}", stacklevel=4)
        self.words = self.rule["words"]
        self.trained = self.rule.settings["max_position_embeddings"]
        self.longest = torch.zeros((), dtype=torch.int64)
        self.at_any_length = None if self.rule["depends_on_length"] else self.rule.basis(self.longest)

    def forward(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        if self.at_any_length is not None:
            return self.at_any_length
        length = position_ids.max() + 1
        if self.rule["rope_type"] != "dynamic":
            return self.rule.basis(length)
        # As transformers: the longest length so far counts, until a sequence is shorter than the trained length again.
        longest = torch.maximum(self.longest.to(length.device), length)
        self.longest = torch.where(length < self.trained, torch.zeros_like(longest), longest)
        return self.rule.basis(torch.maximum(self.longest, length))


class _OwnAlpha(nn.Module):
    """A config's basis times exp(alpha) of the model's own rotary embedding (LeRoPE)."""

    def __init__(self, of_config: _ConfigBasis, original: nn.Module) -> None:
        super().__init__()
        self.of_config = of_config
        self.originals = (original,)  # no submodule: CordageRotary has it
        self.words = of_config.words

    def forward(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        inv_freq, factor = self.of_config(position_ids)
        return inv_freq * self.originals[0].alpha.to("cpu", torch.float64).exp(), factor


class _SequenceBasis(nn.Module):
    """inv_freq and attention factor of a LearnedBasis, at the ratio of the sequence that position_ids are of."""

    def __init__(self, basis: LearnedBasis, own: _ConfigBasis) -> None:
        super().__init__()
        for name in ("rotary_dim", "theta_base"):
            if getattr(basis, name) != own.rule[name]:
                raise ValueError(f"apply_to: scaling has {name} {getattr(basis, name)}, must have the model's "
                                 f"{own.rule[name]}")
        self.basis = basis
        self.words = f"layers: {own.layer_type or 'all'}\n  {basis}\n"

    def forward(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        return self.basis.basis(self.basis.t_of(position_ids.max() + 1))


# The function of a modeling module that attention calls --------------------------------------------------------------


def _functions(modeling) -> list[tuple[str, bool]]:
    """The names of those that a module has, and whether the lanes of a pair lie side by side in what they take."""
    both = (("apply_rotary_pos_emb", False), ("apply_rotary_pos_emb_interleave", True))
    return [(name, interleaved) for name, interleaved in both if hasattr(modeling, name)]


def _serve(modeling) -> None:
    """From now on the module's functions take turns too."""
    for name, interleaved in _functions(modeling):
        served = getattr(modeling, name)
        if not hasattr(served, "patches"):
            served = _serving(served, interleaved)
            setattr(modeling, name, served)
        served.patches += 1


def _serving(own, interleaved: bool):
    @functools.wraps(own)
    def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
        if not isinstance(cos, (_Turn, _TableTurn)):
            return own(q, k, cos, sin, unsqueeze_dim=unsqueeze_dim)
        given = [one for one in (q, k) if one is not None]  # k is None where keys of another layer are shared
        turned = cos.apply(*given, heads_first=unsqueeze_dim == 1, interleaved=interleaved)
        if interleaved:  # its results have the even lanes first, as cached keys then do
            turned = [one.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2) for one in turned]
        return tuple(turned) if k is not None else (*turned, None)

    apply_rotary_pos_emb.own, apply_rotary_pos_emb.patches = own, 0
    return apply_rotary_pos_emb


def _release(modeling) -> None:
    """One patched model less; the last one leaves the module as it was."""
    for name, _ in _functions(modeling):
        served = getattr(modeling, name)
        served.patches -= 1
        if served.patches == 0:
            setattr(modeling, name, served.own)
