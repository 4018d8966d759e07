# SPDX-License-Identifier: MIT
"""The rule that a transformers config gives a type of layers, or would give them with another rope dictionary."""
from __future__ import annotations

import json
from collections.abc import Mapping

import torch
from torch import Tensor

from .rotation import _ops

_KEPT = ("rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved")  # by another rope dictionary
LEROPE_FAMILIES = ("mistral_large4", "mistral_large4_text")  # whose rotary embedding has an alpha


def layer_type_of(config) -> str:
    """The layers whose rule is meant where nobody says which."""
    return "rope" if config.model_type in LEROPE_FAMILIES else "full_attention"


class Rule:
    """What config_rule says of a config, by name, and the basis.

    Args:
        config: a transformers config without others inside
        layer_type: None: the layers that are meant where nobody says which; "": the first that turn
        scaling: a rope dictionary in place of the config's, whose rope_theta, partial_rotary_factor and mrope_... stay where
            it does not say others
    """

    def __init__(self, config, layer_type: str | None = None, scaling: Mapping | None = None) -> None:
        self.layer_type = layer_type_of(config) if layer_type is None else layer_type
        self.settings = json.loads(config.to_json_string(use_diff=False))
        if scaling is not None:
            rules = self.settings.get("rope_parameters") or {}
            by_layer_type = isinstance(rules.get(self.layer_type), dict)
            own = rules[self.layer_type] if by_layer_type else rules
            kept = {key: own[key] for key in _KEPT if key in own}
            other = kept | dict(scaling)
            self.settings["rope_parameters"] = {**rules, self.layer_type: other} if by_layer_type else other
            self.settings.pop("rope_scaling", None)
        self._config_json = json.dumps(self.settings)
        self._said = json.loads(_ops.config_rule(self._config_json, self.layer_type))

    def __getitem__(self, name: str):
        return self._said[name]

    def basis(self, length: Tensor) -> tuple[Tensor, Tensor]:
        """inv_freq [pairs] and the attention factor [], float64 on the CPU, for a sequence of `length` tokens, [] integer.
        Of LeRoPE without its alpha."""
        return _ops.config_basis(length, self._config_json, self.layer_type)


@torch.library.register_fake("cordage::config_basis")
def _(length, config_json, layer_type):
    pairs = json.loads(_ops.config_rule(config_json, layer_type))["rotary_dim"] // 2
    return (torch.empty(pairs, dtype=torch.float64, device="cpu"), torch.empty((), dtype=torch.float64, device="cpu"))
