# SPDX-License-Identifier: MIT
"""Keys as cached by an engine, in float64, and the table that the engine passes to LMCache."""
import json

import torch

CONFIG = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "max_position_embeddings": 131072}
RULES = {
    "plain": CONFIG,
    "linear": CONFIG | {"rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    "yarn": CONFIG | {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}},
    "partial": CONFIG | {"model_type": "stablelm", "partial_rotary_factor": 0.5},
}
HEAD_SIZE = 64


def basis(config):
    """inv_freq [pairs] and the attention factor, float64."""
    at = torch.tensor(0, dtype=torch.int64)
    inv_freq, factor = torch.ops.cordage.config_basis(at, json.dumps(config), "")
    return inv_freq, float(factor)


def table(config, dtype, positions=131072):
    """cos_sin_cache as computed by vLLM: angles in float32, multiplied by the attention factor."""
    inv_freq, factor = basis(config)
    angle = torch.outer(torch.arange(positions, dtype=torch.float32), inv_freq.float())
    return (torch.cat((angle.cos(), angle.sin()), -1) * factor).to(dtype)


def rotated(key, positions, config, is_neox=True, is_moved=False):
    """[tokens, heads, head_size], by the config's rule; moved keys have their attention factor already."""
    inv_freq, factor = basis(config)
    factor = 1.0 if is_moved else factor
    angle = torch.outer(positions.double(), inv_freq)[:, None]
    cos, sin, lanes = angle.cos() * factor, angle.sin() * factor, 2 * len(inv_freq)
    x = key[..., :lanes].double()
    x0, x1 = x.chunk(2, -1) if is_neox else (x[..., ::2], x[..., 1::2])
    y0, y1 = x0 * cos - x1 * sin, x0 * sin + x1 * cos
    y = torch.cat((y0, y1), -1) if is_neox else torch.stack((y0, y1), -1).flatten(-2)
    return torch.cat((y, key[..., lanes:].double()), -1)


def error(got, exact):
    """Difference relative to the root mean square."""
    return float((got.double() - exact).pow(2).mean().sqrt() / exact.pow(2).mean().sqrt())
