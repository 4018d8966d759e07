# SPDX-License-Identifier: MIT
"""Writes a learned basis in forms that engines without cordage read: LongRoPE's factors in a config.json, LeRoPE's alpha,
and tensors for ggml."""
from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from .clex import CLEX
from .lerope import LeRoPE
from .over_basis import unscaled_inv_freq
from .rules import LEROPE_FAMILIES, Rule
from .table import LearnedTable
from .tempered import Tempered, check_whole_heads

LearnedModule = CLEX | LearnedTable | LeRoPE | Tempered


def longrope_parameters(config, basis: LearnedModule, length: int) -> dict:
    """LongRoPE's dictionary of the basis at `length` tokens: `rope_parameters` without the config's own rope_theta, and a rule
    for apply_to.

    The short factors are used up to the config's trained length, the long ones, 1 / alpha(t) of the pairs, beyond. Engines have one
    attention factor for both, so it is that of `length` tokens: a temperature (Tempered) also acts within the trained length.
    It is written as `attention_factor` for transformers, which warns of the other two, and as `short_mscale` and
    `long_mscale` for vLLM.

    Args:
        config: the model's transformers config, of rope_type "default"
        basis: a CLEX, LearnedTable or LeRoPE, of its rotary_dim and theta_base, Tempered or not
        length: tokens, beyond the trained length

    Raises ValueError naming the argument.
    """
    trained = _trained(config)
    return {"rope_type": "longrope", "factor": length / trained, "original_max_position_embeddings": trained,
            **_factors(config, basis, length)}


def save_longrope(config, basis: LearnedModule, length: int, folder: str | Path) -> None:
    """Writes folder/config.json: the model's, with `longrope` factors that give the basis at `length` tokens.

        save_longrope(model.config, clex, 32768, "extended")

    Writes `rope_parameters` (longrope_parameters) for transformers 5 and, if whole heads are rotated and all layers are
    alike, `rope_scaling` for transformers 4. A config without `architectures`, such as one read from a GGUF file, gets the
    causal language model of its type, without which vLLM would serve the model without its head.

    Args:
        config, basis: as for longrope_parameters; the config is not changed
        length: tokens, > the trained length; becomes max_position_embeddings

    Raises ValueError naming the argument.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    longrope = longrope_parameters(config, basis, length)
    trained = longrope["original_max_position_embeddings"]
    config = copy.deepcopy(config)
    text = config.get_text_config()
    if not getattr(text, "rope_parameters", None):
        raise ValueError(f"export: config of model_type {text.model_type!r} has no rope_parameters, which its model must read; "
                         "apply_to(model, longrope_parameters(config, basis, length)) rotates the model by the basis")
    by_layer_type = "full_attention" in text.rope_parameters
    own = text.rope_parameters["full_attention"] if by_layer_type else text.rope_parameters
    own.update(longrope)
    text.max_position_embeddings = length
    if hasattr(text, "original_max_position_embeddings"):
        text.original_max_position_embeddings = trained
    said = config.to_diff_dict()
    if not config.architectures and config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        said["architectures"] = [MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[config.model_type]]
    if text is config and not by_layer_type and "partial_rotary_factor" not in own:  # the older spelling suffices
        said |= {"original_max_position_embeddings": trained, "rope_theta": own["rope_theta"], "rope_scaling": own}
    path = Path(folder, "config.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, lambda new: new.write_text(json.dumps(said, indent=2) + "\n"))


def save_freq_factors(config, basis: LearnedModule, length: int, path: str | Path) -> None:
    """Writes the basis at `length` tokens as float32 tensors [pairs] in a GGUF file: freq_factors of ggml_rope_ext (which
    divides inv_freq by them). Needs PyPI's gguf.

        rope_freqs.weight           for every length
        rope_factors_long.weight    the same, and
        rope_factors_short.weight   for llama.cpp's choice between both by the length of the context

    The metadata are rope.scaling.attn_factor, rope.scaling.original_context_length and context_length. Config, basis and
    length are as for save_longrope; path is the file. Raises ValueError naming the argument.
    """
    import gguf

    trained, factors = _trained(config), _factors(config, basis, length)

    def write(new: Path) -> None:
        writer = gguf.GGUFWriter(new, config.get_text_config().model_type)
        writer.add_context_length(length)
        writer.add_rope_scaling_orig_ctx_len(trained)
        writer.add_rope_scaling_attn_factors(factors["attention_factor"])
        tensors = {"rope_freqs": "long_factor", "rope_factors_long": "long_factor", "rope_factors_short": "short_factor"}
        for name, which in tensors.items():
            writer.add_tensor(f"{name}.weight", torch.tensor(factors[which], dtype=torch.float32).numpy())
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    _replace(Path(path), write)


# Tensors that llama.cpp's loader reads (llama-cpp-python 0.3.36), by general.architecture. Files of other families with
# one of them do not load; with only the type longrope they would run unscaled.
_GGUF_TENSORS = {
    "llama": {"rope_freqs": "long_factor"},
    "mistral3": {"rope_freqs": "long_factor"},
    "phi3": {"rope_factors_long": "long_factor", "rope_factors_short": "short_factor"},
}
_GGUF_ARCHITECTURES = {"llama": ("llama",), "mistral": ("llama", "mistral3"), "phi3": ("phi3",)}  # by model_type


def check_gguf(config, basis: LearnedModule, model: str | Path, path: str | Path) -> None:
    """Checks the arguments of save_gguf; raises ValueError naming the argument or the key, and the remedy."""
    _read_gguf(config, basis, model, path)


def save_gguf(config, basis: LearnedModule, length: int, model: str | Path, path: str | Path,
              temperatures: Tensor | None = None) -> None:
    """Writes a complete GGUF file that llama.cpp runs: `model` with the basis at `length` tokens. Needs PyPI's gguf.

        save_gguf(model.config, clex, 32768, "model.gguf", "extended.gguf")

    Architectures llama and mistral3 get the tensor rope_freqs.weight, which holds for every length; phi3 gets
    rope_factors_long.weight, for contexts beyond the trained length, and rope_factors_short.weight, with rope.scaling.type
    'longrope'. All get rope.scaling.attn_factor, rope.scaling.original_context_length and context_length; everything else is
    copied.

    Args:
        config, basis, length: as for save_longrope
        model: GGUF file, with any quantisation, that llama.cpp's converter made of the same model
        path: the file to write
        temperatures: of HeadTemperatures, [layers, heads]; multiply the rows of each head's queries, which are written as float16
            if they are quantised

    Raises ValueError naming the argument or the key, also for an architecture without such tensors.
    """
    import gguf

    text = config.get_text_config()
    heads = [text.num_hidden_layers, text.num_attention_heads]
    if temperatures is not None and list(temperatures.shape) != heads:
        raise ValueError(f"export: temperatures {list(temperatures.shape)} must be [layers, heads] = {heads} of the config")
    factors = _factors(config, basis, length)
    reader, arch = _read_gguf(config, basis, model, path)
    said = {"context_length": (length, gguf.GGUFValueType.UINT32),
            "rope.scaling.original_context_length": (_trained(config), gguf.GGUFValueType.UINT32),
            "rope.scaling.attn_factor": (factors["attention_factor"], gguf.GGUFValueType.FLOAT32)}
    if "rope_factors_long" in _GGUF_TENSORS[arch]:
        said["rope.scaling.type"] = ("longrope", gguf.GGUFValueType.STRING)
    said = {f"{arch}.{key}": value for key, value in said.items()}
    tensors = reader.tensors if temperatures is None else [_tempered(one, temperatures, config) for one in reader.tensors]

    def write(new: Path) -> None:
        writer = gguf.GGUFWriter(new, arch, endianess=reader.endianess)
        for name, field in reader.fields.items():
            if name == gguf.Keys.General.ALIGNMENT:
                writer.data_alignment = field.contents()  # where tensors begin
            if name != gguf.Keys.General.ARCHITECTURE and not name.startswith("GGUF.") and name not in said:
                kind = field.types[0]
                element = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
                writer.add_key_value(name, field.contents(), kind, sub_type=element)
        for name, (value, kind) in said.items():
            writer.add_key_value(name, value, kind)
        ours = {f"{name}.weight": torch.tensor(factors[which], dtype=torch.float32).numpy()
                for name, which in _GGUF_TENSORS[arch].items()}
        for name, values in ours.items():
            writer.add_tensor_info(name, values.shape, values.dtype, values.nbytes)
        for tensor in tensors:
            writer.add_tensor_info(tensor.name, tensor.data.shape, tensor.data.dtype, tensor.data.nbytes, tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for values in ours.values():
            writer.write_tensor_data(values)
        for tensor in tensors:
            writer.write_tensor_data(tensor.data, tensor_endianess=reader.endianess)
        writer.close()

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    _replace(Path(path), write)


def _tempered(tensor, temperatures: Tensor, config):
    """A tensor of a GGUF file, with the temperatures of its layer's heads if it is of queries. llama.cpp permutes rows within a
    head only."""
    import gguf

    parts = tensor.name.split(".")
    if parts[0] != "blk" or parts[2] not in ("attn_q", "attn_qkv"):
        return tensor
    if int(parts[1]) >= len(temperatures):
        raise ValueError(f"export: MODEL.gguf has {tensor.name}, must have the {len(temperatures)} layers of the config; convert MODEL "
                         "anew")
    values = torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type).copy())
    rule, of_layer = Rule(config.get_text_config()), temperatures[int(parts[1])]
    factors = torch.ones(len(values))
    factors[:len(of_layer) * rule["head_dim"]] = of_layer.repeat_interleave(rule["head_dim"])
    values = (values.t() * factors).t().contiguous()
    kind = gguf.GGMLQuantizationType
    is_wide = tensor.tensor_type == kind.F32
    return gguf.ReaderTensor(tensor.name, kind.F32 if is_wide else kind.F16, tensor.shape, values.numel(),
                             values.numel() * (4 if is_wide else 2), 0,
                             values.numpy() if is_wide else values.half().numpy(), tensor.field)


def _read_gguf(config, basis: LearnedModule, model: str | Path, path: str | Path):
    """The reader of a GGUF file that fits config and basis, and its architecture."""
    import gguf

    if Path(path).resolve() == Path(model).resolve():
        raise ValueError(f"export: path {path} must be another file than MODEL.gguf, which is read while it is written")
    try:
        reader = gguf.GGUFReader(model)
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise ValueError(f"export: MODEL.gguf {model} must be a GGUF file: {error}") from error

    def value(key, default=None):
        field = reader.get_field(key)
        return default if field is None else field.contents()

    arch, family = value(gguf.Keys.General.ARCHITECTURE), config.get_text_config().model_type
    if arch not in _GGUF_TENSORS:
        raise ValueError(f"export: {model} has general.architecture {arch!r}, must be llama, mistral3 or phi3: llama.cpp takes "
                         "no frequency factors for others; serve the exported config.json by transformers or vLLM")
    if arch not in _GGUF_ARCHITECTURES.get(family, ()):
        raise ValueError(f"export: {model} has general.architecture {arch!r}, must be of MODEL, of type {family!r}")
    if value("split.count", 0) > 1:
        raise ValueError(f"export: {model} has split.count {value('split.count')}, must be one file; merge it by "
                         "llama-gguf-split")
    theta_base = float(torch.tensor(basis.theta_base, dtype=torch.float32))
    for key, default, expected, why in (
            ("rope.dimension_count", None, basis.rotary_dim, "the rotary_dim of MODEL"),
            ("rope.freq_base", 10000.0, theta_base, "the theta_base of MODEL"),
            ("context_length", None, _trained(config), "the trained length of MODEL"),
            ("rope.scaling.type", "none", "none", "as a basis is learned over an unscaled one"),
            ("rope.scaling.factor", 1.0, 1.0, "as a basis is learned over an unscaled one"),
            ("rope.scale_linear", 1.0, 1.0, "as a basis is learned over an unscaled one")):
        found = value(f"{arch}.{key}", default)
        if found != expected:
            raise ValueError(f"export: {model} has {arch}.{key} {found!r}, must have {expected!r}, {why}; convert MODEL anew")
    for tensor in reader.tensors:
        if tensor.name in ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"):
            raise ValueError(f"export: {model} has the tensor {tensor.name}, must have none, as a basis is learned over an "
                             "unscaled one; convert MODEL anew")
    return reader, arch


@torch.no_grad()
def lerope_alpha(config, basis: LearnedModule, length: int) -> Tensor:
    """The alpha, [pairs] float32, with which a LeRoPE model has the basis at `length` tokens: the logarithm of its inv_freq
    divided by that of the config's rule. Raises ValueError naming the argument."""
    text = config.get_text_config()
    if text.model_type not in LEROPE_FAMILIES:
        raise ValueError(f"export: config of model_type {text.model_type!r} has no alpha, must be of {LEROPE_FAMILIES[-1]!r}; "
                         "save_longrope exports to other models")
    rule = Rule(text)
    _check_same_pairs(rule, basis)
    own, own_factor = rule.basis(torch.tensor(length))
    learned, factor = basis.basis(_ratio(basis, length))
    if not math.isclose(factor, own_factor):
        raise ValueError(f"export: basis has attention factor {factor:g} at length {length}, must have the config's "
                         f"{own_factor:g}")
    return (learned / own).log().float()


def save_lerope(config, basis: LearnedModule, length: int, folder: str | Path,
                temperatures: Mapping[str, Tensor] | None = None) -> None:
    """Writes folder/lerope.safetensors, the alpha of the basis at `length` tokens under its name in the model, and
    folder/config.json, the model's, with max_position_embeddings of at least that many tokens.

        save_lerope(model.config, clex, 32768, "extended")
        model.load_state_dict(safetensors.torch.load_file("extended/lerope.safetensors"), strict=False)

    Args:
        config: the transformers config of a Mistral Large 4, or of its language model; it is not changed
        basis: a CLEX, LearnedTable or LeRoPE, with the model's rotary_dim, theta_base and attention factor
        temperatures: scale and bias of heads, by their names in the model, to be written beside the alpha

    Raises ValueError naming the argument.
    """
    from safetensors.torch import save_file

    alpha = lerope_alpha(config, basis, length)
    config = copy.deepcopy(config)
    text = config.get_text_config()
    text.max_position_embeddings = max(length, text.max_position_embeddings)
    name = "rotary_emb.alpha" if text is config else "model.language_model.rotary_emb.alpha"
    tensors = {name: alpha, **{key: one.detach().contiguous() for key, one in (temperatures or {}).items()}}
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    _replace(path / "lerope.safetensors", lambda new: save_file(tensors, new, {"format": "pt"}))
    _replace(path / "config.json", lambda new: new.write_text(json.dumps(config.to_diff_dict(), indent=2) + "\n"))


@torch.no_grad()
def _factors(config, basis: LearnedModule, length: int) -> dict:
    """LongRoPE's dictionary for the basis at the trained length and at `length`."""
    rule = Rule(config.get_text_config())
    if rule["rope_type"] != "default":
        raise ValueError(f"export: config has rope_type {rule['rope_type']!r}, must have 'default'")
    _check_same_pairs(rule, basis)
    trained = max(basis.original_length, _trained(config))
    if length <= trained:
        raise ValueError(f"export: length {length} must be > the trained length {trained:g}")
    t = _ratio(basis, length)
    unscaled = unscaled_inv_freq(basis)
    (short, _), (long, factor) = basis.basis(1.0), basis.basis(t)
    factor = float(factor)
    return {"short_factor": (unscaled / short).tolist(), "long_factor": (unscaled / long).tolist(),
            "attention_factor": factor, "short_mscale": factor, "long_mscale": factor}


def _trained(config) -> int:
    """The config's trained length. A basis may have a shorter one: its t is then larger."""
    return round(Rule(config.get_text_config())["original_length"])


def _check_same_pairs(rule: Rule, basis: LearnedModule) -> None:
    for name in ("rotary_dim", "theta_base"):
        if getattr(basis, name) != rule[name]:
            raise ValueError(f"export: basis has {name} {getattr(basis, name)}, must have the config's {rule[name]}")
    check_whole_heads("export", basis, rule)


def _ratio(basis: LearnedModule, length: int) -> float:
    t = length / basis.original_length
    if t > basis.t_max:
        raise ValueError(f"export: length {length} is t = {t:g}, must be <= t_max = {basis.t_max:g} of the basis")
    return max(1.0, t)


def _replace(path: Path, write) -> None:
    """Writes a file atomically."""
    new = path.with_name(path.name + ".new")
    write(new)
    os.replace(new, path)
