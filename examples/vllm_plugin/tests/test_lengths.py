# SPDX-License-Identifier: MIT
"""A learned basis: exported in a config, and at a separate length ratio t for each request of a batch."""
import pytest
import torch
from conftest import TRAINED, largest, load_model, logprobs, prompt, save_model
from learned_basis import table

from cordage_torch import apply_to, save_longrope

TARGET = 8 * TRAINED
AGREEMENT = 3e-5  # of log-probabilities in float32
TOKENS = 24
LONG = prompt(200)


def request(length, ids=LONG, tokens=TOKENS):
    return {"ids": ids, "tokens": tokens, "extra": length and {"rope_length": length}}


# Requests that come and go, so that rows of the batch move: three end early, prompts are computed in pieces of 128 tokens.
BATCH = [request(TRAINED, tokens=3), request(2 * TRAINED), request(None, ids=prompt(40)), request(4 * TRAINED, tokens=7),
         request(TARGET), request(TARGET, ids=prompt(90)), request(3 * TRAINED, ids=prompt(30), tokens=2),
         request(TRAINED, ids=prompt(33))]
IN_TURN = [[request(length)] for length in (2 * TRAINED, 4 * TRAINED, 2 * TRAINED, TARGET, None)]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = save_model(tmp_path_factory.mktemp("exported"))
    config = load_model(folder).config
    save_longrope(config, table(config), TARGET, folder)
    return folder


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Model, and vLLM's settings with its learned basis."""
    folder = save_model(tmp_path_factory.mktemp("learned"))
    settings = {"hf_overrides": {"max_position_embeddings": TARGET}, "max_num_seqs": 6, "max_num_batched_tokens": 128,
                "additional_config": {"cordage": {"basis": "learned_basis:table"}}}
    return load_model(folder), {"model": folder} | settings


@pytest.fixture(scope="module")
def eager(exported, learned, run_vllm):
    """All eager engines, in one process: starting one takes longer than what it computes here."""
    settings = learned[1]
    engines = {
        "exported": [{"model": exported, "max_model_len": TARGET}, [*IN_TURN, [request(TRAINED)]]],
        "no cache": [settings | {"enable_prefix_caching": False}, [BATCH, *([one] for one in BATCH), *IN_TURN]],
        "cache": [settings, IN_TURN],
        "salted": [settings, [[request(TARGET) | {"salt": salt}] for salt in ("a", "b", "a")]],
    }
    return dict(zip(engines, run_vllm(*engines.values()), strict=True))


def test_an_exported_basis_is_served(exported, eager):
    assert eager["exported"]["rotary"] == ["CordagePhi3LongRoPEScaledRotaryEmbedding"]
    model = load_model(exported)
    by_transformers = model.generate(torch.tensor([LONG]), max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False)
    for made, in eager["exported"]["answers"][:len(IN_TURN)]:
        assert by_transformers[0, len(LONG):].tolist() == made["tokens"]
        assert largest(made["logprobs"], logprobs(model, LONG, made["tokens"])) <= AGREEMENT


def check_batch(model, together, alone):
    """Each request equals the same request alone, and transformers at its t."""
    basis = table(model.config)
    seen = set()
    for asked, made, (single,) in zip(BATCH, together, alone, strict=True):
        assert made["tokens"] == single["tokens"]
        assert largest(made["logprobs"], single["logprobs"]) <= AGREEMENT
        length = asked["extra"]["rope_length"] if asked["extra"] else TARGET
        with apply_to(model, basis), basis.held_at(length / TRAINED):
            assert largest(made["logprobs"], logprobs(model, asked["ids"], made["tokens"])) <= AGREEMENT
        if asked["ids"] == LONG:
            seen.add(round(made["logprobs"][0], 3))
    assert len(seen) == 4  # the comparison would detect another t


def test_requests_of_several_t_in_one_batch(learned, eager):
    together, *alone = eager["no cache"]["answers"]
    check_batch(learned[0], together, alone[:len(BATCH)])


def test_requests_of_several_t_in_one_batch_by_compiled_code(learned, run_vllm):
    model, settings = learned
    settings = settings | {"enable_prefix_caching": False, "enforce_eager": False}
    served, = run_vllm([settings, [BATCH, *([one] for one in BATCH)]])
    together, *alone = served["answers"]
    check_batch(model, together, alone)


def test_processes_of_their_own(learned, eager, run_vllm):
    """vLLM's default: requests are accepted in one process, the model runs in another."""
    settings = learned[1] | {"enable_prefix_caching": False}
    apart, = run_vllm([settings, [BATCH]], VLLM_ENABLE_V1_MULTIPROCESSING="1")
    for a, b in zip(eager["no cache"]["answers"][0], apart["answers"][0], strict=True):
        assert a["tokens"] == b["tokens"] and largest(a["logprobs"], b["logprobs"]) <= AGREEMENT


def cached(served):
    return [call[0]["cached"] for call in served["answers"]]


def test_prefixes_are_shared_by_requests_of_one_basis_alone(eager):
    blocks = len(LONG) // 32 * 32
    assert cached(eager["cache"]) == [0, 0, blocks, 0, blocks]
    assert cached(eager["exported"]) == [0, blocks, blocks, blocks, blocks, 0]  # LongRoPE has two bases
    apart = eager["no cache"]["answers"][-len(IN_TURN):]
    for (shared,), (single,) in zip(eager["cache"]["answers"], apart, strict=True):
        assert shared["tokens"] == single["tokens"]
        assert largest(shared["logprobs"], single["logprobs"]) <= AGREEMENT


def test_a_salt_of_the_user_stays(eager):
    assert [count > 0 for count in cached(eager["salted"])] == [False, False, True]
