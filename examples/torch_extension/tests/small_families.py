# SPDX-License-Identifier: MIT
"""Randomly initialised models of a few thousand weights, of every family of transformers whose module asks for the kernel
rotary_pos_emb."""
import functools
import importlib
import inspect
from pathlib import Path

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel

LENGTH = 12
SIZES = {
    "hidden_size": 64, "d_model": 64, "hidden_dim": 64, "embedding_dim": 64, "intermediate_size": 96, "vocab_size": 64,
    "num_hidden_layers": 2, "num_layers": 2, "n_layers": 2, "num_attention_heads": 4, "n_heads": 4, "num_heads": 4,
    "num_key_value_heads": 4, "kv_n_heads": 4, "head_dim": 16, "attention_head_dim": 16, "max_position_embeddings": 64,
    "max_seq_len": 64, "query_pre_attn_scalar": 16, "sliding_window": 8, "initializer_range": 0.12,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 16, "v_head_dim": 16,
    "index_n_heads": 4, "index_head_dim": 16, "index_topk": 64,
    "n_routed_experts": 4, "num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
    "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, "first_k_dense_replace": 1, "n_shared_experts": 1,
    "mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 16, "mamba_n_groups": 1,
    "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
    "cross_num_attention_heads": 4, "cross_num_key_value_heads": 4, "cross_head_dim": 16, "cross_hidden_size": 64,
    "image_size": 32, "patch_size": 8, "num_mel_bins": 16, "subsampling_conv_channels": 8,
}
AXES = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}}
INTERLEAVED_AXES = {"rope_parameters": AXES["rope_parameters"] | {"mrope_section": [3, 3, 2]}}
ROTATES_SOME = {"layer_types": ["sliding_attention", "full_attention"]}
# Settings of a family in addition to SIZES, by its config or the part of it that is used here.
INTERLEAVES = ("axk1", "deepseek_v3", "glm4_moe_lite", "mistral4", "youtu")  # by default rotated by another function
EXTRA = {family: {"rope_interleave": False} for family in INTERLEAVES} | {
    "cohere_compass": {"rope_parameters": {"full_attention": INTERLEAVED_AXES["rope_parameters"]},
                       "layer_types": ["full_attention", "full_attention"]},
    "cosmos3_edge": INTERLEAVED_AXES, "qwen3_omni_moe": INTERLEAVED_AXES, "qwen3_vl": INTERLEAVED_AXES,
    "qwen3_vl_moe": INTERLEAVED_AXES, "paddleocr_vl": AXES, "qwen2_5_omni": AXES, "qwen2_5_vl": AXES, "qwen2_vl": AXES,
    "dbrx": {"attn_config": {"kv_n_heads": 4, "clip_qkv": 8.0, "rope_theta": 10000.0}},
    "deepseek_ocr2": {"mlp_layer_types": ["dense", "sparse"]},
    "esm": {"position_embedding_type": "rotary"},
    "beam": ROTATES_SOME, "flint": ROTATES_SOME, "gemma3": ROTATES_SOME, "lfm3": ROTATES_SOME,
    "olmo3": ROTATES_SOME, "ultrabert": ROTATES_SOME,
    "gradium_phonon_tts": {"flow_head_config": {"condition_dim": 64}},
    "granitemoehybrid": {"mamba_expand": 1, "position_embedding_type": "rope", "layer_types": ["attention", "attention"]},
    "hunyuan_vl": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 2, 2, 2]}},
    "idefics": {"num_hidden_layers": 2, "cross_layer_interval": 1},
    "lfm2_moe": {"layer_types": ["full_attention", "full_attention"]},
    "mistral4": {"head_dim": 24, "rope_interleave": False},
    "t5gemma": {"is_encoder_decoder": False}, "t5gemma2": ROTATES_SOME | {"dropout_rate": 0.0},
    "pocket_tts": {"flow_head_config": {"condition_dim": 64}},
    "zamba2": {"layers_block_type": ["mamba", "hybrid"], "use_mem_rope": True},
}
MODELS = {  # where it is not the first of ...ForCausalLM, ...TextModel, ...Model
    "lasr": "LasrEncoder", "nemotron_asr_streaming": "NemotronAsrStreamingEncoder", "parakeet": "ParakeetEncoder",
    "t5gemma": "T5GemmaEncoderModel", "t5gemma2": "T5Gemma2TextEncoder", "timesfm2_5": "TimesFm2_5Model",
    "neucodec": "NeuCodecDecoder", "xcodec2": "Xcodec2Decoder",
    "voxtral_realtime": "VoxtralRealtimeEncoder",
}
INPUTS = {  # where they are no input_ids: shapes of floating tensors
    "idefics": {"image_encoder_embeddings": (2, 1, 5, 768), "image_attention_mask": (2, LENGTH, 1)},
    "lasr": {"input_features": (2, 64, 16)},
    "nemotron_asr_streaming": {"input_features": (2, 64, 16)}, "neucodec": {"hidden_states": (2, LENGTH, 128)},
    "parakeet": {"input_features": (2, 64, 16)}, "pixtral": {"pixel_values": (2, 3, 32, 32)},
    "timesfm2_5": {"past_values": (2, 64)}, "voxtral_realtime": {"input_features": (2, 16, 64)},
    "xcodec2": {"hidden_states": (2, LENGTH, 128)},
}
NOT_ROTATED = {
    "jamba": "no layer calls it", "nemotron_asr_streaming": "relative positions", "nemotron_h": "no layer calls it",
    "parakeet": "relative positions",
}
NOT_CALLED = NOT_ROTATED | {"exaone4_5": "its language model is EXAONE 4's"}  # the function of the module


@functools.cache
def asking() -> dict:
    """The modules that ask for the kernel, by family."""
    root = Path(transformers.__file__).parent / "models"
    return {path.stem.removeprefix("modeling_"): f"transformers.models.{path.parent.name}.{path.stem}"
            for path in sorted(root.glob("*/modeling_*.py"))
            if '@use_kernel_forward_from_hub("rotary_pos_emb")' in path.read_text()}


def _small_config(cls, extra=()):
    whole = cls()
    keys = {*vars(whole), *whole.to_dict()} - set(cls.attribute_map)
    parts = {key: _small_config(type(getattr(whole, key))) for key in cls.sub_configs or {}
             if isinstance(getattr(whole, key, None), PreTrainedConfig)}
    return cls(**{key: value for key, value in SIZES.items() if key in keys} | parts | dict(extra))


def _class_of(family):
    module = importlib.import_module(asking().get(family, f"transformers.models.{family}.modeling_{family}"))
    if family in MODELS:
        return getattr(module, MODELS[family])
    classes = [one for one in vars(module).values() if inspect.isclass(one) and issubclass(one, PreTrainedModel)
               and one.__module__ == module.__name__ and "PreTrained" not in one.__name__]
    for ending in ("ForCausalLM", "TextModel", "Model"):
        found = [one for one in classes if one.__name__.endswith(ending)]
        if found:
            return min(found, key=lambda one: len(one.__name__))
    raise ValueError(f"{family}: name its model in MODELS")


def small(family, dtype=torch.float32, **changes):
    """A model of the family in evaluation mode, with fixed seed, and its inputs."""
    model_class = _class_of(family)
    module = importlib.import_module(model_class.__module__)
    config_class = getattr(model_class, "config_class", None) or getattr(module, model_class.__name__[:-7] + "Config")
    config = _small_config(config_class, EXTRA.get(family, {}) | changes)
    config._attn_implementation = "eager"
    torch.manual_seed(7)
    model = model_class(config).to(dtype).eval()
    generator = torch.Generator().manual_seed(11)
    if family in INPUTS:
        given = {name: torch.randn(shape, generator=generator, dtype=dtype) for name, shape in INPUTS[family].items()}
    else:
        given = {"input_ids": torch.randint(3, 60, (2, LENGTH), generator=generator)}
    if family == "idefics":
        given["input_ids"] = torch.randint(3, 60, (2, LENGTH), generator=generator)
    return model, given | ({"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {})


def result(model, inputs):
    """The model's first floating output, and the gradients of a fixed sum of it to all weights."""
    model.zero_grad()
    with torch.enable_grad():
        out = model(**inputs)
        parts = [out] if isinstance(out, torch.Tensor) else out.values()
        first = next(one for one in parts if isinstance(one, torch.Tensor) and one.is_floating_point())
        weights = torch.randn(first.shape, generator=torch.Generator().manual_seed(3), dtype=first.dtype)
        (first * weights).sum().backward()
    return first.detach(), [one.grad for one in model.parameters() if one.grad is not None]


def apart(got, expected):
    """The largest difference relative to the largest number."""
    largest = max(float(one.abs().max()) for one in expected)
    return max(float((one - other).abs().max()) for one, other in zip(got, expected, strict=True)) / largest
