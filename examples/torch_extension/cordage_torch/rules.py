# SPDX-License-Identifier: MIT
"""The rule of a transformers config for a layer type, optionally with another rope dictionary."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from .rotation import _ops

_KEPT = ("rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved")  # with another rope dictionary
LEROPE_FAMILIES = ("mistral_large4", "mistral_large4_text")  # families whose rotary embedding has an alpha


def layer_type_of(config) -> str:
    """The layer type used if none is given."""
    return "rope" if config.model_type in LEROPE_FAMILIES else "full_attention"


class Rule:
    """The result of config_rule for a config, by name, and the basis.

    Args:
        config: a transformers config without nested configs
        layer_type: None: the default layer type; "": the first rotated layers
        scaling: a rope dictionary that replaces the config's; rope_theta, partial_rotary_factor and mrope_... are kept
            unless it has them
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
        self._of_config = (json.dumps(self.settings), self.layer_type, scaling is not None)
        self._said = json.loads(_ops.config_rule(*self._of_config))

    def __getitem__(self, name: str):
        return self._said[name]

    def refuse_new_warnings(self, who: str, known: Sequence[str] = ()) -> None:
        """Rejects a rope dictionary with settings that are unknown or without effect. A config's own are warnings, since it may
        have more than cordage reads."""
        for doubt in self["warnings"]:
            if doubt not in known:
                raise ValueError(f"{who}: scaling: {doubt}")

    @property
    def rotates_whole_heads(self) -> bool:
        """Whether every lane of a head is rotated, so that a factor on cos and sin is one on scores."""
        return self["rotary_dim"] == self["head_dim"] and not self.settings.get("qk_nope_head_dim")

    def basis(self, length: Tensor) -> tuple[Tensor, Tensor]:
        """inv_freq [pairs] and the attention factor [], float64 on the CPU, for a sequence of `length` tokens, [] integer.
        Without the alpha of LeRoPE."""
        return _ops.config_basis(length, *self._of_config)


@torch.library.register_fake("cordage::config_basis")
def _(length, config_json, layer_type, is_scaled=False):
    pairs = json.loads(_ops.config_rule(config_json, layer_type, is_scaled))["rotary_dim"] // 2
    inv_freq = torch.empty(pairs, dtype=torch.float64, device="meta" if length.is_meta else "cpu")
    return inv_freq, inv_freq.new_empty(())
