# SPDX-License-Identifier: MIT
"""Tempered: its formula and gradients, learning in a patched model, and export."""
import copy
import json
import math

import pytest
import torch
from small_models import TRAINED, small, tokens
from torch.autograd import gradcheck

from cordage_torch import CLEX, LearnedTable, LeRoPE, Tempered, apply_to, save_freq_factors, save_longrope

TARGET = 8 * TRAINED
AGREEMENT = 1e-4  # of the largest logit, float32: transformers' angles are off by some 1e-5 at position 256


def learned(config, **temperature):
    """A table that differs from its prior, up to t = 8, with a temperature."""
    table = LearnedTable(CLEX.for_config(config, prior=("by_parts", 0.5, 4.0), t_max=8.0, hidden=1))
    torch.manual_seed(3)
    with torch.no_grad():
        table.offsets.normal_(std=0.1)
    return Tempered(table, **temperature)


def difference(got, expected):
    return float((got - expected).abs().max() / expected.abs().max())


def test_the_temperature_is_its_closed_forms():
    clex = CLEX(8, original_length=64)
    ts = torch.tensor([1.0, 1.5, 4.0, 16.0], dtype=torch.float64)
    by_log, as_yarn = Tempered(clex, power=1.0), Tempered(clex, slope=0.1, power=2.0)
    torch.testing.assert_close(by_log.temperature(ts), (64 * ts).log() / math.log(64), rtol=1e-6, atol=0)
    torch.testing.assert_close(as_yarn.basis(ts)[1], 0.1 * ts.log() + 1, rtol=1e-6, atol=0)
    assert by_log.temperature(1.0) == 1.0 and (Tempered(clex).temperature(ts) == 1.0).all()
    assert torch.equal(by_log(4.0), clex(4.0))
    over_yarn = Tempered(CLEX(8, original_length=64, prior="yarn"), power=1.0)
    assert over_yarn.basis(4.0)[1].item() == pytest.approx((0.1 * math.log(4) + 1) * math.sqrt(4 / 3), rel=1e-6)


def test_gradients():
    made = Tempered(CLEX(8, original_length=64), power=0.7).double()
    for t in (1.0, 3.0, 16.0):
        def at(log_slope, power, t=t):
            given = copy.copy(made)
            given._parameters = {"log_slope": log_slope, "power": power}
            return given.basis(t)[1]

        assert gradcheck(at, (made.log_slope, made.power))


@pytest.mark.parametrize("form", ["clex", "table", "lerope"])
def test_basis_and_temperature_learn_together(form):
    model = small("llama").requires_grad_(False)
    basis = LeRoPE(model.config) if form == "lerope" else CLEX.for_config(model.config, prior=("by_parts", 0.5, 4.0))
    basis = Tempered(LearnedTable(basis) if form == "table" else basis, power=1.0)
    ids = tokens(4 * TRAINED)
    with apply_to(model, basis) as patch:
        assert "Tempered(" in patch.rules
        model(ids, labels=ids).loss.backward()
        assert all(p.grad is not None and p.grad.abs().max() > 0 for p in (basis.log_slope, basis.power))
        assert any(p.grad is not None and p.grad.abs().max() > 0 for p in basis.of_basis.parameters())
        by_hand = []
        with torch.no_grad():  # d loss / d power by a difference
            for step in (1e-2, -2e-2):
                basis.power += step
                by_hand.append(model(ids, labels=ids).loss.item())
        assert float(basis.power.grad) == pytest.approx((by_hand[0] - by_hand[1]) / 2e-2, rel=0.02)


@torch.no_grad()
@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3_text"])
def test_logits_are_the_same_after_the_export(family, tmp_path):
    model = small(family)
    model.save_pretrained(tmp_path)
    basis = learned(model.config, power=1.4)
    save_longrope(model.config, basis, TARGET, tmp_path)
    exported = type(model).from_pretrained(tmp_path, attn_implementation="eager")
    ids = tokens(TARGET)
    expected = exported(ids).logits
    with apply_to(exported):
        assert difference(exported(ids).logits, expected) <= AGREEMENT
    with apply_to(model, basis):
        assert difference(model(ids).logits, expected) <= AGREEMENT
    with apply_to(model, basis.of_basis):  # the comparison would detect a missing temperature
        assert difference(model(ids).logits, expected) > 100 * AGREEMENT


def test_every_reader_finds_the_factor(tmp_path):
    gguf = pytest.importorskip("gguf")
    config = small("llama").config
    basis = learned(config, power=1.4)
    factor = math.sqrt(basis.temperature(8.0).item())
    save_longrope(config, basis, TARGET, tmp_path)
    rope = json.loads((tmp_path / "config.json").read_text())["rope_parameters"]
    assert rope["attention_factor"] == rope["short_mscale"] == rope["long_mscale"] == pytest.approx(factor, rel=1e-12) != 1.0
    save_freq_factors(config, basis, TARGET, tmp_path / "factors.gguf")
    found = gguf.GGUFReader(tmp_path / "factors.gguf").get_field("llama.rope.scaling.attn_factor").contents()
    assert found == pytest.approx(factor, rel=1e-6)


def test_unrotated_lanes_are_not_missed(tmp_path):
    model = small("gpt_neox")
    basis = learned(model.config)
    with pytest.raises(ValueError, match="apply_to: a Tempered basis must be of a model whose heads are rotated as a whole, not 8 of"):
        apply_to(model, basis)
    with pytest.raises(ValueError, match="export: a Tempered basis must be of a model whose heads are rotated as a whole"):
        save_longrope(model.config, basis, TARGET, tmp_path / "folder")
    apply_to(model, basis.of_basis).undo()
    assert not list(tmp_path.iterdir())


def test_errors_name_the_argument():
    clex = CLEX(8, original_length=64)
    for slope in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"Tempered: slope {slope} must be finite and > 0"):
            Tempered(clex, slope=slope)
    one = CLEX(8, original_length=1)
    with pytest.raises(ValueError, match="slope None .* must have original_length > 1, not 1; give a slope"):
        Tempered(one)
    Tempered(one, slope=0.1)
    with pytest.raises(ValueError, match="Tempered: power nan must be finite"):
        Tempered(clex, power=math.nan)
