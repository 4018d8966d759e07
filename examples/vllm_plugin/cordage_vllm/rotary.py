# SPDX-License-Identifier: MIT
"""The replacements of vLLM's rotary classes, and the operator that they call."""
from __future__ import annotations

import hashlib

import torch
import vllm.envs
from torch import Tensor
from vllm.config import get_current_vllm_config
from vllm.model_executor.custom_op import CustomOp
from vllm.model_executor.layers import rotary_embedding
from vllm.model_executor.layers.rotary_embedding.mrope import apply_interleaved_rope

from cordage_torch import rotate
from cordage_torch.rotation import rotate_by_axes

from .requests import lengths_of_batch
from .rules import WAY_OUT, LayerRule, ModelRules, settings_of

# vLLM's class of each rope_type of a config.
SERVED = {
    "RotaryEmbedding": "default",
    "LinearScalingRotaryEmbedding": "linear",
    "DynamicNTKScalingRotaryEmbedding": "dynamic",
    "DynamicNTKAlphaRotaryEmbedding": "dynamic",
    "YaRNScalingRotaryEmbedding": "yarn",
    "DeepseekScalingRotaryEmbedding": "yarn",
    "Llama3RotaryEmbedding": "llama3",
    "Phi3LongRoPEScaledRotaryEmbedding": "longrope",
    "MRotaryEmbedding": "default",  # or "yarn"
}
_TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)

_layers: dict[str, CordageRotary] = {}


class CordageRotary:
    """Base of the replacements: the constructor of vLLM's class, cordage's rotation. There is no table of cos and sin, so
    that a kernel that reads one fails."""

    rope_type: str
    rule: LayerRule | None

    def __init__(self, *args, **kwargs) -> None:
        config = get_current_vllm_config()
        rules = ModelRules(config)
        super().__init__(*args, **kwargs)
        rope_type = self.rope_type
        if getattr(self, "mrope_section", None) and self.scaling_factor is not None:
            rope_type = "yarn"
        try:
            self.rule = rules.of(rope_type, self.rotary_dim, self.base)
        except ValueError as refused:
            towers = config.model_config.multimodal_config
            if towers is None or not towers.language_model_only:
                raise
            self.rule, self.refused = None, str(refused)  # of a tower, which vLLM makes and leaves out
            return
        self.interleaved = not getattr(self, "is_neox_style", True)  # LongRoPE's class has half-split pairs only
        if self.rotary_dim > self.head_size:
            raise ValueError(f"cordage_vllm: head_dim {self.head_size} must be >= rotary_dim {self.rotary_dim}; {WAY_OUT}")
        if self.rule.rule["first_lane"] > 0 and self.rotary_dim != self.head_size:  # DeepSeek: vLLM slices these lanes off
            raise ValueError(f"cordage_vllm: head_dim {self.head_size} must be rotary_dim {self.rotary_dim}, as "
                             f"vLLM passes the rotated lanes as separate heads; {WAY_OUT}")
        factor = float(self.rule.at(None).attention_factor)
        if self.rule.learned is None and abs(getattr(self, "mscale", factor) - factor) > 1e-6:
            raise ValueError(f"cordage_vllm: vLLM's attention factor {self.mscale} must be {factor}, that of "
                             f"rope_parameters; {WAY_OUT}")
        axes = _axis_of_pair(self)
        if axes != self.rule.axis_of_pair.tolist():
            raise ValueError(f"cordage_vllm: vLLM rotates pairs by the axes {axes}, must be {self.rule.axis_of_pair.tolist()} "
                             f"as mrope_section and mrope_interleaved say; {WAY_OUT}")
        # Equal in all processes and at each start, since compiled code that vLLM keeps on disk contains it.
        said = f"{self.rule.config_json} {self.rule.layer_type} {settings_of(config)} {self.head_size} {self.interleaved}"
        self.key = hashlib.sha256(said.encode()).hexdigest()
        _layers[self.key] = self

    def _compute_cos_sin_cache(self, *_) -> Tensor:
        return torch.empty(0, self.rotary_dim)

    def forward_native(self, positions: Tensor, query: Tensor, key: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        if self.rule is None:
            raise ValueError(self.refused)
        turned = torch.ops.cordage_vllm.rotate(positions, [query] if key is None else [query, key], self.key)
        return turned[0], None if key is None else turned[1]

    forward_cpu = forward_native  # called in eager mode; vLLM compiles forward_native


class CordageLongRope(CordageRotary):
    """vLLM's LongRoPE class is a plain module without dispatch to forward_cpu."""

    forward = CordageRotary.forward_native


class _OfEngines(dict):
    """The layers that get_rope has made, in place of its own dictionary, which engines in one process share."""

    def __contains__(self, key) -> bool:
        return super().__contains__(_with_settings(key))

    def __getitem__(self, key):
        return super().__getitem__(_with_settings(key))

    def __setitem__(self, key, layer) -> None:
        super().__setitem__(_with_settings(key), layer)


def _with_settings(key: tuple) -> tuple:
    return *key, settings_of(get_current_vllm_config())


def _axis_of_pair(layer) -> list[int]:
    """The position axis that rotates each pair of a vLLM layer; [] if a token has one position."""
    section = getattr(layer, "mrope_section", None)
    if not section:
        return []
    if layer.mrope_interleaved:
        return apply_interleaved_rope(torch.arange(3)[:, None].expand(3, layer.rotary_dim // 2), section).tolist()
    return [axis for axis, pairs in enumerate(section) for _ in range(pairs)]


def _rotate(positions: Tensor, x: list[Tensor], key: str) -> list[Tensor]:
    layer = _layers[key]
    ids, heads = _checked(layer, positions, x)
    turned = []
    for begin, end, basis in _runs(layer.rule, ids.shape[-1]):
        parts, of_part = (one[:, begin:end] for one in heads), ids[:, begin:end]
        turn = {"inv_freq": basis.inv_freq, "attention_factor": basis.attention_factor, "interleaved": layer.interleaved,
                "heads_first": False}
        if len(ids) == 1:
            turned.append(rotate(*parts, position_ids=of_part[0], **turn))
        else:
            turned.append(rotate_by_axes(*parts, position_ids=of_part[:, None], axis_of_pair=layer.rule.axis_of_pair, **turn))
    whole = turned[0] if len(turned) == 1 else [torch.cat(parts, 1) for parts in zip(*turned, strict=True)]
    return [y.reshape(one.shape) for y, one in zip(whole, x, strict=True)]


def _checked(layer, positions: Tensor, x: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Positions as [1 or axes, tokens], and each x as [1, tokens, heads, head_dim]."""
    has_axes = positions.dim() == 2 and len(layer.rule.axis_of_pair) > 0
    tokens = positions.shape[1:] if has_axes else positions.shape
    for one in x:
        if one.shape[:len(tokens)] != tokens or one.shape[-1] % layer.head_size != 0:
            raise ValueError(f"cordage_vllm: q or k {list(one.shape)} must be [tokens, heads * head_dim] of head_dim "
                             f"{layer.head_size} and positions {list(positions.shape)}; {WAY_OUT}")
        if one.dtype not in _TYPES:
            raise ValueError(f"cordage_vllm: q or k of {one.dtype} must be float32, bfloat16 or float16, as dtype says; "
                             f"{WAY_OUT}")
    count = tokens.numel()
    return positions.reshape(-1 if has_axes else 1, count), [one.reshape(1, count, -1, layer.head_size) for one in x]


def _runs(rule: LayerRule, tokens: int) -> list[list]:
    """[first token, end, basis] of neighbouring requests with one basis. Tokens after the last request are padding."""
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
    rotary_embedding._ROPE_DICT = _OfEngines()
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
