# SPDX-License-Identifier: MIT
"""Randomly initialised models of a few thousand weights, of every family that apply_to knows."""
import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

TRAINED = 32  # positions
SIZES = {"vocab_size": 61, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": TRAINED, "initializer_range": 0.12, "pad_token_id": 0,
         "bos_token_id": 1, "eos_token_id": 2}
FAMILIES = {
    "llama": {},
    "qwen2": {},
    "qwen3": {"head_dim": 16},
    "mistral": {"sliding_window": None},
    "phi3": {"original_max_position_embeddings": TRAINED, "partial_rotary_factor": 0.75, "head_dim": 16},
    "gpt_neox": {"partial_rotary_factor": 0.5},
    "gemma3_text": {"head_dim": 16, "sliding_window": 8, "query_pre_attn_scalar": 16,
                    "layer_types": ["sliding_attention", "full_attention"]},
}


def rotary_dim(family):
    return int(16 * FAMILIES[family].get("partial_rotary_factor", 1.0))


def scalings(family):
    """Every rope type of transformers, as a rope dictionary of this family."""
    pairs = rotary_dim(family) // 2
    every = {
        "default": {"rope_type": "default"},
        "linear": {"rope_type": "linear", "factor": 3.0},
        "dynamic": {"rope_type": "dynamic", "factor": 3.0},
        "yarn": {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": TRAINED},
        "longrope": {"rope_type": "longrope", "original_max_position_embeddings": TRAINED,
                     "short_factor": [1.0 + 0.1 * i for i in range(pairs)],
                     "long_factor": [1.0 + 0.7 * i for i in range(pairs)], "factor": 3.0},
        "llama3": {"rope_type": "llama3", "factor": 3.0, "original_max_position_embeddings": TRAINED,
                   "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    }
    return {name: every[name] for name in ("default", "longrope")} if family == "phi3" else every  # all it allows


def small(family, method="default", dtype=torch.float32, attention="eager", **changes):
    """The model, in evaluation mode, with fixed seed."""
    settings = {key: value for key, value in FAMILIES[family].items() if key != "partial_rotary_factor"}
    rope = {"rope_theta": 1000.0} | scalings(family)[method]
    if "partial_rotary_factor" in FAMILIES[family]:
        rope["partial_rotary_factor"] = FAMILIES[family]["partial_rotary_factor"]
    if family == "gemma3_text":
        rope = {"full_attention": rope, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}
    config = CONFIG_MAPPING[family](**(SIZES | settings | {"rope_parameters": rope} | changes))
    torch.manual_seed(7)
    return AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=attention).eval()


def tokens(length, batch=2):
    return torch.randint(3, SIZES["vocab_size"], (batch, length), generator=torch.Generator().manual_seed(11))
