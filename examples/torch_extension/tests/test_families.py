# SPDX-License-Identifier: MIT
"""apply_to: outputs and gradients against transformers' own, for every family that asks for the kernel rotary_pos_emb."""
import pytest
import torch
from small_families import NOT_ROTATED, INTERLEAVES, LENGTH, apart, asking, result, small

from cordage_torch import apply_to

AGREEMENT, OF_GRADIENTS = 1e-5, 3e-5  # of the largest, float32, at positions below 64
REFUSED = {family: "must have a rotary embedding" for family in NOT_ROTATED} | {
    "hunyuan_vl": "names no axes for its pairs",  # the two lanes of a pair by different axes
    "lasr": "calls dropout on cos or sin",
    "pixtral": "must have a rotary embedding",  # by rows and columns
}
ROTATED = [family for family in asking() if family not in REFUSED]
NOT_HALVED = {"phimoe": "makes its frequencies anew at each call", "ministral3": "has no rule without YaRN",
              "mistral4": "has no rule without YaRN", "openai_privacy_filter": "has no rule without YaRN"}
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
SCALED = dict.fromkeys(("apertus", "apertus1p5", "cwm", "gpt_oss", "higgs_audio_v2"), PLAIN) | {  # by default
    "lfm3": {"full_attention": PLAIN, "sliding_attention": PLAIN}}
ONE_ANGLE_A_HEAD = ("neucodec", "xcodec2")  # positions count heads, so that no score depends on the frequencies


def halve_frequencies(model):
    """What a linear factor of 2 does, in a model of transformers."""
    for name, buffer in model.named_buffers():
        if name.endswith("inv_freq") and "sliding_attention" not in name:
            buffer /= 2


@pytest.mark.parametrize("family", asking())
def test_every_family(family):
    model, inputs = small(family)
    if family in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[family]), apply_to(model):
            model(**inputs)
        return
    expected, gradients = result(model, inputs)
    with apply_to(model):
        got, grads = result(model, inputs)
    assert apart([got], [expected]) <= AGREEMENT and apart(grads, gradients) <= OF_GRADIENTS
    with apply_to(model, exact=False):
        got, _ = result(model, inputs)
    assert torch.equal(got, expected)


@pytest.mark.parametrize("family", INTERLEAVES)
def test_families_whose_other_function_interleaves(family):
    model, inputs = small(family, rope_interleave=True)
    expected, gradients = result(model, inputs)
    for exact in (True, False):
        with apply_to(model, exact=exact):
            got, grads = result(model, inputs)
        assert apart([got], [expected]) <= AGREEMENT and apart(grads, gradients) <= OF_GRADIENTS


@pytest.mark.parametrize("family", ["cohere", "cohere2", "glm", "helium"])
def test_tables_of_interleaved_pairs(family):
    """Cohere's hold each number twice in a row, the others' repeat all of them."""
    model, inputs = small(family)
    expected, _ = result(model, inputs)
    for exact in (True, False):
        with apply_to(model, exact=exact):
            got, _ = result(model, inputs)
        assert apart([got], [expected]) <= AGREEMENT


@pytest.mark.parametrize("family", ROTATED)
def test_every_family_at_another_t(family):
    model, inputs = small(family, **{"rope_parameters": SCALED[family]} if family in SCALED else {})
    scaling = {"rope_type": "linear", "factor": 2.0}
    if family in ("beam", "dory"):  # whose full attention is not rotated
        with pytest.raises(ValueError, match="scaling is of layers 'full_attention'"):
            apply_to(model, scaling)
        return
    with apply_to(model, scaling):
        got, _ = result(model, inputs)
    expected, _ = result(model, inputs)
    assert (apart([got], [expected]) > 1e-3) == (family not in ONE_ANGLE_A_HEAD)
    if family in NOT_HALVED:
        return
    halve_frequencies(model)
    expected, _ = result(model, inputs)
    assert apart([got], [expected]) <= AGREEMENT


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_vl"])
def test_pairs_are_rotated_by_their_axes(family):
    model, inputs = small(family)
    token = torch.arange(LENGTH)
    inputs["position_ids"] = torch.stack((token, token // 3, token % 3))[:, None].expand(3, 2, LENGTH)
    expected, gradients = result(model, inputs)
    with apply_to(model):
        got, grads = result(model, inputs)
    assert apart([got], [expected]) <= AGREEMENT and apart(grads, gradients) <= OF_GRADIENTS


@torch.no_grad()
def test_cached_keys_are_laid_out_as_the_models_own():
    model, inputs = small("deepseek_v3", rope_interleave=True)
    ids = inputs["input_ids"]
    expected = model(ids, use_cache=False).logits[:, 8:]
    cache = model(ids[:, :8], use_cache=True).past_key_values
    with apply_to(model):
        got = model(ids[:, 8:], past_key_values=cache).logits
    assert apart([got], [expected]) <= AGREEMENT
