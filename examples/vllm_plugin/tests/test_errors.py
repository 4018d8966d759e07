# SPDX-License-Identifier: MIT
"""Errors: one sentence that names the key and the remedy. vLLM's own rotation never runs instead."""
import os
import subprocess
import sys

import pytest
from conftest import TRAINED, prompt, save_model

WAY_OUT = "start vLLM with VLLM_PLUGINS='' to use its own rotation"
PLAIN = {"rope_type": "default", "rope_theta": 1000.0}


def overridden(rope):
    return {"hf_overrides": {"rope_parameters": rope}}


WRONG_ENGINES = {
    "a rule without sense": (overridden(PLAIN | {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 4.0,
                                                 "high_freq_factor": 1.0, "original_max_position_embeddings": TRAINED}),
                             ["low_freq_factor", "high_freq_factor", WAY_OUT]),
    "pairs that turn by no axis": (overridden(PLAIN | {"mrope_section": [4, 6, 5]}), ["mrope_section", WAY_OUT]),
    "no such module": ({"additional_config": {"cordage": {"basis": "no_such_module:table"}}},
                       ["['basis'] 'no_such_module:table'", "No module named"]),
    "no basis": ({"additional_config": {"cordage": {"basis": "learned_basis:nothing"}}}, ["returned a NoneType"]),
    "another size": ({"additional_config": {"cordage": {"basis": "learned_basis:other_size"}}}, ["rotary_dim 16", "32"]),
    "factors for less": (overridden(PLAIN | {"rope_type": "longrope", "factor": 4.0, "short_factor": [1.0] * 16,
                                             "long_factor": [4.0] * 16, "original_max_position_embeddings": TRAINED})
                         | {"max_model_len": 8 * TRAINED},
                         ["max_model_len 512 must be <= max_position_embeddings 256", "'longrope'", "with max_model_len 256",
                          "for 512 tokens"]),
    "unknown key": ({"additional_config": {"cordage": {"bases": "learned_basis:table"}}}, ["'bases'", "'basis'"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("model"), max_position_embeddings=4 * TRAINED)


def asking(lengths, key="rope_length"):
    """One call for each length."""
    return [[{"ids": prompt(20), "tokens": 2, "extra": {key: length}}] for length in lengths]


WRONG_LENGTHS = {True: "an integer, not of type bool", 1.5: "an integer, not of type float", "64": "an integer, not of type str",
                 0: "in [1, max_model_len 256]; start", 4 * TRAINED + 1: "in [1, max_model_len 256]; start"}
WRONG_KEYS = ["rope_lenght", "rope", "Rope_Length", "rop_length"]
DYNAMIC = overridden(PLAIN | {"rope_type": "dynamic", "factor": 4.0}) | {"max_model_len": 4 * TRAINED}


@pytest.fixture(scope="module")
def refusals(folder, run_vllm, tmp_path_factory):
    """All engines in one process, since starting a process takes longer than these computations."""
    engines = {name: [settings, []] for name, (settings, _) in WRONG_ENGINES.items()}
    engines["glm"] = [{"model": save_model(tmp_path_factory.mktemp("glm"), "glm")}, []]
    engines["dynamic"] = [DYNAMIC, asking([*WRONG_LENGTHS, 64])]
    engines["plain"] = [{}, [*asking([64]), *(asking([64], key)[0] for key in [*WRONG_KEYS, "length", "max_length"])]]
    given = run_vllm(*([{"model": folder} | settings, calls] for settings, calls in engines.values()),
                     VLLM_ALLOW_LONG_MAX_MODEL_LEN="1")
    return dict(zip(engines, given, strict=True))


@pytest.mark.parametrize("name", WRONG_ENGINES)
def test_an_engine_is_refused(name, refusals):
    said = refusals[name]["error"]
    for words in ["cordage_vllm: ", *WRONG_ENGINES[name][1]]:
        assert words in said
    assert "\n" not in said


def test_a_model_that_vllm_runs_by_transformers_is_refused(refusals):
    said = refusals["glm"]["error"]
    assert said.startswith("cordage_vllm: model_type 'glm' runs by vLLM's transformers backend")
    assert WAY_OUT in said


def test_a_request_is_refused(refusals):
    *refused, served = refusals["dynamic"]["answers"]
    for (length, expected), said in zip(WRONG_LENGTHS.items(), refused, strict=True):
        assert said.startswith(f"cordage_vllm: extra_args['rope_length'] {length!r} must be {expected}")
    assert len(served[0]["tokens"]) == 2  # the engine goes on
    assert "one basis for all lengths" in refusals["plain"]["answers"][0]


def test_a_misspelt_key_of_a_request_is_refused(refusals):
    *refused, other, another = refusals["plain"]["answers"][1:]
    assert refused == [f"cordage_vllm: extra_args has the key {key!r}, must be 'rope_length'" for key in WRONG_KEYS]
    assert len(other[0]["tokens"]) == len(another[0]["tokens"]) == 2


def test_engines_in_one_process_have_their_own_bases(folder):
    """Once, the second one's layer replaced the first one's, or was that one."""
    program = """
import sys, torch
from vllm.plugins import load_general_plugins
load_general_plugins()
from vllm.config import set_current_vllm_config
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers.rotary_embedding import get_rope
rope = {"rope_type": "dynamic", "rope_theta": 1000.0, "factor": 4.0}
learned = {"cordage": {"basis": "learned_basis:table"}}
layers = []
for length, basis in ((256, {}), (1024, {}), (1024, learned), (256, {})):
    config = EngineArgs(model=sys.argv[1], skip_tokenizer_init=True, dtype="float32", max_model_len=length, additional_config=basis,
                        hf_overrides={"rope_parameters": rope}).create_engine_config()
    with set_current_vllm_config(config):
        layers.append(get_rope(32, 256, rope_parameters=rope, dtype=torch.float32))
x = torch.ones(1, 32)
rotated = [layer.forward_native(torch.tensor([60]), x.clone())[0] for layer in layers]
print([[torch.equal(a, b) for b in rotated] for a in rotated], layers[0] is layers[3])
"""
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True,
                          env=os.environ | {"VLLM_PLUGINS": "cordage", "VLLM_LOGGING_LEVEL": "ERROR",
                                            "PYTHONPATH": os.path.dirname(os.path.abspath(__file__))})
    assert done.returncode == 0, done.stderr[-3000:]
    same = [[i == j or {i, j} == {0, 3} for j in range(4)] for i in range(4)]
    assert done.stdout.splitlines()[-1] == f"{same} True"


def test_classes_and_types_that_are_not_served(folder):
    """Layers constructed within vLLM, as a model does."""
    program = """
import sys, torch
from vllm.plugins import load_general_plugins
load_general_plugins()
from vllm.config import set_current_vllm_config
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers.rotary_embedding import MRotaryEmbedding, get_rope
config = EngineArgs(model=sys.argv[1], skip_tokenizer_init=True, dtype="float32").create_engine_config()
plain = {"rope_type": "default", "rope_theta": 1000.0}
with set_current_vllm_config(config):
    layer = get_rope(32, 256, rope_parameters=plain, dtype=torch.float32)
    for make in (lambda: get_rope(32, 256, rope_parameters=plain | {"rope_type": "ntk", "factor": 2.0}, dtype=torch.float32),
                 lambda: MRotaryEmbedding(32, 32, 256, 1000.0, True, torch.float32, [4, 6, 6]),
                 lambda: get_rope(32, 256, rope_parameters=plain | {"rope_theta": 10.0}, dtype=torch.float32),
                 lambda: get_rope(32, 256, rope_parameters=plain | {"partial_rotary_factor": 0.5}, dtype=torch.float32),
                 lambda: get_rope(16, 256, rope_parameters=plain | {"rope_dim": 32}, dtype=torch.float32),
                 lambda: layer(torch.arange(2), torch.zeros(2, 64).to(torch.float8_e4m3fn)),
                 lambda: layer(torch.arange(2), torch.zeros(2, 65)),
                 lambda: layer(torch.arange(6).view(3, 2), torch.zeros(2, 192))):
        try:
            print("served", make())
        except (ValueError, RuntimeError) as refused:
            print(str(refused).splitlines()[0])
    print(layer.cos_sin_cache.numel())
"""
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True,
                          env=os.environ | {"VLLM_PLUGINS": "cordage", "VLLM_LOGGING_LEVEL": "ERROR"})
    assert done.returncode == 0, done.stderr[-3000:]
    *said, table = done.stdout.splitlines()[-9:]
    assert all(WAY_OUT in one for one in said)
    assert "vLLM's NTKScalingRotaryEmbedding is of a rope_type that cordage_vllm does not serve" in said[0]
    assert "vLLM rotates pairs by the axes [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2], must be []" in said[1]
    assert "rope_theta 10, which must be one rule of rope_parameters" in said[2]
    assert "rotary_dim 16" in said[3]
    assert "head_dim 16 must be >= rotary_dim 32" in said[4]
    assert "q or k of torch.float8_e4m3fn must be float32, bfloat16 or float16" in said[5]
    assert "q or k [2, 65] must be [tokens, heads * head_dim] of head_dim 32" in said[6]
    assert "q or k [2, 192]" in said[7] and "positions [3, 2]" in said[7]
    assert table == "0"  # no table of vLLM's own
