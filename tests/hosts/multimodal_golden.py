# SPDX-License-Identifier: MIT
"""Positions of random prompts, computed by get_rope_index of transformers' models: tests/golden/multimodal.json.

python tests/hosts/multimodal_golden.py writes that file; test_multimodal.py compares it with the installed version."""
import importlib
import random
import types

import golden_file

FILE = golden_file.FOLDER / "multimodal.json"

# family: (module, class with get_rope_index)
CLASSES = {
    "qwen2_vl": "Qwen2VLModel",
    "qwen2_5_vl": "Qwen2_5_VLModel",
    "qwen3_vl": "Qwen3VLModel",
    "qwen3_5": "Qwen3_5Model",
    "glm4v": "Glm4vModel",
    "ernie4_5_vl_moe": "Ernie4_5_VLMoeModel",
    "hunyuan_vl": "HunYuanVLModel",
    "hy_v4_vl": "HYV4VLModel",
    "paddleocr_vl": "PaddleOCRVLModel",
    "qwen2_5_omni": "Qwen2_5OmniThinkerForConditionalGeneration",
    "qwen3_omni_moe": "Qwen3OmniMoeThinkerForConditionalGeneration",
}
APART = {"qwen3_vl", "qwen3_5", "glm4v"}
OMNI = {"qwen2_5_omni", "qwen3_omni_moe"}
NEWLINES = {"hunyuan_vl", "hy_v4_vl"}
IMAGE, VIDEO, AUDIO, VISION_START, AUDIO_START, END = 101, 102, 103, 104, 105, 106


def config_of(family, draw):
    """The keys of the family's config.json that positions depend on."""
    vision = {"spatial_merge_size": draw.choice([1, 2])}
    config = {"model_type": family, "vision_config": vision}
    if family == "qwen2_5_vl":
        vision["tokens_per_second"] = draw.choice([2, 4, 25])
    if family == "ernie4_5_vl_moe":
        vision["temporal_merge_size"] = 2
    if family == "hunyuan_vl":
        config["text_config"] = {"rope_parameters": {"mrope_section": draw.choice([[16, 16, 16, 16], [24, 20, 20]])}}
    if family in OMNI:
        config["position_id_per_seconds"] = draw.choice([13, 25])
        if family == "qwen2_5_omni":
            config["seconds_per_chunk"] = draw.choice([0.4, 2.0])
    return config


def namespace(value):
    return types.SimpleNamespace(**{k: namespace(v) if k != "rope_parameters" and isinstance(v, dict) else v
                                    for k, v in value.items()})


def audio_length(family, tokens):
    """A length of audio features that gives this number of tokens."""
    if family == "qwen2_5_omni":
        return 4 * tokens
    from transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe import _get_feat_extract_output_lengths
    return next(n for n in range(1, 1000) if _get_feat_extract_output_lengths(n, 50) == tokens)


def case(family, seed):
    import torch
    draw = random.Random(f"{family} {seed}")
    config = config_of(family, draw)
    merge, temporal = config["vision_config"]["spatial_merge_size"], config["vision_config"].get("temporal_merge_size", 1)
    pieces, types_of, images, videos, seconds, ids, audio = [], [], [], [], [], [], []

    def text(count, token=1):
        if count == 0:
            return
        if pieces and "text" in pieces[-1]:
            pieces[-1]["text"] += count
        else:
            pieces.append({"text": count})
        types_of.extend([0] * count)
        ids.extend([token] * count)

    def grid_tokens(grid):
        rows, columns = grid[1] // merge, grid[2] // merge
        return grid[0] * rows * (columns + (1 if family in NEWLINES else 0))

    def side():
        return merge * draw.randint(1, 4)

    with_audio = family in OMNI and seed % 3 == 0
    text(draw.randint(0, 5))
    for _ in range(draw.randint(0 if seed and family not in OMNI else 1, 3)):
        kind = draw.choice(["image", "video"] if family != "hunyuan_vl" else ["image"])
        if with_audio:
            kind = "with_audio"
        elif family in OMNI and draw.random() < 0.3:
            kind = "audio"
        step = draw.choice([0.04, 0.2, 0.5, 1.0, 2.0 / 3.0, 1.7])
        if kind == "image":
            grid = [1, side(), side()]
            images.append(grid)
            if family in OMNI:
                text(1, VISION_START)
            pieces.append({"image": grid})
            types_of += [1] * grid_tokens(grid)
            ids += [IMAGE] * grid_tokens(grid)
        elif kind == "video":
            grid = [temporal * draw.randint(1, 6), side(), side()]
            videos.append(grid)
            seconds.append(step)
            if family in OMNI:
                text(1, VISION_START)
            for frame in range(grid[0] if family in APART else 1):
                part = [1, *grid[1:]] if family in APART else grid
                if frame:
                    text(draw.randint(1, 3))
                pieces.append({"video": part, "seconds_per_frame": step})
                count = grid_tokens(part) // (1 if family in APART else temporal)
                types_of += [2] * count
                ids += [VIDEO] * count
        elif kind == "audio":
            count = draw.randint(1, 9)
            audio.append(count)
            text(1, AUDIO_START)
            text(count, AUDIO)
        else:
            grid = [draw.randint(1, 6), side(), side()]
            count = draw.randint(1, 60)
            videos.append(grid)
            seconds.append(step)
            audio.append(count)
            pieces.append({"video_with_audio": grid, "seconds_per_frame": step, "audio_tokens": count})
            # The code reads the order of tokens from the two marks alone.
            ids += [VISION_START, AUDIO_START]
            if family == "qwen2_5_omni":
                ids += [VIDEO] * grid_tokens(grid) + [AUDIO] * count
            else:
                ids += [AUDIO] * count + [VIDEO] * grid_tokens(grid)
            ids += [END, END]
        if family in OMNI and kind in ("image", "video", "audio"):
            text(1, END)
        elif kind != "with_audio":
            text(draw.randint(1, 6))
    text(draw.randint(1, 4))

    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    cls = getattr(module, CLASSES[family])
    model = namespace({**config, "image_token_id": IMAGE, "video_token_id": VIDEO, "audio_token_id": AUDIO,
                       "vision_start_token_id": VISION_START, "audio_start_token_id": AUDIO_START,
                       "audio_config": {"n_window": 50}})
    self = types.SimpleNamespace(config=model, spatial_merge_size=merge)
    for name in ("get_vision_position_ids", "get_llm_pos_ids_for_vision", "get_chunked_index"):
        if hasattr(cls, name):
            setattr(self, name, types.MethodType(getattr(cls, name), self))
    if family == "hunyuan_vl":
        model.text_config = types.SimpleNamespace(rope_parameters=config["text_config"]["rope_parameters"])
    grids = {"image_grid_thw": torch.tensor(images) if images else None}
    if family != "hunyuan_vl":
        grids["video_grid_thw"] = torch.tensor(videos) if videos else None
    tokens = torch.tensor([ids])
    if family in OMNI:
        if not images and not videos:
            return None  # without any, the code counts nothing but the mask
        lengths = torch.tensor([audio_length(family, n) for n in audio]) if audio else None
        position_ids, delta = cls.get_rope_index(self, tokens, **grids, attention_mask=torch.ones_like(tokens),
                                                 use_audio_in_video=with_audio, audio_seqlens=lengths,
                                                 second_per_grids=torch.tensor(seconds) if seconds else None)
    else:
        if family == "qwen2_5_vl":
            grids["second_per_grid_ts"] = torch.tensor(seconds) if seconds else None
        position_ids, delta = cls.get_rope_index(self, tokens, torch.tensor([types_of], dtype=torch.int32), **grids)
    out = {"kind": "multimodal_positions", "name": f"{family}/{seed}", "config": config, "pieces": pieces,
           "position_ids": {"shape": [position_ids.shape[0], len(ids)], "data": position_ids[:, 0].flatten().tolist()},
           "delta": delta.item()}
    if family not in OMNI:
        out |= {"token_types": types_of, "images": images, "videos": videos, "seconds_per_frame": seconds}
    return out


def golden():
    import transformers
    cases = [case(family, seed) for family in CLASSES for seed in range(8)]
    return {
        "description": "Positions of sequences of text, images, videos and audio, and what decoded tokens add to their "
                       "index.",
        "source": f"get_rope_index of each family's model in transformers {transformers.__version__}",
        "convention": {
            "config": "the keys of a config.json that count",
            "pieces": "the prompt piece by piece; grids are [frames, rows, columns] of patches; the two marks before a "
                      "video_with_audio and after it belong to it; audio counts as text",
            "position_ids": "[axes, tokens]",
            "delta": "position - index of the tokens that follow the prompt",
            "token_types": "0 text, 1 image, 2 video, as processors give them; with the grids of all images and videos"},
        "cases": [c for c in cases if c is not None]}


if __name__ == "__main__":
    FILE.write_text(golden_file.text_of(golden()))
