# SPDX-License-Identifier: MIT
"""Patches of small grids, rotated by transformers' vision and audio towers: tests/golden/towers.json.

python tests/hosts/towers_golden.py writes that file; test_towers.py compares it with the installed version."""
import importlib
import json

import numpy as np

import golden_file
import tower_classes

FILE = golden_file.FOLDER / "towers.json"

PACKED = [[1, 4, 4], [2, 2, 4]]
IMAGE = [[1, 3, 4]]
HEADS = {"hidden_size": 32, "num_attention_heads": 2}
NUM_HEADS = {"hidden_size": 32, "num_heads": 2}
MEMORY = {"memory_attention_hidden_size": 32, "memory_attention_num_attention_heads": 2}
THETA = {"rope_parameters": {"rope_type": "axial", "rope_theta": 500.0}}

# package: (class of configs, rotary class, what a config.json says, grids)
TOWERS = {
    "qwen2_vl": ("Qwen2VLVisionConfig", "Qwen2VLVisionRotaryEmbedding", {"embed_dim": 32, "num_heads": 2}, PACKED),
    "qwen2_5_vl": ("Qwen2_5_VLVisionConfig", "Qwen2_5_VLVisionRotaryEmbedding", {**NUM_HEADS, **THETA}, PACKED),
    "qwen3_vl": ("Qwen3VLVisionConfig", "Qwen3VLVisionRotaryEmbedding", {**NUM_HEADS, "spatial_merge_size": 1}, PACKED),
    "glm4v": ("Glm4vVisionConfig", "Glm4vVisionRotaryEmbedding", NUM_HEADS, PACKED),
    "ernie4_5_vl_moe": ("Ernie4_5_VLMoeVisionConfig", "Ernie4_5_VLMoeVisionRotaryEmbedding", NUM_HEADS, PACKED),
    "lfm3_vl": ("Lfm3VlVisionConfig", "Lfm3VlVisionRotaryEmbedding", HEADS, PACKED),
    "minimax_m3_vl": ("MiniMaxM3VLVisionConfig", "MiniMaxM3VLVisionRotaryEmbedding",
                      {"hidden_size": 40, "num_attention_heads": 2}, PACKED),
    "paddleocr_vl": ("PaddleOCRVisionConfig", "PaddleOCRVisionRotaryEmbedding", HEADS, PACKED),
    "pixtral": ("PixtralVisionConfig", "PixtralVisionRotaryEmbedding", {**HEADS, **THETA}, IMAGE),
    "dinov3_vit": ("DINOv3ViTConfig", "DINOv3ViTRopePositionEmbedding",
                   {**HEADS, "num_register_tokens": 2, "rope_theta": 50.0}, IMAGE),
    "sapiens2": ("Sapiens2Config", "Sapiens2RopePositionEmbedding", {**HEADS, "num_register_tokens": 0}, IMAGE),
    "eomt_dinov3": ("EomtDinov3Config", "EomtDinov3RotaryEmbedding", HEADS, IMAGE),
    "step3p7": ("Step3p7VisionConfig", "Step3p7VisionRotaryEmbedding", HEADS, IMAGE),
    "kimi_k25": ("Kimi_K25VisionConfig", "Kimi_K25VisionRotaryEmbedding", HEADS, PACKED),
    "muse_glimmer": ("MuseGlimmerVisionConfig", "MuseGlimmerVisionRotaryEmbedding", HEADS, PACKED),
    "gemma4": ("Gemma4VisionConfig", "Gemma4VisionRotaryEmbedding", {**HEADS, "head_dim": 16}, IMAGE),
    "inkling2": ("Inkling2VisionConfig", "Inkling2VisionRotaryEmbedding", HEADS, PACKED),
    "llama4": ("Llama4VisionConfig", "Llama4VisionRotaryEmbedding", HEADS, [[1, 3, 3]]),
    "sam2_video": ("Sam2VideoConfig", "Sam2VideoVisionRotaryEmbedding", MEMORY, IMAGE),
    "edgetam_video": ("EdgeTamVideoConfig", "EdgeTamVideoVisionRotaryEmbedding",
                      {**MEMORY, "memory_attention_downsample_rate": 2}, IMAGE),
    "sam3": ("Sam3ViTConfig", "Sam3ViTRotaryEmbedding", {**HEADS, "window_size": 3}, IMAGE),
    "efficientloftr": ("EfficientLoFTRConfig", "EfficientLoFTRRotaryEmbedding",
                       {"hidden_size": 16, "num_attention_heads": 2, "out_features": [16, 16, 16, 16],
                        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0}},
                       IMAGE),
    "musicflamingo": ("MusicFlamingoConfig", "MusicFlamingoRotaryEmbedding",
                      {"audio_config": {"model_type": "audioflamingo3_encoder", "hidden_size": 20}}, [[1, 3, 5]]),
}


def case(package):
    config_name, rotary_name, settings, grids = TOWERS[package]
    configs = importlib.import_module(f"transformers.models.{package}.configuration_{package}")
    module = importlib.import_module(f"transformers.models.{package}.modeling_{package}")
    config = getattr(configs, config_name)(**json.loads(json.dumps(settings)))
    prefix = 1 + config.num_register_tokens if hasattr(config, "num_register_tokens") else 0
    matrices = tower_classes.rotated(getattr(module, rotary_name), config, grids, prefix)
    tokens, lanes, _ = matrices.shape
    x = (7 * np.arange(tokens)[:, None] + 3 * np.arange(lanes)) % 11 - 5.0
    y = np.einsum("tij,tj->ti", matrices, x)
    return {"kind": "tower_rotation", "name": package, "config": {"model_type": config.model_type, **settings},
            "grids": grids, "y_float32": {"shape": list(y.shape), "data": [float(f"{v:.9g}") for v in y.flatten()]}}


def golden():
    import transformers
    return {
        "description": "Patches of small grids as vision and audio towers rotate them.",
        "source": f"rotary classes and position code of each tower in transformers {transformers.__version__}, in "
                  "float32",
        "convention": {
            "config": "the keys of a config.json that count; others have the defaults of the class",
            "grids": "[frames, rows, columns] of patches before any are merged; MusicFlamingo: windows and tokens of one",
            "x": "x[token][lane] = (7 token + 3 lane) mod 11 - 5, one head; tokens in the order of the processor, with "
                 "class and register tokens before or after those of their grid",
            "y_float32": "[tokens, lanes]: x rotated"},
        "cases": [case(package) for package in TOWERS]}


if __name__ == "__main__":
    FILE.write_text(golden_file.text_of(golden()))
