# SPDX-License-Identifier: MIT
"""models/config/read.hpp against every rotary class of the installed transformers.

A class is given a config; the config's JSON, as the library saves it, is read by cordage; inv_freq, attention factor,
pairs, axes and direction must be those of the class, or the config be refused for a reason that is listed here.
"""
import copy
import importlib
import json
import logging
import math
import os
import pathlib
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import rotary_classes as classes  # noqa: E402
import tower_classes  # noqa: E402

transformers.logging.set_verbosity(logging.CRITICAL)

LENGTHS = [1, 1 << 20]
AGREEMENT = 4e-6  # relative, of what transformers computes in float32
ROTATED = 1e-4  # absolute, of cos and sin of its float32 angles
POSITION_IDS = [[1, 5, 11], [2, 3, 7], [4, 1, 13], [6, 9, 2]]  # [axes, tokens]

# read_config's error for a tower, which is tested through read_tower instead.
TOWER = "use hf::read_tower"

# Refused rotary classes, by the text of the error. No class of a text model is refused unless transformers fails as well.
REFUSED = {
    "rotates the two lanes of a pair by different angles": "VJEPA2RopeAttention",
    "rotates its values too": "ClvpRotaryPositionalEmbedding",
    "no key shows that q and k are rotated": "EsmFold2RotaryEmbedding",  # atoms in space, no model type
}

# Further configs: for classes that rotate nothing or fail with their defaults; and one that scales some layers.
BASE = {"rope_type": "default", "rope_theta": 20000.0}
FURTHER = {
    "CohereCompassTextConfig": {"rope_parameters": {"full_attention": BASE, "sliding_attention": BASE}},
    "Glm4vMoeTextConfig": {"head_dim": 128},
    "Glm4vTextConfig": {"rope_parameters": {**BASE, "mrope_section": [16, 24, 24]}},
    "GlmImageTextConfig": {"head_dim": 64},
    "Qwen3OmniMoeTextConfig": {"head_dim": 128},
    "Molmo2TextConfig": {"rope_scaling_layers": [0, 1]},
    "EsmConfig": {"position_embedding_type": "rotary"},
    "GraniteMoeHybridConfig": {"position_embedding_type": "rope"},
    "SeamlessM4TConfig": {"position_embeddings_type": "rotary"},
    "Wav2Vec2BertConfig": {"position_embeddings_type": "rotary"},
    "Wav2Vec2ConformerConfig": {"position_embeddings_type": "rotary"},
    "Zamba2Config": {"use_mem_rope": True},
}
NOTHING_TURNS = "only models that rotate q and k can be read"

# Rotary classes of a model around a language model, of which the language model's rule is read.
OF_ANOTHER_PART = ["MusicFlamingoRotaryEmbedding"]


@pytest.fixture(scope="session")
def read(built):
    program = built("config_bases.cpp")

    def answers(texts, lengths=(1,), **more):
        """The rules that cordage reads from each text: {"error": ...}, {"ropes": [...]}, or {"tower": ...} with positions."""
        asked = "\n".join(json.dumps({"text": text, "lengths": lengths, **more}) for text in texts)
        finished = subprocess.run([str(program)], input=asked, stdout=subprocess.PIPE, text=True, check=True)
        return [json.loads(line) for line in finished.stdout.splitlines()]

    return answers


def rotating():
    """All configs that have a rotary class: (path, config, rotary class)."""
    for path, config in classes.default_configs():
        for rotary_class in classes.rotary_classes_of(type(config)):
            if rotary_class.__name__ in OF_ANOTHER_PART:
                continue
            yield path, config, rotary_class
    for config_class in classes.config_classes():
        settings = FURTHER.get(config_class.__name__)
        for rotary_class in classes.rotary_classes_of(config_class) if settings else []:
            yield f"{config_class.__name__} {settings}", config_class(**copy.deepcopy(settings)), rotary_class


def rotates_nothing(path, config, answer):
    """Whether a config rotates nothing by default and is refused for that reason."""
    return type(config).__name__ in FURTHER and "{" not in path and NOTHING_TURNS in answer["error"]


def apart(inv_freq, other):
    return len(inv_freq) != len(other) or any(a != b and abs(a - b) > AGREEMENT * abs(b)
                                              for a, b in zip(inv_freq, other))


def rope_of(layer_type, suffix, inv_freq, ropes):
    """cordage's rule for a layer type of the class: by its name, or the rule of all layers; Granite's by theta_base."""
    rotated = [rope for rope in ropes if rope["rope_type"] != "none"]
    if suffix.startswith("theta"):
        return min(rotated, key=lambda rope: abs(rope["bases"][0]["inv_freq"][1] - inv_freq[1]))
    named = [rope for rope in rotated if rope["layer_type"] == (layer_type or suffix)]
    if named:
        return named[0]
    is_of_all = len(rotated) == 1 and not rotated[0]["layer_type"]
    return rotated[0] if rotated and (is_of_all or not (layer_type or suffix)) else None


def rotation_complaint(rope, inv_freq, factor, matrices):
    """The first difference between a rule and the class's matrices [tokens, lanes out, lanes in]; None if they agree."""
    pairs = len(inv_freq)
    axes = rope["axis_of_pair"] or [0] * pairs
    direction = -1.0 if rope["is_inverse"] else 1.0
    first = {"half_split": lambda i: (i, i + pairs), "interleaved": lambda i: (2 * i, 2 * i + 1)}
    if rope["layout"] not in first:
        return "layout is not known"
    for i in range(pairs):
        a, b = first[rope["layout"]](i)
        for token, matrix in enumerate(matrices):
            angle = direction * POSITION_IDS[axes[i]][token] * inv_freq[i]
            cos, sin = factor * math.cos(angle), factor * math.sin(angle)
            lanes = np.flatnonzero(np.abs(matrix[:, [a, b]]).max(axis=1) > 1e-12)  # some put them elsewhere, in order
            expected = np.array([[cos, -sin], [sin, cos]])
            if len(lanes) > 2 or np.abs(matrix[lanes][:, [a, b]] - expected[:len(lanes), :]).max() > ROTATED:
                return f"pair {i}, lanes {a} and {b}, rotates otherwise; axes {sorted(set(axes))}"
    return None


def basis_complaints(name, ours, inv_freq, factor):
    """How cordage's basis of one length differs from the class's, as a list of at most one text."""
    if apart(ours["inv_freq"], inv_freq):
        shown = [f"{numbers[:3]} ... {numbers[-1:]} of {len(numbers)}" for numbers in (ours["inv_freq"], inv_freq)]
        return [f"{name}: inv_freq {shown[0]} must be {shown[1]}"]
    if abs(ours["attention_factor"] - factor) > 1e-6 * factor:
        return [f"{name}: attention factor {ours['attention_factor']} must be {factor}"]
    return []


def complaints(config, rotary_class, answer, lengths=(1,), rotates=True, missing_is_wrong=True):
    """Differences between cordage's answer and the class, as texts; empty if they agree."""
    found = []
    for suffix, rotary in classes.made(rotary_class, config).items():
        for index, length in enumerate(lengths):
            for layer_type, (inv_freq, factor) in classes.bases(rotary, length).items():
                name = f"{layer_type or suffix} at {length}"
                if rotary_class.__name__ == "Ernie4_5_VLMoeTextRotaryEmbedding":
                    inv_freq = sorted(inv_freq, reverse=True)  # kept in another order; `rotated` shows the true one
                rope = rope_of(layer_type, suffix, inv_freq, answer["ropes"])
                if rope is None and missing_is_wrong:
                    found.append(f"{name}: not among {[r['layer_type'] for r in answer['ropes']]}")
                if rope is None:
                    continue
                ours = rope["bases"][index]
                of_basis = basis_complaints(name, ours, inv_freq, factor)
                found += of_basis
                if not of_basis and rotates and index == 0 and can_rotate(rotary):
                    axes = classes.axes_of(rotary)
                    matrices = classes.rotated(rotary, config, layer_type, POSITION_IDS[:axes], 2 * len(inv_freq))
                    why = rotation_complaint(rope, ours["inv_freq"], ours["attention_factor"], matrices)
                    if why and not (why == "layout is not known" and not config.model_type):
                        found.append(f"{name}: {why}")
    return found


def can_rotate(rotary):
    """False for HunYuan VL, which needs sections, and for classes that compute cos and sin from hidden states."""
    if hasattr(rotary, "mrope_section") and rotary.mrope_section is None:
        return False
    return "position_ids" in classes.forward_parameters(rotary)


def class_fails(config, rotary_class):
    """The class's error with this config, or None if it can rotate."""
    try:
        for rotary in classes.made(rotary_class, config).values():
            for layer_type, (inv_freq, _) in classes.bases(rotary, 1).items():
                axes = classes.axes_of(rotary)
                classes.rotated(rotary, config, layer_type, POSITION_IDS[:axes], 2 * len(inv_freq))
                head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
                if 2 * len(inv_freq) > (getattr(config, "qk_rope_head_dim", None) or head_dim):
                    return "more lanes are rotated than a head has"
    except Exception as why:
        return repr(why)
    return None


def test_every_default_config_agrees_or_is_refused_by_name(read):
    cases = list(rotating())
    assert len(cases) > 250
    wrong, refused = [], set()
    for (path, config, rotary_class), answer in zip(cases, read([config.to_json_string() for _, config, _ in cases])):
        name = f"{path} ({config.model_type}), {rotary_class.__name__}"
        if "error" in answer:
            why = [reason for reason, names in REFUSED.items() if rotary_class.__name__ in names.split()]
            refused.add(rotary_class.__name__)
            is_listed = why and why[0] in answer["error"] or TOWER in answer["error"]
            if not is_listed and not rotates_nothing(path, config, answer) and not class_fails(config, rotary_class):
                wrong.append(f"{name}: {answer['error']}")
        else:
            try:
                wrong += [f"{name}: {why}" for why in complaints(config, rotary_class, answer)]
            except KeyError as why:  # Cohere Compass has no dictionary by default, and its class needs one
                if rotary_class.__name__ != "CohereCompassRotaryEmbedding":
                    wrong.append(f"{name}: {why!r}")
    listed = {name for names in REFUSED.values() for name in names.split()}
    assert not wrong, "\n".join(wrong)
    assert listed <= refused, f"read, and listed as refused: {listed - refused}"


# Models with functions of their own instead of a rotary class: their tables, and their rotation.
def gptj_rotated(module, config, inv_freq):
    table = module.create_sinusoidal_positions(12, 2 * len(inv_freq))[torch.tensor(POSITION_IDS[0])]
    sin, cos = table.chunk(2, dim=-1)
    lanes = 2 * len(inv_freq)
    one_hot = torch.eye(lanes)[None, :, :].expand(3, lanes, lanes)[None]  # [1, tokens, heads, lanes]: lane h is head h
    return module.apply_rotary_pos_emb(one_hot, sin[None], cos[None])[0].transpose(1, 2).double().numpy()


def roformer_rotated(module, config, inv_freq):
    lanes = 2 * len(inv_freq)
    table = module.RoFormerSinusoidalPositionalEmbedding(12, lanes).create_weight()[torch.tensor(POSITION_IDS[0])]
    one_hot = torch.eye(lanes)[:, None, :].expand(lanes, 3, lanes)[None]  # [1, heads, tokens, lanes]
    apply = module.RoFormerSelfAttention.apply_rotary_position_embeddings
    return apply(table[None, None], one_hot, one_hot)[0][0].permute(1, 2, 0).double().numpy()


FUNCTIONS = {"CodeGenConfig": ("codegen", gptj_rotated), "GPTJConfig": ("gptj", gptj_rotated),
             "RoFormerConfig": ("roformer", roformer_rotated)}


def test_models_that_rotate_by_functions(read):
    for name, (package, rotated) in FUNCTIONS.items():
        config = getattr(transformers, name)()
        rope, = read([config.to_json_string()])[0]["ropes"]
        module = importlib.import_module(f"transformers.models.{package}.modeling_{package}")
        inv_freq = rope["bases"][0]["inv_freq"]
        assert rotation_complaint(rope, inv_freq, 1.0, rotated(module, config, inv_freq)) is None, name


def test_what_has_no_rotary_class_is_refused_or_has_a_part_that_is_read(read):
    others = [(path, config) for path, config in classes.default_configs()
              if not classes.rotary_classes_of(type(config)) and type(config).__name__ not in FUNCTIONS]
    assert len(others) > 500
    wrong = []
    for (path, config), answer in zip(others, read([config.to_json_string() for _, config in others])):
        parts = [part for _, part in classes.parts_of(config, "") if part is not config]
        of_parts = read([part.to_json_string() for part in parts])
        if "ropes" in answer:
            if not any(of_part.get("ropes") == answer["ropes"] for of_part in of_parts):
                wrong.append(f"{path} ({config.model_type}) is read, and has no rotary class")
            continue
        text = config.get_text_config(decoder=True)
        if text is not config and "ropes" in read([text.to_json_string()])[0]:
            wrong.append(f"{path} ({config.model_type}): {answer['error']}, though its text part is read")
    assert not wrong, "\n".join(wrong)


def scaled(rope_type, parameters, pairs, longest):
    """A rope dictionary of this type; theta_base and partial factor are those of the config."""
    kept = {key: value for key, value in parameters.items()
            if key in ("rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved")}
    tables = {"short_factor": [1.0 + 0.01 * i for i in range(pairs)],
              "long_factor": [1.0 + 0.5 * i for i in range(pairs)]}
    original = {"original_max_position_embeddings": max(longest // 4, 16)}
    more = {"default": {}, "linear": {"factor": 4.0}, "dynamic": {"factor": 2.0}, "proportional": {},
            "yarn": {"factor": 4.0, "beta_fast": 24.0, **original},
            "longrope": {"factor": 4.0, **tables, **original},
            "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **original}}
    return {"rope_type": rope_type, **kept, **more[rope_type]}


def with_rope_type(config, rotary_class, rope_type):
    """The config with this rope type; None if its class does not accept it."""
    try:
        pairs = {layer_type: len(inv_freq) for rotary in classes.made(rotary_class, config).values()
                 for layer_type, (inv_freq, _) in classes.bases(rotary, 1).items()}
        settings = copy.deepcopy(config.to_dict())
        parameters = settings.get("rope_parameters")
        if not parameters:
            return None
        longest = int(settings.get("max_position_embeddings") or 0)
        if any(isinstance(value, dict) for value in parameters.values()):
            new = {layer_type: scaled(rope_type, value, pairs[layer_type], longest) if layer_type in pairs else value
                   for layer_type, value in parameters.items()}
        else:
            new = scaled(rope_type, parameters, pairs.get("", 1), longest)
        made = type(config).from_dict({**settings, "rope_parameters": new})
        for rotary in classes.made(rotary_class, made).values():
            classes.bases(rotary, 1)
        return made
    except Exception:
        return None


# Intended differences: rotary class, rope type, and the reason.
DIFFER = {
    ("PhimoeRotaryEmbedding", "longrope"): "its class never takes the long factors",
}
# Refused: rope type, and the text of the error.
REFUSED_TYPES = [
    ("dynamic", "is 21 lanes, must be an even number"),  # GLM-4 MoE's default config, which is none of a model
    ("proportional", "qk_rope_head_dim must be left out for rope type 'proportional', which rotates pairs of the whole head"),
    ("default", "partial_rotary_factor must be left out"),  # Gemma 4 and its kin, whose class ignores it then
    ("default", "must be qk_rope_head_dim 64 for rope type 'default'"),  # Mistral 4, the same
]


def not_refused(towers):
    """The configs of `rotating` without refused ones and towers."""
    others = {rotary_class for _, _, rotary_class in towers}
    return [(path, config, rotary_class) for path, config, rotary_class in rotating()
            if rotary_class not in others and rotary_class.__name__ not in " ".join(REFUSED.values()).split()]


def test_every_rope_type_that_a_config_admits(read, towers):
    cases = []
    for path, config, rotary_class in not_refused(towers):
        if class_fails(config, rotary_class):
            continue
        for rope_type in ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional"):
            made = with_rope_type(config, rotary_class, rope_type)
            if made is not None:
                cases.append((f"{path}, {rope_type}", made, rotary_class, rope_type))
    assert len(cases) > 1000
    wrong = []
    texts = [config.to_json_string() for _, config, _, _ in cases]
    for (name, config, rotary_class, rope_type), answer in zip(cases, read(texts, LENGTHS)):
        if (rotary_class.__name__, rope_type) in DIFFER:
            continue
        if "error" in answer:
            is_listed = any(name == rope_type and why in answer["error"] for name, why in REFUSED_TYPES)
            if not is_listed and not rotates_nothing(name, config, answer) and not class_fails(config, rotary_class):
                wrong.append(f"{name}, {rotary_class.__name__}: {answer['error']}")
        else:
            wrong += [f"{name}, {rotary_class.__name__}: {why}"
                      for why in complaints(config, rotary_class, answer, LENGTHS, rotates=False)]
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)


# Top-level settings that only some classes read; with values that differ from every default.
SETTINGS = [
    {"rotary_dim": 16}, {"qk_rope_head_dim": 32}, {"rope_interleave": True}, {"rope_interleave": False},
    {"rope_theta": 12345.0}, {"partial_rotary_factor": 0.75},
    {"rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    {"rope_scaling": {"rope_type": "linear", "factor": 4.0, "rope_theta": 30000.0}},
    {"rope_scaling": {"type": "dynamic", "factor": 4.0, "alpha": 50.0}},
    {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 30000.0}},
    {"rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "alpha": 50.0, "rope_theta": 20000.0}},
]
# Intended differences: the class, a key of the setting, and the reason.
READ_OTHERWISE = {
    ("Olmo3RotaryEmbedding", "rope_theta"): "its config gives rope_theta to one layer type, and the other its default",
}


def with_setting(config, rotary_class, setting):
    """An old config.json with this setting, as a dictionary, and the class's config of it; None if it is not accepted."""
    settings = copy.deepcopy({**config.to_dict(), "rope_parameters": None, **setting})
    if settings["rope_parameters"] is None:
        del settings["rope_parameters"]
    try:
        made = type(config).from_dict(copy.deepcopy(settings))
        return None if class_fails(made, rotary_class) else (settings, made)
    except Exception:
        return None


def test_a_top_level_setting_is_read_as_by_the_class_or_refused(read, towers):
    cases = []
    for path, config, rotary_class in not_refused(towers):
        is_model = "." not in path and config.model_type  # any key may be for a model type that is not known
        for setting in SETTINGS if is_model and not class_fails(config, rotary_class) else []:
            made = with_setting(config, rotary_class, setting)
            if made is not None and not any(name == rotary_class.__name__ and key in str(setting)
                                            for name, key in READ_OTHERWISE):
                cases.append((f"{path} with {setting}, {rotary_class.__name__}", rotary_class, *made))
    assert len(cases) > 1000
    wrong = []
    texts = [json.dumps(settings, default=str) for _, _, settings, _ in cases]
    for (name, rotary_class, _, config), answer in zip(cases, read(texts)):
        if "error" not in answer:
            wrong += [f"{name}: {why}" for why in complaints(config, rotary_class, answer)]
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)


# Grids [frames, rows, columns] for towers of packed images; other towers take one image at a time. Sides are multiples of
# 4, which all merge sizes divide, and lie within a window of those that move patches into windows.
GRIDS = [[[1, 4, 8]], [[2, 8, 4], [1, 4, 4]]]
ONE_IMAGE = [[[1, 4, 8]], [[1, 8, 4]], [[1, 5, 3]]]
SQUARES = [[[1, 3, 3]], [[1, 6, 6]]]  # Llama 4's images
FURTHER_TOWERS = {
    "Sam3ViTConfig": {"window_size": 14},
    "EfficientLoFTRConfig": {"hidden_size": 64, "out_features": [16, 16, 32, 64]},
    "MusicFlamingoConfig": {"audio_frame_step": 0.02, "rope_parameters": {"rope_type": "default", "rope_theta": 900.0},
                            "audio_config": {"model_type": "audioflamingo3_encoder", "hidden_size": 40}},
    "DINOv3ViTConfig": {"num_register_tokens": 4, "rope_theta": 50.0},
    "Qwen2VLVisionConfig": {"embed_dim": 1024, "spatial_merge_size": 4},
    "MiniMaxM3VLVisionConfig": {"hidden_size": 1024, "num_attention_heads": 8},
    "EdgeTamVideoConfig": {"memory_attention_downsample_rate": 2},
}


@pytest.fixture(scope="session")
def towers(read):
    """All configs of towers, once for each rotary class: (path, config, rotary class)."""
    found = [(path, config, rotary_class) for path, config in classes.default_configs()
             for rotary_class in classes.rotary_classes_of(type(config))]
    for config_class in classes.config_classes():
        settings = FURTHER_TOWERS.get(config_class.__name__)
        for rotary_class in classes.rotary_classes_of(config_class) if settings else []:
            config = config_class(**copy.deepcopy(settings))
            found.append((f"{config_class.__name__} {settings}", config, rotary_class))
    texts = [json.dumps({"model_type": config.model_type}) for _, config, _ in found]
    return [case for case, answer in zip(found, read(texts)) if TOWER in answer.get("error", "")]


def grids_of(config):
    if config.model_type == "llama4_vision_model":
        return SQUARES
    return GRIDS if hasattr(config, "spatial_merge_size") or config.model_type in (
        "kimi_k25_vision", "muse_glimmer_vision", "muse_spark_vision", "video_llama_3_vision") else ONE_IMAGE


def tower_matrices(tower):
    """cordage's matrix of the rotation of each token: [tokens, lanes out, lanes in]."""
    cos, sin, lanes = np.array(tower["cos"]), np.array(tower["sin"]), tower["head_dim"]
    pairs = cos.shape[1] // tower["parts"]
    out = np.tile(np.eye(lanes), (len(cos), 1, 1))
    for pair in range(cos.shape[1]):
        part, i = divmod(pair, pairs)
        a, b = (i, i + pairs) if tower["layout"] == "half_split" else (2 * i, 2 * i + 1)
        a, b = a + part * lanes // tower["parts"], b + part * lanes // tower["parts"]
        out[:, a, a] = out[:, b, b] = cos[:, pair]
        out[:, a, b], out[:, b, a] = -sin[:, pair], sin[:, pair]
    return out


def tower_complaint(tower, rotary_class, config, grids):
    """The difference between cordage's tower and its class, as a text; None if they agree."""
    prefix = tower["tokens_before"] if hasattr(config, "num_register_tokens") else 0
    ours, theirs = tower_matrices(tower), tower_classes.rotated(rotary_class, config, grids, prefix)
    if ours.shape != theirs.shape:
        return f"[tokens, lanes, lanes] {ours.shape} must be {theirs.shape}"
    apart = np.abs(ours - theirs)
    if apart.max() > ROTATED * (10 if config.model_type == "musicflamingo" else 1):  # angles of 1000 rad in float32
        token, lane, other = np.unravel_index(apart.argmax(), apart.shape)
        return f"grids {grids}, token {token}, lanes {lane} and {other}: {apart.max():.2g} apart"
    return None


def tower_noise(config):
    """The config's shift, jitter and rescale of training images (DINOv3)."""
    given = [getattr(config, f"pos_embed_{name}", None) for name in ("shift", "jitter", "rescale")]
    return [none if value is None else value for value, none in zip(given, (0.0, 1.0, 1.0))]


def test_every_tower_rotates_as_its_class(read, towers):
    assert len({rotary_class for _, _, rotary_class in towers}) > 40
    wrong = []
    for path, config, rotary_class in towers:
        for grids in grids_of(config):
            answer, = read([config.to_json_string()], grids=grids, merge=tower_classes.MERGE_OF_PROCESSOR)
            name = f"{path} ({config.model_type}), {rotary_class.__name__}"
            if "error" in answer:
                wrong.append(f"{name}: {answer['error']}")
                continue
            why = tower_complaint(answer["tower"], rotary_class, config, grids)
            wrong += [f"{name}: {why}"] if why else []
            if answer["tower"]["noise"] != tower_noise(config):
                wrong.append(f"{name}: noise {answer['tower']['noise']}")
    assert not wrong, "\n".join(wrong)


# Keys that cordage reads and the class ignores, and the reason.
DIFFERENT_KEYS = {
    ("DeepseekV4RotaryEmbedding", "rope_parameters.compress.rope_theta left out"): "compress_rope_theta says it",
}


def other_values(key, value, seen):
    """Other valid values of a key, guessed from its present value."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2 * value, value // 2]
    if isinstance(value, float):
        return [2.0 * value, 0.5 * value]
    if isinstance(value, list) and value and all(isinstance(entry, str) for entry in value):
        return [value[::-1], [value[0]] * len(value)]
    if isinstance(value, list) and value and all(isinstance(entry, (int, float)) for entry in value):
        return [value[::-1], [2 * entry for entry in value], value[:-1]]
    return [other for other in seen.get(key, []) if other != value][:4]  # of texts, nulls and what is empty


def flipped(saved, seen):
    """{description: a saved config with one key changed, left out or, in a rope dictionary, added}"""
    def of(part, place):
        for key, value in part.items():
            if isinstance(value, dict) and key not in ("id2label", "label2id", "quantization_config"):
                for name, changed in of(value, f"{place}{key}."):
                    yield name, {**part, key: changed}
            for other in other_values(key, value, seen) if key != "model_type" else []:
                yield f"{place}{key} {value} -> {other}"[:120], {**part, key: other}
            if key != "model_type":
                yield f"{place}{key} left out", {k: v for k, v in part.items() if k != key}
        if "rope_type" in part and "partial_rotary_factor" not in part and saved.get("model_type"):
            yield f"{place}partial_rotary_factor added", {**part, "partial_rotary_factor": 0.5}
    yield from of(saved, "")


def test_every_key_of_every_config(read, towers):
    """A key that changes the class's rotation must change cordage's too, or be refused."""
    everything = [(path, config, rotary_class, json.loads(config.to_json_string()))
                  for path, config, rotary_class in not_refused(towers) if "." not in path]
    seen = {}
    for _, _, _, saved in everything:
        for key, value in saved.items():
            if not isinstance(value, (dict, list)) and value not in seen.setdefault(key, []):
                seen[key].append(value)
    wrong, compared = [], 0
    for path, config, rotary_class, saved in everything:
        cases = []
        for name, changed in flipped(saved, seen):
            try:
                made = type(config).from_dict(copy.deepcopy(changed))
                for rotary in classes.made(rotary_class, made).values():
                    classes.bases(rotary, 1)
                cases.append((name, made, json.dumps(changed)))
            except Exception:
                continue
        for (name, made, _), answer in zip(cases, read([text for _, _, text in cases])):
            if "error" in answer:
                continue  # not in silence
            compared += 1
            if (rotary_class.__name__, name) in DIFFERENT_KEYS:
                continue
            wrong += [f"{path}, {rotary_class.__name__}, {name}: {why}"
                      for why in complaints(made, rotary_class, answer, rotates="rope" in name, missing_is_wrong=False)]
    print(compared, "configs compared")
    assert compared > 5000
    assert not wrong, f"{len(wrong)} of {compared}\n" + "\n".join(wrong)


def test_every_key_of_every_tower(read, towers):
    """A key that changes a tower's rotation must change cordage's too, or be refused, without exceptions."""
    seen, wrong, compared = {}, [], 0
    of_classes = {}  # one config each, of FURTHER_TOWERS if there; attention classes rotate as their embedding
    for path, config, rotary_class in towers:
        if not rotary_class.__name__.endswith("Attention") and (type(config) not in of_classes or "{" in path):
            of_classes[type(config)] = (path, config, rotary_class, json.loads(config.to_json_string()))
    plain = of_classes.values()
    for _, _, _, saved in plain:
        for key, value in saved.items():
            if not isinstance(value, (dict, list)) and value not in seen.setdefault(key, []):
                seen[key].append(value)
    for path, config, rotary_class, saved in plain:
        grids = grids_of(config)[0]
        cases = []
        for name, changed in flipped(saved, seen):
            try:
                made = type(config).from_dict(copy.deepcopy(changed))
                theirs = tower_classes.rotated(rotary_class, made, grids)
                cases.append((name, made, theirs, json.dumps(changed)))
            except Exception:
                continue
        texts = [text for _, _, _, text in cases]
        answers = read(texts, grids=grids, merge=tower_classes.MERGE_OF_PROCESSOR)
        for (name, made, theirs, _), answer in zip(cases, answers):
            if "error" in answer:
                continue  # not in silence
            compared += 1
            if hasattr(made, "num_register_tokens"):  # those that its attention leaves out
                for key in ("cos", "sin"):
                    answer["tower"][key] = answer["tower"][key][answer["tower"]["tokens_before"]:]
            ours = tower_matrices(answer["tower"])
            if ours.shape != theirs.shape or np.abs(ours - theirs).max() > 10 * ROTATED:
                wrong.append(f"{path}, {rotary_class.__name__}, {name}")
            elif answer["tower"]["noise"] != tower_noise(made):
                wrong.append(f"{path}, {rotary_class.__name__}, {name}: noise {answer['tower']['noise']}")
    print(compared, "configs compared")
    assert compared > 1000
    assert not wrong, f"{len(wrong)} of {compared}\n" + "\n".join(wrong)


def test_layers_that_are_rotated_by_a_condition(read):
    """Some attention classes rotate under a condition on the layer; cordage's rule must agree for each layer type."""
    compared = 0
    for attention, condition in classes.attention_with_a_condition():
        config_class = classes.config_of(attention)
        # Without a window no layer of Cohere 2 is rotated; none ships so.
        for settings in ({}, {"sliding_window": None}) if "is None" in condition else ({},):
            try:
                config = config_class(**settings)
                with torch.device("meta"):
                    layers = [attention(config, layer_idx=i) for i in range(min(config.num_hidden_layers, 8))]
            except Exception:
                continue
            answer, = read([config.to_json_string()])
            for index, layer in enumerate(layers):
                is_rotated = bool(eval(condition, {"self": layer}))
                named = {rope["layer_type"]: rope["rope_type"] for rope in answer["ropes"]}
                ours = named.get(config.layer_types[index], named.get(""))
                assert is_rotated == (ours != "none"), f"{attention.__name__}, layer {index}, {settings}: {named}"
                compared += 1
    assert compared > 50


HEADER = """# Families

This table lists every model type of transformers {version} that has a rotary class, as `hf::read_config` reads its default config.
`tests/hosts/test_configs.py` compares each with that class: for a tower, cos and sin of every patch of some grids; otherwise
inv_freq, attention factor, pairs, axes and direction of every layer type. `CORDAGE_WRITE_FAMILIES=1 ./run test --hosts` writes this
page. [config_keys.md](config_keys.md) explains the keys.

*Rules* has the rope type of each layer type, or `tower` if `hf::read_tower` reads the config. *Lanes* has the number of rotated
lanes of a head and its number of lanes. *Axes* has the number of axes of a position, and how they share the pairs. *Positions* says
whether a position is the index of the token, or how the patches of grids are counted ([positions.md](positions.md)).

| model type | rules | lanes | axes | pairs | positions | compared with |
|---|---|---|---|---|---|---|
"""
PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "families.md"
GOES_ON = ["past the longer side", "past the largest position", "at its index"]  # after_grid


def counting(read, config):
    """The page's words for how the enclosing model counts positions of several axes."""
    whole = config.model_type.removesuffix("_text")
    found = [other for _, other in classes.default_configs() if other.model_type == whole and other is not config]
    answer = read([json.dumps(found[0].to_dict(), default=str)], counting=True)[0] if found else {"error": "no model"}
    if "error" in answer:
        return "the caller's"
    rule = answer["counting"]
    return f"grids; text goes on {GOES_ON[rule['next']]}" + (", time in seconds" if rule["positions_per_second"] else "")


def tower_row(tower):
    """A tower's cells of the page, without its names."""
    words = dict(line.strip().split(": ", 1) for line in tower["words"].splitlines()[1:])
    lanes = words["rotation"].split(",")[0].removesuffix(" lanes")
    return ["tower", lanes, words["axes"].split(", the fastest")[0],
            words["rotation"].split("pairs, ")[1], words["positions"]]


def row(read, config, answer, rotary_class):
    """A row of the page."""
    cells = [f"`{config.model_type}`"]
    if TOWER in answer.get("error", ""):
        text = type(config)().to_json_string()  # not as it is within another config
        tower, = read([text], grids=grids_of(config)[0], merge=tower_classes.MERGE_OF_PROCESSOR)
        cells += tower_row(tower["tower"])
    elif "error" in answer:
        cells += ["refused: " + answer["error"].split(": ", 1)[1].removeprefix(f"model_type '{config.model_type}' "),
                  "", "", "", ""]
    else:
        ropes = answer["ropes"]
        rules = [f"{rope['layer_type']} {rope['rope_type']}".strip() for rope in ropes]
        lanes = [f"{rope['rotary_dim']} of {rope['head_dim']}" for rope in ropes if rope["rope_type"] != "none"]
        axes = ropes[0]["axis_of_pair"]
        shared = "" if not axes else f"{max(axes) + 1}, " + ("in blocks" if axes == sorted(axes) else "interleaved")
        pairs = ropes[0]["layout"] + (", backwards" if ropes[0]["is_inverse"] else "")
        cells += [", ".join(rules), ", ".join(dict.fromkeys(lanes)), shared, pairs,
                  counting(read, config) if axes else "index"]
    return "| " + " | ".join([*cells, rotary_class.__name__]) + " |"


def rows_of_page(read, towers):
    cases = {}
    for path, config, rotary_class in rotating():
        if config.model_type:
            further = type(config).__name__ in FURTHER and "{" in path  # what is rotated, of those that need a key for it
            if further or (config.model_type, rotary_class) not in cases:
                cases[(config.model_type, rotary_class)] = config
    answers = read([config.to_json_string() for config in cases.values()])
    rows = [row(read, config, answer, rotary_class)
            for ((_, rotary_class), config), answer in zip(cases.items(), answers)]
    rows += {row(read, config, {"error": TOWER}, rotary_class) for path, config, rotary_class in towers
             if rotary_class.__name__ in OF_ANOTHER_PART and "{" not in path}
    return sorted(rows)


def test_page_of_families_is_what_is_read(read, towers):
    page = HEADER.format(version=transformers.__version__) + "\n".join(rows_of_page(read, towers)) + "\n"
    if os.environ.get("CORDAGE_WRITE_FAMILIES"):
        PAGE.write_text(page)
    if f"transformers {transformers.__version__} " not in PAGE.read_text():
        pytest.skip(f"{PAGE.name} is of another version of transformers")
    assert PAGE.read_text() == page, "CORDAGE_WRITE_FAMILIES=1 writes it anew"
