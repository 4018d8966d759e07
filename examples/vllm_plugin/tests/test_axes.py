# SPDX-License-Identifier: MIT
"""M-RoPE: tokens whose pairs turn by three positions, as those of an image do, beside vLLM's own rotation and transformers."""
import pytest
import torch
from conftest import largest, load_model, logprobs, prompt, save_vision_model
from test_plain import AGREEMENT, TOKENS
from transformers import AutoModelForImageTextToText

ROPE = {"rope_type": "default", "rope_theta": 1000.0}
MODELS = {  # vLLM's module and class, and how the sections are dealt
    "qwen2_vl": ("qwen2_vl", "Qwen2VLForConditionalGeneration", ROPE | {"mrope_section": [4, 6, 6]}),
    "qwen3_vl": ("qwen3_vl", "Qwen3VLForConditionalGeneration", ROPE | {"mrope_section": [6, 5, 5], "mrope_interleaved": True}),
}
IDS = prompt(60)


def positions(tokens):
    """[3][tokens]: five of text, an image of 4 rows and 8 columns, text."""
    text, grid = torch.arange(5).expand(3, -1), torch.cartesian_prod(torch.arange(1), torch.arange(4), torch.arange(8)).T + 5
    return torch.cat((text, grid, torch.arange(tokens - 37).expand(3, -1) + 13), 1)


@pytest.mark.parametrize("family", MODELS)
def test_an_image_among_the_text(family, run_vllm, tmp_path):
    module, name, rope = MODELS[family]
    folder = save_vision_model(tmp_path / family, family, rope)
    engine = [{"model": folder, "max_model_len": 128, "language_model_only": True,
               "positions": [module, name, positions(len(IDS)).tolist()]}, [[{"ids": IDS, "tokens": TOKENS}]]]
    ours, own = run_vllm(engine), run_vllm(engine, plugin=False)
    assert ours[0]["rotary"] == ["CordageMRotaryEmbedding"] and own[0]["rotary"] == ["MRotaryEmbedding"]
    (mine,), (theirs,) = ours[0]["answers"][0], own[0]["answers"][0]
    assert mine["tokens"] == theirs["tokens"]
    assert largest(mine["logprobs"], theirs["logprobs"]) <= AGREEMENT
    model = load_model(folder, AutoModelForImageTextToText)
    expected = logprobs(model, IDS, mine["tokens"], position_ids=positions(len(IDS) + TOKENS)[:, None])
    assert largest(mine["logprobs"], expected) <= AGREEMENT
    assert largest(mine["logprobs"], logprobs(model, IDS, mine["tokens"])) > 100 * AGREEMENT  # one position is another text
