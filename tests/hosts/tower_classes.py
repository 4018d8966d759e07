# SPDX-License-Identifier: MIT
"""The matrices by which the vision and audio towers of the installed transformers rotate patches of grids."""
import copy
import inspect

import torch
from transformers import PreTrainedModel

import rotary_classes as classes

MERGE_OF_PROCESSOR = 2  # VideoLLaMA 3's, which its config does not have


class Captured(Exception):
    """The positions that a model gives its rotary class."""


def module_of(rotary_class):
    return inspect.getmodule(rotary_class)


def embedding_of(rotary_class):
    """The rotary class that computes cos and sin for an attention class; other classes are returned unchanged."""
    if not rotary_class.__name__.endswith("Attention"):
        return rotary_class
    return next(c for name, c in vars(module_of(rotary_class)).items()
                if classes.is_rotary(name) and name.endswith("Embedding") and c.__module__ == rotary_class.__module__)


def without_layers(config):
    config = copy.deepcopy(config)
    for key in ("depth", "num_hidden_layers"):
        if hasattr(config, key):
            setattr(config, key, 0)
    return config


def owner_of(rotary_class, config):
    """The model that constructs this rotary class from such a config."""
    found = [c for c in vars(module_of(rotary_class)).values()
             if inspect.isclass(c) and issubclass(c, torch.nn.Module) and c.__module__ == rotary_class.__module__
             and f"{rotary_class.__name__}(" in inspect.getsource(c.__init__)]
    return found[0]


def given_positions(rotary_class, config, grids):
    """Positions [tokens, axes] that the config's model passes to its rotary class for the patches of grids."""
    try:
        return positions_on("meta", rotary_class, config, grids)  # no weights
    except (RuntimeError, NotImplementedError):  # code that needs numbers before its positions
        return positions_on("cpu", rotary_class, config, grids)


def positions_on(device, rotary_class, config, grids):
    config = without_layers(config)
    owner = owner_of(rotary_class, config)
    tokens = sum(frames * rows * columns for frames, rows, columns in grids)
    patch = config.patch_size
    frames = getattr(config, "temporal_patch_size", getattr(config, "patch_temporal", 1))
    channels = getattr(config, "in_channels", getattr(config, "num_channels", 3))
    parameters = [name for name in inspect.signature(owner.forward).parameters if name != "self"]
    inputs = {}
    with torch.device("meta"):
        model = owner(config).eval()  # nothing is spent on weights, which say nothing of positions
    if device != "meta":
        model.to_empty(device=device)
    with torch.device(device):
        if "image_grid_thw" in parameters:
            merge = config.spatial_merge_size
            inputs["pixel_values"] = torch.zeros(tokens // merge**2, merge * patch, merge * patch, channels)
        elif "grid_thw" not in parameters:
            (_, rows, columns), = grids
            inputs["pixel_values"] = torch.zeros(1, channels, rows * patch, columns * patch)
        elif "inputs_embeds" in parameters:
            inputs["inputs_embeds"] = torch.zeros(1, tokens, config.hidden_size)
        elif any(isinstance(part, torch.nn.Conv2d) for part in model.modules()):
            inputs[parameters[0]] = torch.zeros(tokens, channels, patch, patch)
        else:
            inputs[parameters[0]] = torch.zeros(tokens, channels * frames * patch * patch)
    if "image_grid_thw" in parameters:
        inputs["image_grid_thw"] = torch.tensor([[f, rows // merge, columns // merge] for f, rows, columns in grids])
    if "grid_thw" in parameters:
        inputs["grid_thw"] = torch.tensor(grids)
    if "merge_sizes" in parameters:
        inputs["merge_sizes"] = torch.tensor([MERGE_OF_PROCESSOR] * len(grids))
    return captured(rotary_class, model, inputs)


def captured(rotary_class, model, inputs):
    def forward(self, x, position_ids):
        raise Captured(position_ids)

    original, rotary_class.forward = rotary_class.forward, forward
    try:
        model(**inputs)
    except Captured as caught:
        if caught.args[0].is_meta:
            raise RuntimeError("the positions are on the device of the patches") from None
        return caught.args[0]
    finally:
        rotary_class.forward = original
    raise AssertionError(f"{type(model).__name__} does not call {rotary_class.__name__}")


def positions(rotary_class, config, grids):
    """Positions [tokens, axes], computed by the model's own code."""
    module = module_of(rotary_class)
    if config.model_type == "sam3_vit_model":
        (_, rows, columns), = grids
        config = copy.deepcopy(config)
        config.image_size, config.patch_size = [columns * 14, rows * 14], [14, 14]
        return module.Sam3ViTLayer.precompute_positions(config, 0)
    if hasattr(config, "memory_attention_rope_feat_sizes"):
        (_, rows, columns), = grids
        owner = owner_of(rotary_class, config)
        config = copy.deepcopy(config)
        config.memory_attention_rope_feat_sizes = [columns, rows]
        return owner.precompute_positions(config)
    if config.model_type == "gemma4_vision":  # as its image processor makes them
        (_, rows, columns), = grids
        return torch.stack(torch.meshgrid(torch.arange(columns), torch.arange(rows), indexing="xy"), -1).reshape(1, -1, 2)
    return given_positions(rotary_class, config, grids)


@torch.no_grad()
def cos_sin(rotary_class, config, grids):
    """The class's output, which its attention takes, and the positions that it was given, or None."""
    frames, rows, columns = grids[0]
    if config.model_type == "llama4_vision_model":
        config = copy.deepcopy(config)
        config.image_size = rows * config.patch_size
        return rotary_class(config)(torch.zeros(1)), None
    rotary = rotary_class(config).eval()
    if "pixel_values" in classes.forward_parameters(rotary):  # DINOv3
        return rotary(torch.zeros(1, 3, rows * config.patch_size, columns * config.patch_size)), None
    if config.model_type == "efficientloftr":
        size = [(n - 1) * config.q_aggregation_stride + config.q_aggregation_kernel_size for n in (rows, columns)]
        cos, sin = rotary(torch.zeros(1, 1, *size))
        return (cos.reshape(1, -1, config.hidden_size), sin.reshape(1, -1, config.hidden_size)), None
    if config.model_type == "musicflamingo":
        seconds = torch.arange(rows * columns, dtype=torch.float32).reshape(rows, columns) * config.audio_frame_step * 4
        return rotary(seconds, seq_len=columns), None
    ids = positions(rotary_class, config, grids)
    return rotary(torch.zeros(1), ids), ids


def lanes_of(config):
    """The number of lanes that are rotated as one head."""
    if config.model_type == "efficientloftr":
        return config.hidden_size
    if config.model_type == "musicflamingo":
        return config.audio_config.hidden_size
    if hasattr(config, "memory_attention_hidden_size"):
        return config.memory_attention_hidden_size // (
            config.memory_attention_downsample_rate * config.memory_attention_num_attention_heads)
    return getattr(config, "head_dim", None) or getattr(config, "embed_dim", config.hidden_size) // (
        config.num_attention_heads)


@torch.no_grad()
def rotated(rotary_class, config, grids, prefix=0):
    """The matrix of the rotation of each token: [tokens, lanes out, lanes in].

    prefix: tokens before those that are rotated, of models whose attention leaves them out
    """
    rotary_class, module = embedding_of(rotary_class), module_of(rotary_class)
    made, ids = cos_sin(rotary_class, config, grids)
    lanes = lanes_of(config)
    one_hot = torch.eye(lanes)  # lane h is head h

    def heads_last(tokens):
        return one_hot.expand(tokens, lanes, lanes).contiguous()  # [tokens, heads, lanes]

    def heads_first(tokens):
        return heads_last(tokens).transpose(0, 1)[None].contiguous()  # [1, heads, tokens, lanes]

    if hasattr(module, "apply_rotary_pos_emb_vision"):
        x = heads_last(made[0].shape[0])
        out = module.apply_rotary_pos_emb_vision(x, x, *made)[0]
    elif hasattr(module, "apply_multidimensional_rope"):
        out = module.apply_multidimensional_rope(heads_last(ids.shape[1])[None], *made, ids)[0]
    elif hasattr(module, "vision_apply_rotary_emb"):
        x = heads_last(made.shape[0])[None]
        out = module.vision_apply_rotary_emb(x, x, made)[0][0]
    elif hasattr(module, "apply_rotary_time_emb"):
        x = one_hot[:, None, None, :].expand(lanes, *made[0].shape[:2], lanes)
        return module.apply_rotary_time_emb(x, *made).flatten(1, 2).permute(1, 2, 0).double().numpy()
    elif config.model_type == "efficientloftr":
        x = heads_last(made[0].shape[1])[None]
        out = module.apply_rotary_pos_emb(x, x, *made, unsqueeze_dim=2)[0][0]
    else:
        names = ["apply_rotary_pos_emb_2d", "apply_rotary_pos_emb_2d_self_attn", "apply_rotary_pos_emb"]
        apply = next(getattr(module, name) for name in names if hasattr(module, name))
        x = heads_first(made[0].shape[-2] + prefix)
        more = {"unsqueeze_dim": 0} if config.model_type == "pixtral" else {}
        out = apply(x, x, *made, **more)[0][0].transpose(0, 1)
    return out.transpose(1, 2).double().numpy()
