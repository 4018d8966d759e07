# SPDX-License-Identifier: MIT
"""cordage's rotation and K-shift inside llama.cpp, compared with llama.cpp's own. All comparisons use that scores, and
therefore logits, are unchanged if all positions are shifted by the same number."""
import math

import numpy as np
import pytest
from conftest import Failed, difference, random_model, write_gguf

PROMPT = [int(token) for token in np.random.default_rng(5).integers(3, 61, 40)]
YARN = {"rope_scaling_type": 2, "rope_freq_scale": 0.25, "yarn_orig_ctx": 32}
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 8, "BF16": 30}
FAR = 100_000


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_gguf(random_model("llama"), "llama", tmp_path_factory.mktemp("model") / "llama.gguf")


@pytest.fixture(scope="module", params=["qwen2vl", "qwen3vl"])
def multimodal(request, tmp_path_factory):
    """Four positions per token: sections in blocks or interleaved."""
    path = tmp_path_factory.mktemp("model") / f"{request.param}.gguf"
    sections = {"rope.dimension_sections": [16, 8, 8, 0] if request.param == "qwen2vl" else [12, 10, 10, 0]}
    family = "qwen2" if request.param == "qwen2vl" else "qwen3"
    return write_gguf(random_model(family, head_dim=64) if family == "qwen3" else random_model(family), request.param, path,
                      **sections)


def next_after_shift(llama, library, model, by, **context):
    """Logits of a token after a prompt whose keys have been shifted, and without the shift."""
    steps = [["decode", PROMPT[:-1], 10], ["shift", 0, by], ["decode", PROMPT[-1:], 10 + len(PROMPT) - 1 + by]]
    moved = llama(library, model, *steps, **context)[-1]
    steps = [["decode", PROMPT[:-1], 10], ["decode", PROMPT[-1:], 10 + len(PROMPT) - 1]]
    return moved, llama(library, model, *steps, **context)[-1]


@pytest.mark.parametrize("scaling", [{}, YARN], ids=["unscaled", "yarn"])
def test_it_is_llama_cpps_rotation_at_short_positions(llama, model, scaling):
    ours, theirs = (llama(library, model, ["decode", PROMPT, 0], **scaling)[0] for library in ("cordage", "own"))
    assert difference(ours, theirs) < 1e-5
    assert not np.array_equal(ours, theirs)  # the two rotations differ in the last bits


def test_four_positions_a_token(llama, multimodal):
    ours, theirs = (llama(library, multimodal, ["decode", PROMPT, 0])[0] for library in ("cordage", "own"))
    assert difference(ours, theirs) < 1e-5


def test_angles_are_exact_at_long_positions(llama, model):
    near = llama("own", model, ["decode", PROMPT, 0])[0]
    ours, theirs = (llama(library, model, ["decode", PROMPT, 10 * FAR])[0] for library in ("cordage", "own"))
    assert difference(ours, near) < 1e-5
    assert difference(theirs, near) > 1e-3


INTO_THE_CACHE = "keys are rotated on their way into the cache"


@pytest.mark.parametrize("name", TYPES)
def test_keys_are_rotated_on_their_way_into_the_cache(llama, model, name):
    """Bit-identical to a separate rotation and store, which ggml uses if fusion is disabled."""
    plan = [["decode", PROMPT[:30], FAR], ["decode", PROMPT[30:], FAR + 30], ["said", INTO_THE_CACHE]]
    variables = {"LLAMA_ATTN_ROT_DISABLE": "1"}  # no transform between rotation and store of quantised keys
    *found, is_said = llama("cordage", model, *plan, variables=variables, type_k=TYPES[name])
    *apart, is_said_apart = llama("cordage", model, *plan, variables=variables | {"GGML_CPU_DISABLE_FUSION": "1"},
                                  type_k=TYPES[name])
    assert is_said and not is_said_apart
    for a, b in zip(found, apart):
        assert difference(a, b) < (1e-5 if name[0] != "Q" else 2e-2)


def test_keys_that_are_transformed_or_of_another_type_are_rotated_before(llama, model, multimodal):
    assert not llama("cordage", model, ["decode", PROMPT, 0], ["said", INTO_THE_CACHE], type_k=TYPES["Q8_0"])[1]
    assert not llama("cordage", model, ["decode", PROMPT, 0], ["said", INTO_THE_CACHE], type_k=6)[1]
    assert llama("cordage", multimodal, ["decode", PROMPT, 0], ["said", INTO_THE_CACHE])[1]


@pytest.mark.parametrize("by", [5, -7, FAR])
def test_moved_keys(llama, model, by):
    moved, stayed = next_after_shift(llama, "cordage", model, by)
    assert difference(moved, stayed) < 1e-5


def test_the_attention_factor_is_not_multiplied_in_again(llama, model):
    moved, stayed = next_after_shift(llama, "cordage", model, 5, **YARN)
    assert difference(moved, stayed) < 1e-5
    moved, stayed = next_after_shift(llama, "own", model, 5, **YARN)
    assert difference(moved, stayed) > 0.05  # llama.cpp's own, a measured fact of docs/migrating.md


def test_sixteen_shifts(llama, model):
    factor = 1 + 0.1 * math.log(4)
    steps = [["decode", PROMPT[:8], 0], ["keys"]]
    for i in range(16):
        steps += [["shift", 0, 5], ["decode", PROMPT[8 + i:9 + i], 8 + i + 5 * (i + 1)]]
    steps.append(["keys"])
    for library, expected in (("own", factor**16), ("cordage", 1.0)):
        results = llama(library, model, *steps, **YARN)
        before, after = (np.linalg.norm(keys[:8]) for keys in (results[1], results[-1]))
        assert after / before == pytest.approx(expected, rel=1e-4), library


def test_another_sequence_stays(llama, model):
    def second(library, *between):
        return llama(library, model, ["decode", PROMPT[:20], 0, 0], ["decode", PROMPT[20:39], 0, 1], *between,
                     ["decode", PROMPT[39:], 19, 1], n_seq_max=2, kv_unified=True, **YARN)[-1]
    shift = ["shift", 0, 5]
    assert np.array_equal(second("cordage", shift), second("cordage"))
    assert difference(second("own", shift), second("own")) > 0.05  # llama.cpp's own shift changes the other sequence too


def assert_moved_within_rounding(llama, model, name):
    """A shift adds at most the error of one more rounding to the cache's type."""
    moved, stayed = next_after_shift(llama, "cordage", model, 5, type_k=TYPES[name])
    exact = next_after_shift(llama, "cordage", model, 5)[1]
    assert 1e-6 < difference(moved, exact) < 2 * difference(stayed, exact)


@pytest.mark.parametrize("name", ["F16", "BF16", "Q8_0", "Q4_0"])
def test_shifts_of_other_types(llama, model, name):
    assert_moved_within_rounding(llama, model, name)


def test_shifts_under_m_rope(llama, multimodal):
    moved, stayed = next_after_shift(llama, "cordage", multimodal, 5)
    assert difference(moved, stayed) < 1e-5
    assert_moved_within_rounding(llama, multimodal, "Q8_0")
    assert not llama("own", multimodal, ["can_shift"])[0] and llama("cordage", multimodal, ["can_shift"])[0]
    with pytest.raises(Failed, match="seq_add"):  # llama.cpp without cordage aborts here
        next_after_shift(llama, "own", multimodal, 5)


def test_a_cache_type_that_cordage_lacks(llama, model):
    with pytest.raises(Failed, match="K-shift.*of type GGML_TYPE 6 must be F32, F16, BF16, Q8_0 or Q4_0; .* --cache-type-k"):
        next_after_shift(llama, "cordage", model, 5, type_k=6)
