# SPDX-License-Identifier: MIT
"""M-RoPE: tokens with three positions, such as those of an image, compared with vLLM's own rotation and transformers."""
import pytest
import torch
from conftest import largest, load_model, logprobs, prompt, save_vision_model
from test_plain import AGREEMENT, TOKENS
from transformers import AutoModelForImageTextToText

ROPE = {"rope_type": "default", "rope_theta": 1000.0}
MODELS = {  # vLLM's module and class, and the order of the sections
    "qwen2_vl": ("qwen2_vl", "Qwen2VLForConditionalGeneration", ROPE | {"mrope_section": [4, 6, 6]}),
    "qwen3_vl": ("qwen3_vl", "Qwen3VLForConditionalGeneration", ROPE | {"mrope_section": [6, 5, 5], "mrope_interleaved": True}),
}
IDS = prompt(60)


def positions(tokens):
    """[3][tokens]: five of text, an image of 4 rows and 8 columns, text."""
    text, grid = torch.arange(5).expand(3, -1), torch.cartesian_prod(torch.arange(1), torch.arange(4), torch.arange(8)).T + 5
    return torch.cat((text, grid, torch.arange(tokens - 37).expand(3, -1) + 13), 1)


@pytest.fixture(scope="module")
def served(run_vllm, tmp_path_factory):
    """family: [folder, with the plug-in, without it]."""
    folders = {family: save_vision_model(tmp_path_factory.mktemp(family), family, rope)
               for family, (*_, rope) in MODELS.items()}
    engines = [[{"model": folder, "max_model_len": 128, "language_model_only": True,
                 "positions": [*MODELS[family][:2], positions(len(IDS)).tolist()]}, [[{"ids": IDS, "tokens": TOKENS}]]]
               for family, folder in folders.items()]
    return dict(zip(MODELS, zip(folders.values(), run_vllm(*engines), run_vllm(*engines, plugin=False)), strict=True))


@pytest.mark.parametrize("family", MODELS)
def test_an_image_among_the_text(family, served):
    folder, ours, own = served[family]
    assert ours["rotary"] == ["CordageMRotaryEmbedding"] and own["rotary"] == ["MRotaryEmbedding"]
    (mine,), (theirs,) = ours["answers"][0], own["answers"][0]
    assert mine["tokens"] == theirs["tokens"]
    assert largest(mine["logprobs"], theirs["logprobs"]) <= AGREEMENT
    model = load_model(folder, AutoModelForImageTextToText)
    expected = logprobs(model, IDS, mine["tokens"], position_ids=positions(len(IDS) + TOKENS)[:, None])
    assert largest(mine["logprobs"], expected) <= AGREEMENT
    assert largest(mine["logprobs"], logprobs(model, IDS, mine["tokens"])) > 100 * AGREEMENT  # one position is another text
