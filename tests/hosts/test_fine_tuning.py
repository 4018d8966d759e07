# SPDX-License-Identifier: MIT
"""benchmarks/study/smollm2/fine_tuning.py with a model of a few weights."""
import importlib.util
import pathlib
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("cordage_torch")
PATH = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/study/smollm2/fine_tuning.py"
SIZE = SimpleNamespace(original=64, window=96, contexts=(64, 128), last=16, tokens=1, batch=2, documents=3)


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("fine_tuning", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model_and_rotary(program, learns, prior="ntk_aware"):
    torch.manual_seed(1)
    config = transformers.LlamaConfig(vocab_size=6000, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
                                      num_attention_heads=2, max_position_embeddings=64, initializer_range=0.3)
    model = transformers.LlamaForCausalLM(config)
    basis = program.CLEX.for_config(config, field="log_length", original_length=64, prior=prior, t_max=2.0, hidden=4)
    rotary = program.FromBasis(basis.requires_grad_(learns))
    return model, rotary, torch.arange(500) * 7 % 2000


def test_at_t_1_the_model_is_itself(program):
    model, rotary, text = model_and_rotary(program, False)
    own = program.losses(model, text[:64], torch.arange(64), 16)
    model.model.rotary_emb = rotary
    ours = program.losses(model, text[:64], torch.arange(64), 16)
    torch.testing.assert_close(ours[0], own[0], rtol=1e-4, atol=1e-5)
    rotary.t = 2.0
    assert not torch.allclose(program.losses(model, text[:64], torch.arange(64), 16)[0], own[0], rtol=1e-4)


@pytest.mark.parametrize("learns", [False, True])
def test_weights_are_tuned_with_the_basis_or_without(program, learns):
    model, rotary, text = model_and_rotary(program, learns)
    model.model.rotary_emb = rotary
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    row = program.Row("tuned", "ntk_aware", program.by_context, None, True, learns)
    assert program.tune(row, model, rotary, text, SIZE, 1e9) == 2
    moved = {name: (value - before[name]).abs().max().item() for name, value in model.named_parameters()}
    assert 0 < moved["model.layers.0.self_attn.q_proj.weight"] < 1e-4  # two steps at most 2e-5
    assert (moved["model.rotary_emb.basis.W_down"] > 0.01) == learns
    assert program.tune(row, model, rotary, text, SIZE, 0.0) == 1  # out of time


def test_a_table_of_what_was_measured(program):
    model, rotary, text = model_and_rotary(program, False)
    model.model.rotary_emb = rotary
    rows = {name: {"found": program.measured(program.Row(name, t_of=program.by_context), model, rotary, text, SIZE)}
            for name in ("tuned: CLEX", "tuned: NTK-aware")}
    assert [len(rows["tuned: CLEX"]["found"][n]["loss"]) for n in ("64", "128")] == [3, 3]
    lines = program.table(rows, SimpleNamespace(**(vars(SIZE) | {"window": 64})))
    assert sum(line.startswith("| tuned: CLEX, ") for line in lines) == 3
    assert "\ntuned: CLEX at 128 minus tuned: NTK-aware at 128: loss +0.000 ± 0.000" in lines
