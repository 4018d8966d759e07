# SPDX-License-Identifier: MIT
"""A rotation for each layer of a patched model: its rotary embedding passes all of them, and each attention takes its own."""
from __future__ import annotations

import inspect
from collections.abc import Mapping

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from .conventions import Opaque

PASSED = "position_embeddings"  # the argument by which an attention receives what the rotary embedding returned


class LayerRotations(Opaque):
    """The rotations of the layers, by their layer_idx."""

    def __init__(self, of_layer: Mapping[int, Opaque]) -> None:
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
        self.passed: LayerRotations | None = None  # in the current forward pass of the model

    def forward(self, position_ids: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        """inv_freq and attention factor of each layer."""
        return tuple(basis(position_ids) for basis in self.bases)

    def rotation(self, position_ids: Tensor, *of_layers: tuple[Tensor, Tensor]) -> LayerRotations:
        self.passed = LayerRotations({layer: basis.rotation(position_ids, *numbers)
                                      for layer, basis, numbers in zip(self.layers, self.bases, of_layers, strict=True)})
        return self.passed


def check_applied(all_bases: list[LayerBases]) -> None:
    """After a forward pass: an entry for a layer that does not rotate is an error. A layer may use any of several rotary
    embeddings."""
    passed = [bases.passed for bases in all_bases if bases.passed is not None]
    for bases in all_bases:
        bases.passed = None
    idle = {layer for one in passed for layer in one.of_layer}
    idle -= {layer for one in passed for layer, rotation in one.of_layer.items() if rotation.is_applied}
    if idle:
        raise ValueError(f"apply_to: scaling has entries for layers {sorted(idle)}, which do not rotate; give None for each of them")


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


def take_own_rotation(attention: nn.Module) -> RemovableHandle:
    """From now on replaces the LayerRotations that an attention is called with by the rotation of its layer."""
    return attention.register_forward_pre_hook(_own_rotation, with_kwargs=True)


def _own_rotation(attention: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
    passed = kwargs.get(PASSED)
    if not isinstance(passed, tuple) or not isinstance(passed[0], LayerRotations):
        return None
    own = passed[0].of_layer.get(attention.layer_idx)
    return None if own is None else (args, kwargs | {PASSED: (own, own)})
