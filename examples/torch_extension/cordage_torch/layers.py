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
        raise ValueError(f"apply_to: this model does not pass {PASSED} to its attention by name, so that its layers cannot differ "
                         "in their rotation; give one scaling for all layers")


class LayerBases(nn.Module):
    """The bases of several layers, each of which is of one of patching.py's classes."""

    def __init__(self, layers: list[int], bases: list[nn.Module]) -> None:
        super().__init__()
        self.layers, self.bases = layers, nn.ModuleList(bases)
        self.words = "".join(f"layer {layer} of {basis.words}" for layer, basis in zip(layers, bases, strict=True))

    def forward(self, position_ids: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
        """inv_freq and attention factor of each layer."""
        return tuple(basis(position_ids) for basis in self.bases)

    def rotation(self, position_ids: Tensor, *of_layers: tuple[Tensor, Tensor]) -> LayerRotations:
        return LayerRotations({layer: basis.rotation(position_ids, *numbers)
                               for layer, basis, numbers in zip(self.layers, self.bases, of_layers, strict=True)})


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
    own = passed[0].of_layer[attention.layer_idx]
    return args, kwargs | {PASSED: (own, own)}
