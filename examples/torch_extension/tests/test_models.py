# SPDX-License-Identifier: MIT
"""apply_to: logits against transformers' own, for every family and every method of a config."""
import copy
import io

import pytest
import torch
from small_models import FAMILIES, TRAINED, scalings, small, tokens

from cordage_torch import CLEX, LeRoPE, apply_to

AGREEMENT = 1e-5  # of the largest logit, float32
BEYOND = 3 * TRAINED
CASES = [(family, method) for family in FAMILIES for method in scalings(family)]


@torch.no_grad()
def prefill(model, length):
    return model(tokens(length).to(model.device), use_cache=False).logits


@torch.no_grad()
def token_by_token(model, length, first=TRAINED - 4):
    """A prompt, then one token per call, through the KV cache."""
    ids, cache, logits = tokens(length).to(model.device), None, []
    for begin, end in zip([0, *range(first, length)], range(first, length + 1)):
        out = model(ids[:, begin:end], past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        logits.append(out.logits)
    return torch.cat(logits, 1)


def logits_of(model):
    """Inside the trained length, beyond it, inside again, and token by token across its end."""
    return [prefill(model, TRAINED // 2), prefill(model, BEYOND), prefill(model, TRAINED + 3),
            prefill(model, TRAINED - 1), token_by_token(model, TRAINED + 8)]


def difference(got, expected):
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(got, expected, strict=True))


@pytest.mark.parametrize("family, method", CASES)
def test_logits_are_transformers_own(family, method, device):
    expected = logits_of(small(family, method).to(device))
    model = small(family, method).to(device)
    with apply_to(model):
        assert difference(logits_of(model), expected) <= AGREEMENT
    model = small(family, method).to(device)
    with apply_to(model, exact=False):
        if device.type == "cpu":
            assert all(torch.equal(a, b) for a, b in zip(logits_of(model), expected, strict=True))
        else:  # products and sums in one rounding
            assert difference(logits_of(model), expected) <= AGREEMENT


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rope_dictionary_replaces_the_configs(family):
    for method, scaling in scalings(family).items():
        expected, other = small(family, method), small(family)
        if method != "default":  # the comparison would detect a wrong rule
            assert difference([prefill(expected, BEYOND)], [prefill(other, BEYOND)]) > 100 * AGREEMENT
        with apply_to(other, scaling):
            lengths = TRAINED // 2, BEYOND
            assert difference([prefill(other, n) for n in lengths], [prefill(expected, n) for n in lengths]) <= AGREEMENT


def test_padded_rows_have_positions_of_their_own():
    model, ids = small("llama"), tokens(12)
    mask = torch.ones_like(ids)
    mask[1, :4] = 0
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    call = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    with torch.no_grad():
        expected = model(**call).logits[mask.bool()]
        with apply_to(model):
            assert difference([model(**call).logits[mask.bool()]], [expected]) <= AGREEMENT


def test_generate():
    model = small("llama", "dynamic")
    settings = {"max_new_tokens": 40, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    expected = model.generate(tokens(10), **settings)
    with apply_to(model) as patch:
        assert patch.rules.startswith("all layers (dynamic)")
        assert torch.equal(model.generate(tokens(10), **settings), expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_transformers_own(family):
    model, ids = small(family, dtype=torch.float64, attention="sdpa"), tokens(BEYOND)
    gradients = []
    for patched in (False, True):
        if patched:
            apply_to(model)
        model.zero_grad()
        model(ids, labels=ids).loss.backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    assert difference(gradients[1], gradients[0]) <= AGREEMENT


def test_bfloat16():
    expected = prefill(small("llama"), BEYOND)
    errors = []
    for patched in (False, True):
        model = small("llama").to(torch.bfloat16)
        if patched:
            apply_to(model)
        errors.append(float((prefill(model, BEYOND).float() - expected).abs().mean()))
    assert errors[1] <= 1.05 * errors[0]


def test_undo_and_models_beside_it():
    import transformers.models.llama.modeling_llama as modeling

    own = modeling.apply_rotary_pos_emb
    first, second, third = small("llama"), small("llama"), small("llama")
    expected, keys = prefill(third, BEYOND), set(third.state_dict())
    patches = [apply_to(first), apply_to(second, {"rope_type": "linear", "factor": 2.0})]
    assert torch.equal(prefill(third, BEYOND), expected) and set(first.state_dict()) == keys
    patches[0].undo()
    patches[0].undo()
    assert torch.equal(prefill(first, BEYOND), expected)
    assert difference([prefill(second, BEYOND)], [expected]) > 1e-3
    patches[1].undo()
    assert modeling.apply_rotary_pos_emb is own and torch.equal(prefill(second, BEYOND), expected)


def clex_for(model, **settings):
    clex = CLEX.for_config(model.config, **settings)
    torch.manual_seed(5)
    with torch.no_grad():
        clex.W_down.normal_(std=0.02)
    return clex


def test_clex_without_weights_is_its_prior():
    model = small("llama")
    by_clex, by_config = small("llama"), small("llama", "dynamic", rope_parameters={
        "rope_theta": 1000.0, "rope_type": "dynamic", "factor": 1.0})  # t = length / trained length, NTK-aware
    apply_to(by_clex, CLEX.for_config(model.config))
    assert difference([prefill(by_clex, BEYOND)], [prefill(by_config, BEYOND)]) <= AGREEMENT
    assert difference([prefill(by_clex, BEYOND)], [prefill(model, BEYOND)]) > 100 * AGREEMENT


def test_clex_weights_are_the_models():
    model = small("gemma3_text")
    clex = clex_for(model)
    with apply_to(model, clex) as patch:
        assert any(p is clex.W_up for p in model.parameters())
        assert "sliding_attention" in patch.rules and "CLEX" in patch.rules
        before = prefill(model, BEYOND)
        with clex.held_at(1.0), torch.no_grad():
            assert difference([prefill(model, BEYOND)], [before]) > 100 * AGREEMENT
    assert not any(p is clex.W_up for p in model.parameters())


def test_errors_name_the_argument():
    model = small("llama")
    with pytest.raises(TypeError, match="scaling 4.0 must be None"):
        apply_to(model, 4.0)
    with pytest.raises(ValueError, match="exact=False .* scaling must be None"):
        apply_to(model, {"rope_type": "linear", "factor": 2.0}, exact=False)
    with pytest.raises(ValueError, match="model Linear must have a rotary embedding"):
        apply_to(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="'lineer'"):
        apply_to(model, {"rope_type": "lineer", "factor": 2.0})
    with pytest.raises(ValueError, match="rotary_dim 8, must have the model's 16"):
        apply_to(model, CLEX(8, original_length=TRAINED))
    with pytest.raises(ValueError, match="theta_base 10000.0, must have the model's 1000"):
        apply_to(model, CLEX(16, original_length=TRAINED))
    with apply_to(model), pytest.raises(ValueError, match="patched already"):
        apply_to(model)


@pytest.mark.parametrize("scaling, said", [
    ({"rope_type": "yarn", "factor": 4.0, "beta_fst": 1.5}, "'beta_fst'"), ({"factor": 4.0}, "factor"),
    ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, "'rope_scaling'"),
    ({"rope_parameters": {"rope_type": "linear", "factor": 2.0}}, "'rope_parameters'")])
def test_a_rope_dictionary_with_settings_that_nothing_reads_is_an_error(scaling, said):
    model = small("llama")
    for given in (scaling, [scaling, scaling]):
        with pytest.raises(ValueError, match=f"(apply_to: scaling|rope_parameters): .*{said}"):
            apply_to(model, given)
    with pytest.raises(ValueError, match=f"(LeRoPE: scaling|rope_parameters): .*{said}"):
        LeRoPE(model.config, scaling)
    nested = {"full_attention": {"rope_type": "linear", "factor": 5.0}, "sliding_attention": {"rope_type": "default"}}
    with pytest.raises(ValueError, match="apply_to: scaling: .*'(full|sliding)_attention'"):
        apply_to(small("gemma3_text"), nested)


@pytest.mark.parametrize("is_listed", [False, True])
def test_a_copy_stays_patched(is_listed):
    model, linear = small("llama"), {"rope_type": "linear", "factor": 2.0}
    patch = apply_to(model, [linear, linear] if is_listed else linear)
    expected, copied, file = prefill(model, BEYOND), copy.deepcopy(model), io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    patch.undo()
    assert not torch.equal(prefill(model, BEYOND), expected)
    for other in (copied, torch.load(file, weights_only=False)):
        assert torch.equal(prefill(other, BEYOND), expected)
    with apply_to(model, linear):
        assert torch.equal(prefill(model, BEYOND), expected)
    assert torch.equal(prefill(copied, BEYOND), expected)


def test_models_inside_a_model():
    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.original_model, self.student = small("llama"), small("llama")

    pair = Pair()
    with apply_to(pair, {"rope_type": "linear", "factor": 2.0}) as patch:
        assert patch.rules.count("all layers (linear)") == 2


def test_a_basis_with_another_number_of_pairs():
    class Short(torch.nn.Module):
        rotary_dim, theta_base = 16, 1000.0

        def t_of(self, length):
            return length / TRAINED

        def basis(self, t):
            return torch.ones(4, dtype=torch.float64), torch.ones((), dtype=torch.float64)

    model = small("llama")
    with pytest.raises(ValueError, match=r"scaling has inv_freq \[4\], must have one for each of 8 pairs"), apply_to(model, Short()):
        prefill(model, 4)
