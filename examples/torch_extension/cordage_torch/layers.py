# SPDX-License-Identifier: MIT
"""A rotation for each layer of a patched model: its rotary embedding passes all of them, and each attention takes its own."""
from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from .conventions import Opaque

PASSED = "position_embeddings"  # the argument by which an attention receives what the rotary embedding returned


class LayerRotation(Opaque):
    """The rotation of a layer, whether its attention was called, and whether that has applied it."""

    def __init__(self, layer: int, rotation: Opaque) -> None:
        self.layer, self.rotation, self.is_called, self.is_applied = layer, rotation, False, False

    def apply(self, *x: Tensor, **how) -> tuple[Tensor, ...]:
        if not torch.compiler.is_compiling():
            self.is_applied = True
        return self.rotation.apply(*x, **how)


class LayerRotations(Opaque):
    """The rotations of the layers, by their layer_idx."""

    def __init__(self, of_layer: Mapping[int, LayerRotation]) -> None:
        self.of_layer = of_layer

    def apply(self, *x: Tensor, **how):
        raise ValueError(f"apply_to: a layer of this model rotates without an entry of scaling: its entry is None, or the model does "
                         f"not pass {PASSED} to its attention by name; give a scaling for it, or one for all layers")


class LayerBases(nn.Module):
    """The bases of several layers, each of which is of one of patching.py's classes."""

    def __init__(self, of_layer: Mapping[int, nn.Module]) -> None:
        super().__init__()
        self.layers, self.bases = list(of_layer), nn.ModuleList(of_layer.values())
        self.words = "".join(f"layer {layer} of {basis.words}" for layer, basis in of_layer.items())
        self.passed: tuple[LayerRotations, ...] = ()  # in the current forward pass of the model

    def forward(self, position_ids: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        """inv_freq and attention factor of each layer."""
        return tuple(basis(position_ids) for basis in self.bases)

    def rotation(self, position_ids: Tensor, *of_layers: tuple[Tensor, Tensor]) -> LayerRotations:
        rotations = LayerRotations({layer: LayerRotation(layer, basis.rotation(position_ids, *numbers))
                                    for layer, basis, numbers in zip(self.layers, self.bases, of_layers, strict=True)})
        if not torch.compiler.is_compiling():
            self.passed = (*self.passed, rotations)
        return rotations


def start_pass(parent: nn.Module, *_) -> None:
    """Forgets what an interrupted forward pass has left."""
    for bases in _bases_of(parent):
        bases.passed = ()


def check_applied(parent: nn.Module, *_) -> None:
    """After a forward pass: an entry for a layer that does not rotate is an error. A layer may use any of several rotary
    embeddings. A compiled attention is not checked: torch.compile cannot trace the flags inside of a recomputed layer."""
    passed = [one for bases in _bases_of(parent) for rotations in bases.passed for one in rotations.of_layer.values()]
    start_pass(parent)
    idle = {one.layer for one in passed if one.is_called} - {one.layer for one in passed if one.is_applied}
    if idle:
        raise ValueError(f"apply_to: scaling has entries for layers {sorted(idle)}, which do not rotate; give None for each of them")


def _bases_of(parent: nn.Module) -> list[LayerBases]:
    found = [getattr(child, "by_layer", None) for child in parent.children()]
    return [bases for bases in found if bases is not None]


def attention_of(model: nn.Module, layer_types: list[str] | None, layer_type: str) -> dict[int, list[nn.Module]]:
    """The modules of a model that take position_embeddings, by their layer_idx in ascending order.

    Args:
        layer_types: of the model's layers, if they are of several; then only the modules of layers of `layer_type` are returned
    """
    found: dict[int, list[nn.Module]] = {}
    for module in model.modules():
        layer = getattr(module, "layer_idx", None)
        if (isinstance(layer, int) and PASSED in inspect.signature(module.forward).parameters
                and (not layer_type or layer_types[layer] == layer_type)):
            found.setdefault(layer, []).append(module)
    return dict(sorted(found.items()))


def take_own_rotation(attention: nn.Module, bases: LayerBases) -> RemovableHandle:
    """From now on replaces the LayerRotations that an attention is called with by the rotation of its layer."""
    return attention.register_forward_pre_hook(partial(_own_rotation, bases), with_kwargs=True)


def _own_rotation(bases: LayerBases, attention: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
    if not torch.compiler.is_compiling():
        for rotations in bases.passed:
            if attention.layer_idx in rotations.of_layer:
                rotations.of_layer[attention.layer_idx].is_called = True
    passed = kwargs.get(PASSED)
    if not isinstance(passed, tuple) or not isinstance(passed[0], LayerRotations):
        return None
    own = passed[0].of_layer.get(attention.layer_idx)
    return None if own is None else (args, kwargs | {PASSED: (own, own)})
