# SPDX-License-Identifier: MIT
"""What stands for vLLM's rotary classes, and the one operator that it calls."""
from __future__ import annotations

import hashlib

import torch
import vllm.envs
from torch import Tensor
from vllm.config import get_current_vllm_config
from vllm.model_executor.custom_op import CustomOp
from vllm.model_executor.layers import rotary_embedding

from cordage_torch import rotate

from .requests import lengths_of_batch
from .rules import WAY_OUT, LayerRule, ModelRules

# vLLM's class of each rope_type of a config.
SERVED = {
    "RotaryEmbedding": "default",
    "LinearScalingRotaryEmbedding": "linear",
    "DynamicNTKScalingRotaryEmbedding": "dynamic",
    "DynamicNTKAlphaRotaryEmbedding": "dynamic",
    "YaRNScalingRotaryEmbedding": "yarn",
    "Llama3RotaryEmbedding": "llama3",
    "Phi3LongRoPEScaledRotaryEmbedding": "longrope",
}

_layers: dict[str, CordageRotary] = {}


class CordageRotary:
    """Before a rotary class of vLLM: the same constructor, cordage's rotation. A table of cos and sin is not made, so that a
    kernel that reads one fails."""

    rope_type: str
    rule: LayerRule

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.rule = ModelRules(get_current_vllm_config()).of(self.rope_type, self.rotary_dim, self.base)
        self.interleaved = not getattr(self, "is_neox_style", True)  # LongRoPE's class has half-split pairs alone
        if self.rotary_dim > self.head_size:
            raise ValueError(f"cordage_vllm: head_dim {self.head_size} must be >= rotary_dim {self.rotary_dim}; {WAY_OUT}")
        # The same in all processes and at each start, as it stands in compiled code that vLLM keeps on disk.
        said = f"{self.rule.config_json} {self.rule.layer_type} {self.head_size} {self.interleaved}"
        self.key = hashlib.sha256(said.encode()).hexdigest()
        _layers[self.key] = self

    def _compute_cos_sin_cache(self, *_) -> Tensor:
        return torch.empty(0, self.rotary_dim)

    def forward_native(self, positions: Tensor, query: Tensor, key: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        turned = torch.ops.cordage_vllm.rotate(positions, [query] if key is None else [query, key], self.key)
        return turned[0], None if key is None else turned[1]

    forward_cpu = forward_native  # eager; the other one is what is compiled


class CordageLongRope(CordageRotary):
    """LongRoPE's class of vLLM is a plain module, which dispatches nothing."""

    forward = CordageRotary.forward_native


def _rotate(positions: Tensor, x: list[Tensor], key: str) -> list[Tensor]:
    layer, ids = _layers[key], positions.flatten()
    heads = [one.reshape(1, len(ids), -1, layer.head_size) for one in x]
    turned = []
    for begin, end, basis in _runs(layer.rule, len(ids)):
        turned.append(rotate(*(one[:, begin:end] for one in heads), position_ids=ids[begin:end], inv_freq=basis.inv_freq,
                             attention_factor=basis.attention_factor, interleaved=layer.interleaved, heads_first=False))
    whole = turned[0] if len(turned) == 1 else [torch.cat(parts, 1) for parts in zip(*turned, strict=True)]
    return [y.reshape(one.shape) for y, one in zip(whole, x, strict=True)]


def _runs(rule: LayerRule, tokens: int) -> list[list]:
    """[first token, end, basis] of neighbours that share a basis. What is behind the last request is padding."""
    runs: list[list] = []
    for begin, end, length in lengths_of_batch(tokens):
        basis = rule.at(length if rule.depends_on_length else None)
        if runs and runs[-1][2].fingerprint == basis.fingerprint:
            runs[-1][1] = end
        else:
            runs.append([begin, end, basis])
    return runs


def _fake_rotate(positions: Tensor, x: list[Tensor], key: str) -> list[Tensor]:
    return [torch.empty(one.shape, dtype=one.dtype, device=one.device) for one in x]


def _refused(name: str):
    def __init__(self, *args, **kwargs) -> None:
        raise ValueError(f"cordage_vllm: vLLM's {name} is of a rope_type that cordage_vllm does not serve (it serves "
                         f"{', '.join(sorted(set(SERVED.values())))}); {WAY_OUT}")
    return __init__


def register() -> None:
    if _registered:
        return
    _registered.append(torch.library.Library("cordage_vllm", "DEF"))
    _registered[0].define("rotate(Tensor positions, Tensor[] x, str key) -> Tensor[]")
    _registered[0].impl("rotate", _rotate, "CPU")
    torch.library.register_fake("cordage_vllm::rotate", _fake_rotate, lib=_registered[0])
    for name, own in _rotary_classes().items():
        if name not in SERVED:
            members = {"__init__": _refused(name)}
            CustomOp.register_oot(type(f"Refused{name}", (own,), members), name=name)
        elif issubclass(own, CustomOp):
            members = {"rope_type": SERVED[name]}
            CustomOp.register_oot(type(f"Cordage{name}", (CordageRotary, own), members), name=name)
        else:  # the module of get_rope, which makes it, has its name
            setattr(rotary_embedding, name, type(f"Cordage{name}", (CordageLongRope, own), {"rope_type": SERVED[name]}))
    # Part of the key of compiled code that vLLM keeps on disk: code with its own rotation is not found.
    vllm.envs.environment_variables["CORDAGE_VLLM"] = lambda: "1"


_registered: list[torch.library.Library] = []


def _rotary_classes() -> dict[str, type]:
    """All that get_rope makes."""
    found = {name: value for name, value in vars(rotary_embedding).items()
             if isinstance(value, type) and name.endswith("RotaryEmbedding")}
    found |= {one.__name__: one for one in (rotary_embedding.MRotaryEmbeddingInterleaved,)}
    missing = sorted(set(SERVED) - set(found))
    if missing:
        raise ImportError(f"cordage_vllm: vLLM has no {missing[0]}; install the version of examples/vllm_plugin/engine.txt")
    return found
