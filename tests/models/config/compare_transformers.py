# SPDX-License-Identifier: MIT
"""Compares cordage_inspect --json with transformers: the same config through its config classes and rotary modules.

usage: compare_transformers.py PATH_OF_CORDAGE_INSPECT

Prints the largest relative difference of each case. transformers computes in float32, so 4e-6 is agreement. Exits with 77
("skipped") where transformers or torch is missing.
"""
import importlib
import json
import subprocess
import sys
import tempfile

AGREEMENT = 4e-6

LLAMA = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "max_position_embeddings": 4096}
TABLES = {
    "short_factor": [1.0 + 0.01 * i for i in range(32)],
    "long_factor": [1.0 + 0.5 * i for i in range(32)],
}

DEEPSEEK_V4 = {
    "model_type": "deepseek_v4", "head_dim": 512, "qk_rope_head_dim": 64, "max_position_embeddings": 1048576,
    "rope_theta": 10000.0, "compress_rope_theta": 160000.0,
    "rope_scaling": {"type": "yarn", "factor": 16.0, "beta_fast": 32.0, "beta_slow": 1.0,
                     "original_max_position_embeddings": 65536},
}

GEMMA_4 = {"model_type": "gemma4_text", "num_hidden_layers": 12, "max_position_embeddings": 131072}
DOTS_NOTE = {"model_type": "dots3_note_text", "num_hidden_layers": 8}
STEP = {
    "model_type": "step3p5", "num_hidden_layers": 4, "head_dim": 128, "max_position_embeddings": 65536,
    "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"],
    "rope_theta": [5e6, 1e4, 1e4, 1e4], "partial_rotary_factors": [0.5, 1.0, 1.0, 1.0],
}

# name, rotary class, config, layer type, length
CASES = [
    ("default", "llama.LlamaRotaryEmbedding", LLAMA, "", 4096),
    ("linear", "llama.LlamaRotaryEmbedding", LLAMA | {"rope_scaling": {"type": "linear", "factor": 4.0}}, "", 4096),
    ("dynamic", "llama.LlamaRotaryEmbedding", LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "", 9000),
    ("llama3", "llama.LlamaRotaryEmbedding",
     LLAMA | {"max_position_embeddings": 131072, "rope_theta": 500000.0,
              "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                               "original_max_position_embeddings": 8192}}, "", 100),
    ("yarn", "qwen2.Qwen2RotaryEmbedding",
     LLAMA | {"model_type": "qwen2", "rope_theta": 1e6,
              "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}, "", 100),
    ("yarn with mscale", "llama.LlamaRotaryEmbedding",
     LLAMA | {"rope_scaling": {"type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096,
                               "mscale": 1.0, "mscale_all_dim": 0.707}}, "", 100),
    ("gpt-oss", "gpt_oss.GptOssRotaryEmbedding",
     {"model_type": "gpt_oss", "head_dim": 64, "max_position_embeddings": 131072, "rope_theta": 150000.0,
      "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                       "original_max_position_embeddings": 4096}}, "", 100),
    ("longrope, short", "llama.LlamaRotaryEmbedding",
     LLAMA | {"max_position_embeddings": 131072,
              "rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 4096, **TABLES}}, "", 4096),
    ("longrope, long", "llama.LlamaRotaryEmbedding",
     LLAMA | {"max_position_embeddings": 131072,
              "rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 4096, **TABLES}}, "", 4097),
    ("partial", "gpt_neox.GPTNeoXRotaryEmbedding",
     {"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 4, "max_position_embeddings": 2048,
      "rotary_pct": 0.25, "rotary_emb_base": 20000}, "", 100),
    ("gemma 3, global", "gemma3.Gemma3RotaryEmbedding",
     {"model_type": "gemma3_text", "head_dim": 256, "max_position_embeddings": 131072, "rope_theta": 1e6,
      "rope_local_base_freq": 10000.0, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}, "full_attention", 100),
    ("gemma 3, local", "gemma3.Gemma3RotaryEmbedding",
     {"model_type": "gemma3_text", "head_dim": 256, "max_position_embeddings": 131072, "rope_theta": 1e6,
      "rope_local_base_freq": 10000.0, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}},
     "sliding_attention", 100),
    ("proportional", "llama.LlamaRotaryEmbedding",
     LLAMA | {"rope_parameters": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25}},
     "", 100),
    ("deepseek v3", "deepseek_v3.DeepseekV3RotaryEmbedding",
     {"model_type": "deepseek_v3", "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "max_position_embeddings": 163840,
      "rope_theta": 10000.0,
      "rope_scaling": {"type": "yarn", "factor": 40.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
                       "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096}}, "", 100),
    ("deepseek v4, main", "deepseek_v4.DeepseekV4RotaryEmbedding", DEEPSEEK_V4, "main", 100),
    ("deepseek v4, compress", "deepseek_v4.DeepseekV4RotaryEmbedding", DEEPSEEK_V4, "compress", 100),
    ("ministral 3", "ministral3.Ministral3RotaryEmbedding",
     {"model_type": "ministral3", "head_dim": 128, "max_position_embeddings": 262144,
      "rope_parameters": {"type": "yarn", "rope_theta": 1e6, "factor": 16.0, "beta_fast": 32.0, "beta_slow": 1.0,
                          "original_max_position_embeddings": 16384, "max_position_embeddings": 262144,
                          "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}}, "", 100),
    ("glm 4, default share", "glm4.Glm4RotaryEmbedding",
     {"model_type": "glm4", "head_dim": 128, "max_position_embeddings": 32768, "rope_theta": 10000.0}, "", 100),
    ("qwen 3.5", "qwen3_5.Qwen3_5TextRotaryEmbedding",
     {"model_type": "qwen3_5_text", "head_dim": 256, "max_position_embeddings": 262144,
      "rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25,
                          "mrope_section": [11, 11, 10], "mrope_interleaved": True}}, "", 100),
    ("modernbert, local", "modernbert.ModernBertRotaryEmbedding",
     {"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12, "max_position_embeddings": 8192,
      "global_rope_theta": 160000.0, "local_rope_theta": 10000.0}, "sliding_attention", 100),
    ("modernbert, global", "modernbert.ModernBertRotaryEmbedding",
     {"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12, "max_position_embeddings": 8192,
      "global_rope_theta": 160000.0, "local_rope_theta": 10000.0}, "full_attention", 100),
    ("gemma 4, global", "gemma4.Gemma4TextRotaryEmbedding", GEMMA_4, "full_attention", 100),
    ("gemma 4, local", "gemma4.Gemma4TextRotaryEmbedding", GEMMA_4, "sliding_attention", 100),
    ("zamba 2", "zamba2.Zamba2RotaryEmbedding",
     {"model_type": "zamba2", "hidden_size": 2560, "num_attention_heads": 32, "use_mem_rope": True,
      "max_position_embeddings": 4096}, "", 100),
    ("dots.note, global", "dots3_note.Dots3NoteTextRotaryEmbedding", DOTS_NOTE, "indexed_attention", 100),
    ("dots.note, local", "dots3_note.Dots3NoteTextRotaryEmbedding", DOTS_NOTE, "sliding_attention", 100),
    ("step 3.5, global", "step3p7.Step3p7RotaryEmbedding", STEP, "full_attention", 100),
    ("step 3.5, local", "step3p7.Step3p7RotaryEmbedding", STEP, "sliding_attention", 100),
    ("olmo 3, global", "olmo3.Olmo3RotaryEmbedding",
     {"model_type": "olmo3", "hidden_size": 1024, "num_attention_heads": 8, "max_position_embeddings": 65536,
      "rope_theta": 500000.0,
      "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192}},
     "full_attention", 100),
]


# Cases whose config is read as transformers writes it: with per_layer_config, attention_head_dim and the like.
WRITTEN = ("gemma 4", "zamba 2", "dots.note")


def written(config):
    """The config.json that transformers makes of this one."""
    from transformers import AutoConfig

    settings = dict(config)
    return json.loads(AutoConfig.for_model(settings.pop("model_type"), **settings).to_json_string(use_diff=False))


def ours(program, config, layer_type, length):
    """(inv_freq, attention_factor) as cordage has them."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        command = [program, file.name, "--json", "--length", str(length)]
        command += ["--layer-type", layer_type] if layer_type else []
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rope = json.loads(printed)["ropes"][0]
    return rope["inv_freq"], rope["attention_factor"]


def theirs(rotary_class, config, layer_type, length):
    """The same from transformers' config class and rotary module."""
    from transformers import AutoConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    family, name = rotary_class.split(".")
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    settings = json.loads(json.dumps(config))  # config classes change what they are given
    parsed = AutoConfig.for_model(settings.pop("model_type"), **settings)
    parameters = parsed.rope_parameters[layer_type] if layer_type in parsed.rope_parameters else parsed.rope_parameters
    if parameters["rope_type"] in ("dynamic", "longrope"):  # these follow the length
        inv_freq, factor = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](parsed, "cpu", seq_len=length)
        return inv_freq.tolist(), factor
    rotary = getattr(module, name)(parsed)
    prefix = layer_type + "_" if layer_type and hasattr(rotary, layer_type + "_inv_freq") else ""
    return getattr(rotary, prefix + "inv_freq").tolist(), getattr(rotary, prefix + "attention_scaling")


def difference(a, b):
    return max(0.0 if x == y else abs(x - y) / max(abs(y), 1e-300) for x, y in zip(a, b, strict=True))


def main():
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as why:
        print(f"skipped: {why}")
        return 77
    print(f"transformers {transformers.__version__}")
    worst = 0.0
    for name, rotary_class, config, layer_type, length in CASES:
        config = written(config) if name.startswith(WRITTEN) else config
        got, got_factor = ours(sys.argv[1], config, layer_type, length)
        wanted, wanted_factor = theirs(rotary_class, config, layer_type, length)
        apart = max(difference(got, wanted), abs(got_factor - wanted_factor) / wanted_factor)
        print(f"{'agrees ' if apart <= AGREEMENT else 'DIFFERS'} {name}: {apart:.1e}")
        worst = max(worst, apart)
    return 0 if worst <= AGREEMENT else 1


if __name__ == "__main__":
    sys.exit(main())
