# SPDX-License-Identifier: MIT
"""LeRoPE's frequencies and head temperatures, computed by transformers' Mistral Large 4: tests/golden/lerope.json.

python tests/hosts/lerope_golden.py writes that file; test_lerope_golden.py compares it with the installed version."""
import json

import golden_file

FILE = golden_file.FOLDER / "lerope.json"

YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "original_max_position_embeddings": 512, "beta_fast": 32.0,
        "beta_slow": 1.0, "attention_factor": 1.0}
SMALL = {"vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 8, "num_attention_heads": 4, "n_routed_experts": 4,
         "max_position_embeddings": 1 << 20}
# Beside the default rope_parameters: another window and base without attention_factor, and no YaRN at all.
CONFIGS = [
    SMALL,
    SMALL | {"qk_rope_head_dim": 16, "qk_nope_head_dim": 48, "no_rope_layers": [1, 0, 1, 1, 0, 1, 1, 1],
             "rope_parameters": YARN | {"rope_theta": 500000.0, "factor": 8.0, "attention_factor": None}},
    SMALL | {"qk_rope_head_dim": 32, "rope_parameters": {"rope_type": "default", "rope_theta": 100000.0}},
]
POSITIONS = [0, 1, 2, 511, 65535, 1048575]


def config_of(settings):
    from transformers.models.mistral_large4 import MistralLarge4TextConfig
    return MistralLarge4TextConfig(**json.loads(json.dumps(settings)))


def basis(settings, seed):
    """A config as transformers saves it, a random alpha, and the class's inv_freq * exp(alpha) and attention factor."""
    import torch
    from transformers.models.mistral_large4.modeling_mistral_large4 import MistralLarge4TextRotaryEmbedding
    config = config_of(settings)
    rotary = MistralLarge4TextRotaryEmbedding(config).requires_grad_(False)
    rotary.alpha.copy_(0.5 * torch.randn(rotary.alpha.shape, generator=torch.Generator().manual_seed(seed)))
    inv_freq = rotary.inv_freq * rotary.alpha.exp()
    cos, sin = rotary(torch.zeros(1, dtype=torch.float64), torch.tensor([POSITIONS]))
    angles = torch.tensor(POSITIONS)[:, None] * inv_freq  # float32, as the class rotates by
    for found, made in ((cos, angles.cos()), (sin, angles.sin())):
        torch.testing.assert_close(found[0, :, :len(inv_freq)].float(), made * rotary.attention_scaling, rtol=0, atol=0)
    return {"kind": "lerope", "name": f"config {seed}", "config": json.loads(config.to_json_string(use_diff=False)),
            "alpha_float32": rotary.alpha.tolist(), "inv_freq_float32": inv_freq.tolist(),
            "attention_factor": rotary.attention_scaling}


def temperatures(heads, lanes, seed):
    """Queries scaled by the class in double, and the gradients of sum(grad_scaled * scaled)."""
    import torch
    from transformers.models.mistral_large4.modeling_mistral_large4 import MistralLarge4TextSoftmaxScaling
    draw = torch.Generator().manual_seed(seed)
    scaling = MistralLarge4TextSoftmaxScaling(heads).double()
    with torch.no_grad():
        scaling.scale.copy_(torch.randn(heads, generator=draw))
        scaling.bias.copy_(torch.randn(heads, generator=draw))
    q = torch.randn(len(POSITIONS), heads, lanes, generator=draw, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(q.shape, generator=draw, dtype=torch.float64)
    scaled = scaling(q[None], torch.tensor([POSITIONS]), head_dim_first=False)[0]
    (scaled * weights).sum().backward()
    tensors = {"q": q, "scaled": scaled, "grad_scaled": weights, "grad_q": q.grad}
    vectors = {"scale": scaling.scale, "bias": scaling.bias, "grad_scale": scaling.scale.grad, "grad_bias": scaling.bias.grad}
    return {"kind": "head_temperatures", "name": f"{heads} heads", "positions": POSITIONS,
            **{name: each.tolist() for name, each in vectors.items()},
            **{name: {"shape": list(each.shape), "data": each.flatten().tolist()} for name, each in tensors.items()}}


def golden():
    import transformers
    return {
        "description": "LeRoPE: frequencies with a learned factor for each pair, and a learned factor on queries by head and "
                       "position.",
        "source": f"MistralLarge4TextRotaryEmbedding and MistralLarge4TextSoftmaxScaling of transformers "
                  f"{transformers.__version__}, by tests/hosts/lerope_golden.py",
        "convention": {
            "lerope": "inv_freq = the config's basis times exp(alpha), [pairs], at every length",
            "head_temperatures": "scaled = (scale ln(position + 1) + bias) q, [tokens, heads, lanes], the logarithm in "
                                 "float32; grad_q, grad_scale, grad_bias: gradients of sum(grad_scaled * scaled)"},
        "cases": [*(basis(settings, seed) for seed, settings in enumerate(CONFIGS)),
                  temperatures(4, 8, 3), temperatures(3, 6, 4)]}


if __name__ == "__main__":
    FILE.write_text(golden_file.text_of(golden()))
