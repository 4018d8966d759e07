# SPDX-License-Identifier: MIT
"""cordage's rotation inside models of transformers: by their own config, by another rule, or with a learned basis."""
from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from .conventions import AxesRotation, Convention, Opaque, Rotation, TableRotation, convention_of
from .layers import LayerBases, attention_of, check_applied, start_pass, take_own_rotation
from .rules import LEROPE_FAMILIES, Rule
from .tempered import check_whole_heads


@runtime_checkable
class LearnedBasis(Protocol):
    """Interface of a learned basis for apply_to: CLEX, LearnedTable, LeRoPE, Tempered over any of them, or any nn.Module with
    these methods."""

    rotary_dim: int
    theta_base: float

    def t_of(self, length: Tensor) -> Tensor:
        """The ratio t, [] float64, for a sequence of `length` tokens, [] integer."""

    def basis(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """inv_freq [rotary_dim/2] and the attention factor [], float64 on the CPU, with gradients to the parameters."""


Scaling = Mapping | LearnedBasis
SEVERAL = (list, tuple, nn.ModuleList)  # of Scaling: one for each layer


def apply_to(model: nn.Module, scaling: Scaling | Sequence[Scaling] | nn.ModuleList | None = None, *,
             exact: bool = True) -> Patch:
    """Replaces the rotation of a transformers model by cordage's, in place, until undo() of the returned Patch is called.

        apply_to(model)                                             # the rule of model.config
        apply_to(model, {"rope_type": "yarn", "factor": 4.0})       # another one, as in a config.json
        apply_to(model, CLEX.for_config(model.config))              # a learned one; its weights become the model's
        apply_to(model, [basis_of_layer_0, basis_of_layer_1])       # one for each layer

    Args:
        model: a model whose rotary embeddings are attributes rotary_emb... or pos_emb, as in transformers, or one that
            contains such a model. Towers with positions on a grid use other names and keep their own rotation
        scaling: None; a rope dictionary as in config.json (docs/config_keys.md), for all layers or, if the model has
            layers of several types, for its "full_attention" ones; a LearnedBasis, such as a CLEX, for the same layers; or a
            list, tuple or ModuleList of these with one for each of the same layers, from the first to the last, and None for
            a layer that does not rotate. Layers that share their keys have one rotation, so for such a model it is an error
        exact: False takes cos and sin from the model's own rotary embedding, so that in float32 the result has the bits of
            transformers' own; only with scaling None

    A model with an alpha of its own (LeRoPE: Mistral Large 4) keeps it under its config's rule or another one; a
    LearnedBasis replaces it.

    The model's modules are unchanged except for the rotary embeddings, which are replaced, and the functions
    apply_rotary_pos_emb and apply_rotary_pos_emb_interleave of its modeling module, which still serve unpatched models. A
    rule whose frequencies differ from those of the model's own rotary embedding is an error. A copy of a patched model stays
    patched, also after undo() of the original.

    Raises ValueError or TypeError naming the argument.
    """
    entries = scaling if isinstance(scaling, SEVERAL) else [] if scaling is None else [scaling]
    if not all(isinstance(one, (Mapping, LearnedBasis)) or (one is None and entries is scaling) for one in entries):
        raise TypeError(f"apply_to: scaling {scaling!r} must be None, a rope dictionary, a LearnedBasis, or a list of these, one for "
                        "each layer")
    if not exact and scaling is not None:
        raise ValueError("apply_to: exact=False takes cos and sin from the model, so that scaling must be None")
    places = [(parent, name, child) for path, parent in model.named_modules() for name, child in parent.named_children()
              if _is_rotary(f"{path}.{name}", child)]
    if any(isinstance(child, CordageRotary) for _, _, child in places):
        raise ValueError("apply_to: model is patched already; undo() that patch first")
    if not places:
        raise ValueError(f"apply_to: model {type(model).__name__} must have a rotary embedding")
    rotaries = [CordageRotary(child, parent, scaling, exact) for parent, _, child in places]  # all errors before any change
    return Patch([(parent, name, rotary) for (parent, name, _), rotary in zip(places, rotaries, strict=True)])


def _is_rotary(path: str, module: nn.Module) -> bool:
    if isinstance(module, CordageRotary):
        return True
    is_named_so = any(part.startswith("rotary_emb") or part == "pos_emb" for part in path.split(".")[-2:])
    return is_named_so and "Rotary" in type(module).__name__


class Patch:
    """A model with cordage's rotation; a context manager that calls undo() at its end."""

    def __init__(self, replaced: list[tuple[nn.Module, str, CordageRotary]]) -> None:
        self._replaced = replaced
        self._hooks = [take_own_rotation(attention, rotary.by_layer)
                       for _, _, rotary in replaced for attention in rotary.attentions]
        for parent in {id(parent): parent for parent, _, rotary in replaced if rotary.attentions}.values():
            self._hooks += [parent.register_forward_pre_hook(start_pass), parent.register_forward_hook(check_applied)]
        for parent, name, rotary in replaced:
            parent.add_module(name, rotary)
            _serve(rotary.modeling)

    @property
    def rules(self) -> str:
        """The rotation of the model's layers as text."""
        return "".join(rotary.words for _, _, rotary in self._replaced)

    def undo(self) -> None:
        """Restores the model's own rotation. A second call does nothing."""
        for parent, name, rotary in self._replaced:
            parent.add_module(name, rotary.original)
            _release(rotary.modeling)
        for hook in self._hooks:
            hook.remove()
        self._replaced, self._hooks = [], []

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *exception) -> None:
        self.undo()


# Modules in the place of rotary embeddings -----------------------------------------------------------------------------


class CordageRotary(nn.Module):
    """Replaces a model's rotary embedding: passes a rotation to its attention, twice, where it expects cos and sin."""

    def __init__(self, original: nn.Module, parent: nn.Module, scaling: Scaling | Sequence[Scaling] | None, exact: bool) -> None:
        super().__init__()
        self.original, self.exact = original, exact
        self.attentions: tuple[nn.Module, ...] = ()  # those that take the rotation of their layer
        self.modeling_name = type(original).__module__  # a name, as a module can be neither copied nor saved
        names = _served_names(self.modeling)
        if not names or not all(_own_convention(self.modeling, name) for name in names):
            raise ValueError(f"apply_to: {type(original).__name__} must stand in a module with a function "
                             "apply_rotary_pos_emb(q, k, cos, sin) that rotates pairs of lanes, alone or beside others")
        layer_types = getattr(original, "layer_types", None)
        of_all = {one: _ConfigBasis.of(original, one) for one in dict.fromkeys(layer_types or [""])
                  if one == "" or _own_inv_freq(original, one) is not None}
        scaled = "full_attention" if layer_types else ""
        if scaling is not None and scaled not in of_all:
            raise ValueError(f"apply_to: scaling is of layers {scaled!r}, and the model has {', '.join(of_all)}")
        if isinstance(scaling, SEVERAL):
            of_layer = attention_of(parent, getattr(original.config, "layer_types", None), scaled)
            if not of_layer:
                raise ValueError(f"apply_to: no attention of {type(parent).__name__} has a layer_idx and takes position_embeddings, so "
                                 "that its layers cannot differ in their rotation; give one scaling for all layers")
            if len(scaling) != len(of_layer):
                raise ValueError(f"apply_to: scaling has {len(scaling)} entries, must have {len(of_layer)}, one for each "
                                 f"{scaled or 'rotated'} layer")
            self.attentions = tuple(attention for modules in of_layer.values() for attention in modules)
            if any(getattr(attention, "is_kv_shared_layer", False) for attention in self.attentions):
                raise ValueError(f"apply_to: layers of {type(parent).__name__} share their keys, so that they cannot differ in their "
                                 "rotation; give one scaling for all layers")
            of_all[scaled] = LayerBases({layer: _scaled_basis(original, one, of_all[scaled])
                                         for layer, one in zip(of_layer, scaling) if one is not None})
        elif scaled in of_all:
            of_all[scaled] = _scaled_basis(original, scaling, of_all[scaled])
        self.of_layers = nn.ModuleDict({layer_type or "all": basis for layer_type, basis in of_all.items()})
        self.words = "".join(basis.words for basis in of_all.values())
        self.register_state_dict_post_hook(_save_alpha)
        self.register_load_state_dict_pre_hook(_load_alpha)

    @property
    def by_layer(self) -> LayerBases | None:
        return next((one for one in self.of_layers.values() if isinstance(one, LayerBases)), None)

    @property
    def modeling(self):
        return importlib.import_module(self.modeling_name)

    def __setstate__(self, state: dict) -> None:
        """A copy is one more patched model, for good, as it has no Patch."""
        super().__setstate__(state)
        _serve(self.modeling)

    def __getattr__(self, name: str):
        try:
            return super().__getattr__(name)
        except AttributeError:  # models read the config of their rotary embedding, or its sections
            return getattr(super().__getattr__("original"), name)

    def forward(self, x: Tensor, position_ids: Tensor, layer_type: str | None = None):
        if not self.exact:
            rotation = TableRotation(*self.original(x, position_ids, *([layer_type] if layer_type else [])))
        else:
            basis = self.of_layers[layer_type or "all"]
            rotation = basis.rotation(position_ids, *basis(position_ids))
        return rotation, rotation


def _scaled_basis(original: nn.Module, scaling: Scaling | None, own: _ConfigBasis) -> nn.Module:
    if isinstance(scaling, LearnedBasis):
        return _SequenceBasis(scaling, own)
    basis = own if scaling is None else _ConfigBasis(original.config, own.rule.layer_type, scaling)
    basis.rule.refuse_new_warnings("apply_to", own.rule["warnings"])
    return _OwnAlpha(basis, original) if original.config.model_type in LEROPE_FAMILIES else basis


# An alpha is saved and loaded under its name in the model. Functions, as a lambda cannot be saved, and a method not be this hook.


def _save_alpha(module: nn.Module, state: dict[str, Tensor], prefix: str, *_) -> None:
    _rename(state, f"{prefix}original.alpha", f"{prefix}alpha")


def _load_alpha(module: nn.Module, state: dict[str, Tensor], prefix: str, *_) -> None:
    _rename(state, f"{prefix}alpha", f"{prefix}original.alpha")


def _rename(state: dict[str, Tensor], old: str, new: str) -> None:
    if old in state:
        state[new] = state.pop(old)


def _own_inv_freq(rotary: nn.Module, layer_type: str) -> Tensor | None:
    """The constructor arguments of a rotary embedding of transformers."""
    prefix = f"{layer_type}_" if layer_type else ""
    for name in (f"{prefix}original_inv_freq", f"{prefix}inv_freq"):
        if isinstance(getattr(rotary, name, None), Tensor):
            return getattr(rotary, name)
    return None


class _ConfigBasis(nn.Module):
    """inv_freq and attention factor from a config, for the sequence of position_ids."""

    def __init__(self, config, layer_type: str, scaling: Mapping | None = None) -> None:
        super().__init__()
        self.rule = Rule(config, layer_type, scaling)
        if self.rule["rope_type"] == "clex":
            raise ValueError("apply_to: rope_type 'clex' has its weights in a checkpoint; give them as scaling, a CLEX")
        self.words = self.rule["words"]
        self.trained = self.rule.settings.get("max_position_embeddings") or 0
        self.axis_of_pair = torch.tensor(self.rule["axis_of_pair"], dtype=torch.int64, device="cpu")
        self.longest = torch.zeros((), dtype=torch.int64, device="cpu")
        self.at_any_length = None if self.rule["depends_on_length"] else self.rule.basis(self.longest)

    @classmethod
    def of(cls, rotary: nn.Module, layer_type: str) -> _ConfigBasis:
        """The rule of a model's rotary embedding: that of its layer type, or the config's rule with its frequencies."""
        own = _own_inv_freq(rotary, layer_type)
        first = cls(rotary.config, layer_type)
        for warning in first.rule["warnings"]:
            warnings.warn(f"apply_to: {warning}", stacklevel=5)
        for other in [layer_type] if layer_type else first.rule["layer_types"]:
            basis = first if other == layer_type else cls(rotary.config, other)
            inv_freq = basis(torch.zeros(1, dtype=torch.int64, device="cpu"))[0].to(torch.float32)
            if own is None or own.shape != inv_freq.shape:
                continue
            rounding = max(1e-5, 2 * torch.finfo(own.dtype).eps)  # model.to(torch.bfloat16) also rounds them
            if torch.allclose(own.cpu().float(), inv_freq, rtol=rounding):
                return basis
        raise ValueError(f"apply_to: {type(rotary).__name__} has other frequencies than its config says:\n{first.words}")

    def rotation(self, position_ids: Tensor, inv_freq: Tensor, attention_factor: Tensor) -> Rotation | AxesRotation:
        if position_ids.dim() < 3:  # one position per token, for any axes
            if inv_freq.requires_grad or attention_factor.requires_grad:
                # On a GPU the gradients of all layers are summed there, and one copy of the sum waits for it.
                inv_freq, attention_factor = (one.to(position_ids.device, non_blocking=True) for one in
                                              (inv_freq, attention_factor))
            return Rotation(position_ids, inv_freq, attention_factor)
        if len(self.axis_of_pair) == 0:
            raise ValueError(f"apply_to: position_ids {list(position_ids.shape)} must be [batch, tokens], as the config "
                             "names no axes for its pairs")
        if inv_freq.requires_grad or attention_factor.requires_grad:
            raise ValueError("apply_to: a basis that learns needs position_ids [batch, tokens], and this model has "
                             f"{list(position_ids.shape)}, of several axes; pass its frequencies as a rope dictionary")
        return AxesRotation(position_ids, self.axis_of_pair, inv_freq, attention_factor)

    def forward(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        if self.at_any_length is not None:
            return self.at_any_length
        length = position_ids.max() + 1
        if self.rule["rope_type"] != "dynamic":
            return self.rule.basis(length)
        # As in transformers: uses the longest length so far, until a sequence is shorter than the trained length again.
        longest = torch.maximum(self.longest.to(length.device), length)
        self.longest = torch.where(length < self.trained, torch.zeros_like(longest), longest)
        return self.rule.basis(torch.maximum(self.longest, length))


class _OwnAlpha(nn.Module):
    """A config's basis times exp(alpha) of the model's own rotary embedding (LeRoPE)."""

    def __init__(self, of_config: _ConfigBasis, original: nn.Module) -> None:
        super().__init__()
        self.of_config = of_config
        self.originals = (original,)  # not a submodule, as it is one of CordageRotary
        self.words, self.rotation = of_config.words, of_config.rotation

    def forward(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        inv_freq, factor = self.of_config(position_ids)
        return inv_freq * self.originals[0].alpha.to("cpu", torch.float64).exp(), factor


class _SequenceBasis(nn.Module):
    """inv_freq and attention factor of a LearnedBasis, at the ratio of the sequence of position_ids."""

    def __init__(self, basis: LearnedBasis, own: _ConfigBasis) -> None:
        super().__init__()
        for name in ("rotary_dim", "theta_base"):
            if getattr(basis, name) != own.rule[name]:
                raise ValueError(f"apply_to: scaling has {name} {getattr(basis, name)}, must have the model's "
                                 f"{own.rule[name]}")
        check_whole_heads("apply_to", basis, own.rule)
        self.basis, self.rotation = basis, own.rotation
        self.words = f"{f'layers: {own.rule.layer_type}' if own.rule.layer_type else 'all layers'}\n  {basis}\n"

    def forward(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        inv_freq, factor = self.basis.basis(self.basis.t_of(position_ids.max() + 1))
        if inv_freq.shape != (self.basis.rotary_dim // 2,):
            raise ValueError(f"apply_to: scaling has inv_freq {list(inv_freq.shape)}, must have one for each of "
                             f"{self.basis.rotary_dim // 2} pairs")
        return inv_freq, factor


# The functions of a modeling module that attention calls --------------------------------------------------------------


def _served_names(modeling) -> list[str]:
    return [name for name in ("apply_rotary_pos_emb", "apply_rotary_pos_emb_interleave") if hasattr(modeling, name)]


def _own_convention(modeling, name: str) -> Convention | None:
    function = getattr(modeling, name)
    return convention_of(getattr(function, "own", function))


def _serve(modeling) -> None:
    """Makes the module's functions accept cordage's rotations too."""
    for name in _served_names(modeling):
        if not hasattr(getattr(modeling, name), "patches"):
            setattr(modeling, name, _serving(getattr(modeling, name)))
        getattr(modeling, name).patches += 1


def _serving(own):
    convention = convention_of(own)

    def apply_rotary_pos_emb(q, k, cos, sin, *more, **named):
        if not isinstance(cos, Opaque):
            return own(q, k, cos, sin, *more, **named)
        heads_dim = named.get("unsqueeze_dim", next((one for one in reversed(more) if isinstance(one, int)), 1))
        given = (q,) if k is None else (q, k)  # k is None if keys of another layer are shared
        rotated = convention.laid_out(cos.apply(*given, heads_first=heads_dim == 1, convention=convention))
        return rotated if k is not None else (*rotated, None)

    apply_rotary_pos_emb.own, apply_rotary_pos_emb.patches = own, 0
    return apply_rotary_pos_emb


def _release(modeling) -> None:
    """Removes one patched model; after the last one, restores the module."""
    for name in _served_names(modeling):
        served = getattr(modeling, name)
        served.patches -= 1
        if served.patches == 0:
            setattr(modeling, name, served.own)
