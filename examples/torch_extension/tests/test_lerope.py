# SPDX-License-Identifier: MIT
"""LeRoPE: Mistral Large 4 under apply_to, an alpha that learns, its export, and factors on queries by head and position."""
import math

import pytest
import torch
from safetensors.torch import load_file
from small_models import TRAINED, small, tokens

pytest.importorskip("transformers.models.mistral_large4", reason="transformers is older than Mistral Large 4")
from transformers import MistralLarge4Config, MistralLarge4ForConditionalGeneration  # noqa: E402
from transformers.models.mistral_large4.modeling_mistral_large4 import MistralLarge4TextSoftmaxScaling  # noqa: E402

from cordage_torch import CLEX, LearnedTable, LeRoPE, apply_to, lerope_alpha, rotate, save_lerope, save_longrope, scale_queries  # noqa: E402

AGREEMENT = 1e-4  # of the largest number, float32: transformers' angles are off by some 1e-5 at position 256
GRADIENTS = 1e-5
TARGET = 8 * TRAINED
YARN = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 8.0, "original_max_position_embeddings": TRAINED,
        "beta_fast": 4.0, "beta_slow": 1.0, "attention_factor": 1.0}


def large4(dtype=torch.float32, rope_parameters=None, **changes):
    """A random Mistral Large 4 of four layers, of which the last is not rotated and the third shares keys, that has learned an
    alpha and temperatures; its indexer chooses all keys."""
    text = {"vocab_size": 61, "hidden_size": 48, "intermediate_size": 64, "moe_intermediate_size": 32, "num_hidden_layers": 4,
            "num_attention_heads": 4, "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
            "kv_lora_rank": 24, "qk_rope_head_dim": 16, "qk_nope_head_dim": 8, "v_head_dim": 12, "index_head_dim": 24,
            "index_n_heads": 2, "max_position_embeddings": TARGET, "initializer_range": 0.12, "kv_source_layers": [0, 1, 1, 3],
            "rope_parameters": rope_parameters or YARN} | changes
    vision = {"model_type": "pixtral", "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
              "num_attention_heads": 2, "patch_size": 4, "image_size": 8}
    torch.manual_seed(7)
    model = MistralLarge4ForConditionalGeneration._from_config(
        MistralLarge4Config(text_config=text, vision_config=vision), attn_implementation="eager",
        experts_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "softmax_scaling" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
        rotary_of(model).alpha.copy_(0.4 * torch.randn(8))
    return model.to(dtype)


def rotary_of(model):
    return model.model.language_model.rotary_emb


def difference(got, expected):
    return float((got - expected).detach().abs().max() / expected.detach().abs().max())


@torch.no_grad()
def logits(model, length):
    return model(tokens(length), use_cache=False).logits


@torch.no_grad()
def token_by_token(model, length, first, model_of_prompt=None):
    cache, out = None, []
    for begin, end in zip([0, *range(first, length)], range(first, length + 1)):
        now = (model_of_prompt or model) if begin == 0 else model
        step = now(tokens(length)[:, begin:end], past_key_values=cache, use_cache=True)
        cache = step.past_key_values
        out.append(step.logits)
    return torch.cat(out, 1)


@pytest.mark.parametrize("rope_type", ["yarn", "default"])
def test_logits_are_transformers_own(rope_type):
    rope = YARN if rope_type == "yarn" else {"rope_type": "default", "rope_theta": 500.0}
    own, model = large4(rope_parameters=rope), large4(rope_parameters=rope)
    lengths = (TRAINED // 2, TARGET)
    expected = [logits(own, n) for n in lengths]
    decoded = token_by_token(own, TRAINED + 4, TRAINED - 4)
    with apply_to(model) as patch:
        assert "learned: frequencies times exp(alpha)" in patch.rules
        for n, one in zip(lengths, expected):
            assert difference(logits(model, n), one) <= AGREEMENT
        assert difference(token_by_token(model, TRAINED + 4, TRAINED - 4), decoded) <= AGREEMENT
        rotary_of(model).original.alpha.data.zero_()  # the comparison would detect an alpha that is not read
        assert difference(logits(model, TARGET), expected[1]) > 100 * AGREEMENT
    model = large4(rope_parameters=rope)
    with apply_to(model, exact=False):
        assert all(torch.equal(logits(model, n), one) for n, one in zip(lengths, expected))


def test_another_rope_dictionary_keeps_the_alpha():
    model, other = large4(), large4(rope_parameters=YARN | {"factor": 2.0})
    with apply_to(model, {key: value for key, value in YARN.items() if key != "rope_theta"} | {"factor": 2.0}):
        assert difference(logits(model, TARGET), logits(other, TARGET)) <= AGREEMENT


def test_a_cache_goes_on_under_the_other_rotation():
    """Keys are cached with their even lanes first, as transformers has them."""
    own, model = large4(), large4()
    expected = token_by_token(own, TRAINED, TRAINED // 2)
    with apply_to(model):  # the class function serves `own` beside it
        assert difference(token_by_token(model, TRAINED, TRAINED // 2, own), expected) <= AGREEMENT
        assert difference(token_by_token(own, TRAINED, TRAINED // 2, model), expected) <= AGREEMENT


def test_gradients_are_transformers_own():
    model, ids = large4(torch.float64), tokens(2 * TRAINED)
    gradients = []
    for patched in (False, True):
        if patched:
            apply_to(model)
        model.zero_grad()
        model(ids, labels=ids).loss.backward()
        gradients.append({name.replace(".original.", "."): p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    assert any("softmax_scaling" in name for name in gradients[0])
    assert gradients[0].keys() == gradients[1].keys()
    largest = max(float(grad.abs().max()) for grad in gradients[0].values())
    for name, grad in gradients[0].items():
        assert float((gradients[1][name] - grad).abs().max()) <= GRADIENTS * largest, name


def test_the_alpha_is_saved_and_loaded_as_the_models_own(tmp_path):
    model = large4()
    keys, alpha = set(model.state_dict()), rotary_of(model).alpha.clone()
    expected = logits(model, TRAINED)
    with apply_to(model):
        assert set(model.state_dict()) == keys
        model.save_pretrained(tmp_path)
        model.load_state_dict({"model.language_model.rotary_emb.alpha": alpha + 1.0}, strict=False)
        assert difference(logits(model, TRAINED), expected) > 100 * AGREEMENT
    assert torch.equal(rotary_of(model).alpha, alpha + 1.0)
    names = [name for name in load_file(tmp_path / "model.safetensors") if name.endswith("alpha")]
    assert names in (["lerope.alpha"], ["model.language_model.rotary_emb.alpha"])  # those of models/checkpoint/lerope.hpp
    again = MistralLarge4ForConditionalGeneration.from_pretrained(tmp_path, attn_implementation="eager",
                                                                  experts_implementation="eager")
    assert difference(logits(again, TRAINED), expected) == 0.0


# Learning ---------------------------------------------------------------------------------------------------------


def test_the_gradient_of_alpha_is_autograds():
    """Against the formula of transformers' class, in float64 and without its no_grad."""
    model, ids = large4(torch.float64), tokens(TRAINED)
    rotary = rotary_of(model)
    basis = LeRoPE(model.config, alpha=rotary.alpha)
    with apply_to(model, basis):
        model(ids, labels=ids).loss.backward()
    inv_freq, alpha = basis.of_config, rotary.alpha.double().requires_grad_()

    def formula(x, position_ids):
        angles = position_ids[..., None].double() * (inv_freq * alpha.exp())
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()

    rotary.forward = formula
    model(ids, labels=ids).loss.backward()
    assert float(alpha.grad.abs().max()) > 0
    assert difference(basis.alpha.grad.double(), alpha.grad) <= 1e-6  # kept in float32


def test_it_learns_the_alpha_of_another_model():
    model, teacher = large4(), large4()
    model.requires_grad_(False)
    basis = LeRoPE(model.config)  # from zeros
    optimizer = torch.optim.Adam([basis.alpha], lr=0.03)
    ids, losses = tokens(TRAINED), []
    expected = logits(teacher, TRAINED)
    with apply_to(model, basis):
        for _ in range(60):
            optimizer.zero_grad()
            loss = (model(ids, use_cache=False).logits - expected).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_over_another_rule_of_a_model_without_alpha(tmp_path):
    llama3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": TRAINED, "low_freq_factor": 0.5,
              "high_freq_factor": 4.0}
    model = small("llama")
    basis = LeRoPE(model.config, llama3)
    with apply_to(model, llama3):
        expected = logits(model, TARGET)
    with apply_to(model, basis) as patch:
        assert "LeRoPE(rope_type=llama3, rotary_dim=16)" in patch.rules
        assert torch.equal(logits(model, TARGET), expected)
        with torch.no_grad():
            basis.alpha.normal_(std=0.3)
        expected = logits(model, TARGET)
    model.save_pretrained(tmp_path)
    save_longrope(model.config, basis, TARGET, tmp_path)
    exported = type(model).from_pretrained(tmp_path, attn_implementation="eager")
    assert difference(logits(exported, TARGET), expected) <= AGREEMENT
    assert exported.config.rope_parameters["short_factor"] == exported.config.rope_parameters["long_factor"]


# Export -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["lerope", "clex", "table"])
def test_the_exported_alpha_is_the_learned_basis(form, tmp_path):
    model = large4()
    clex = CLEX.for_config(model.config, prior=("by_parts", 0.5, 4.0), t_max=16.0, field="log_length")
    basis = {"lerope": LeRoPE(model.config), "clex": clex, "table": LearnedTable(clex)}[form]
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in basis.parameters():
            if parameter.requires_grad:
                parameter.normal_(std=0.05)
    for length in (TRAINED // 2, 3 * TRAINED, 16 * TRAINED):
        save_lerope(model.config, basis, length, tmp_path)
        with apply_to(model, basis), basis.held_at(max(1.0, length / TRAINED)):
            expected = logits(model, TARGET)
        exported = large4()
        alpha = load_file(tmp_path / "lerope.safetensors")
        assert not exported.load_state_dict(alpha, strict=False).unexpected_keys
        assert difference(logits(exported, TARGET), expected) <= AGREEMENT
        text = MistralLarge4Config.from_pretrained(tmp_path).get_text_config()
        assert text.max_position_embeddings == max(TARGET, length) and text.rope_parameters["factor"] == 8.0
    assert not torch.equal(lerope_alpha(model.config, clex, TRAINED), lerope_alpha(model.config, clex, 2 * TRAINED))


def test_errors_name_the_argument(tmp_path):
    model, llama = large4(), small("llama")
    with pytest.raises(ValueError, match="config of model_type 'llama' has no alpha, must be of 'mistral_large4_text'"):
        save_lerope(llama.config, LeRoPE(llama.config), TARGET, tmp_path / "folder")
    with pytest.raises(ValueError, match="length 1024 is t = 32, must be <= t_max = 16 of the basis"):
        save_lerope(model.config, CLEX.for_config(model.config), 32 * TRAINED, tmp_path / "folder")
    with pytest.raises(ValueError, match="attention factor 1.0693.* at length 64, must have the config's 1"):
        save_lerope(model.config, CLEX.for_config(model.config, prior="yarn"), 2 * TRAINED, tmp_path / "folder")
    with pytest.raises(ValueError, match="basis has theta_base 500.0, must have the config's 1000"):
        save_lerope(model.config, CLEX.for_config(model.config, theta_base=500.0), TARGET, tmp_path / "folder")
    assert not list(tmp_path.iterdir())
    for wrong in (torch.zeros(9), torch.full((8,), math.nan)):
        with pytest.raises(ValueError, match=r"LeRoPE: alpha .* must be \[8\] finite numbers"):
            LeRoPE(model.config, alpha=wrong)
    with pytest.raises(ValueError, match="rope_type 'dynamic' must be one whose basis is the same at every length"):
        LeRoPE(llama.config, {"rope_type": "dynamic", "factor": 2.0})
    for t in (0.5, -1.0, math.nan, 17.0):
        with pytest.raises(ValueError, match=r"LeRoPE.held_at: t .* must be in \[1, t_max = 16.0\]"):
            LeRoPE(llama.config, t_max=16.0).held_at(t).__enter__()


def test_a_basis_made_on_meta_is_loaded():
    """Once, the frequencies of its rule were not initialised."""
    config = small("llama").config
    good = LeRoPE(config)
    with torch.no_grad():
        good.alpha.normal_(std=0.3)
    with torch.device("meta"):
        loaded = LeRoPE(config)
    loaded.to_empty(device="cpu")
    loaded.load_state_dict(good.state_dict())
    assert torch.equal(loaded(1.0), good(1.0))


# Factors on queries -------------------------------------------------------------------------------------------------


def of_class(dtype):
    scaling = MistralLarge4TextSoftmaxScaling(4).to(dtype)
    torch.manual_seed(5)
    with torch.no_grad():
        scaling.scale.normal_()
        scaling.bias.normal_()
    return scaling


@pytest.mark.parametrize("heads_first", [True, False])
def test_scaled_queries_and_gradients_are_transformers_own(heads_first, device):
    scaling, ids = of_class(torch.float64).to(device), torch.tensor([[0, 1, 5], [7, 1000, 1048575]], device=device)
    q = torch.randn(2, 4, 3, 8, dtype=torch.float64, device=device)
    q = (q if heads_first else q.transpose(1, 2)).requires_grad_()
    weights = torch.randn_like(q)
    results = []
    for scaled in (scaling(q, ids, head_dim_first=heads_first),
                   scale_queries(q, scale=scaling.scale, bias=scaling.bias, position_ids=ids, heads_first=heads_first)):
        gradients = torch.autograd.grad((scaled * weights).sum(), [q, scaling.scale, scaling.bias])
        results.append([scaled, *gradients])
    for got, expected in zip(results[1], results[0], strict=True):
        assert difference(got, expected) <= 1e-6  # its logarithm is in float32


def test_scaled_queries_are_exact_derivatives_and_commute_with_the_rotation():
    q, scale, bias = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((1, 2, 3, 4), (2,), (2,)))
    ids = torch.tensor([0.5, 1.5, 4.0], dtype=torch.float64, requires_grad=True)

    def scaled(q, scale, bias, ids):
        return scale_queries(q, scale=scale, bias=bias, position_ids=ids)

    assert torch.autograd.gradcheck(scaled, (q, scale, bias, ids))
    with torch.no_grad():
        angles = {"position_ids": ids, "inv_freq": torch.tensor([0.3, 0.01], dtype=torch.float64)}
        before, = rotate(scaled(q, scale, bias, ids), **angles)
        after = scaled(rotate(q, **angles)[0], scale, bias, ids)
        torch.testing.assert_close(before, after)


def test_scaled_queries_in_bfloat16_are_rounded_once(device):
    scaling, ids = of_class(torch.float32).to(device), torch.tensor([3, 70000], device=device)
    q = torch.randn(1, 4, 2, 8, device=device).bfloat16()
    with torch.no_grad():
        got = scale_queries(q, scale=scaling.scale, bias=scaling.bias, position_ids=ids)
        exact = scale_queries(q.float(), scale=scaling.scale, bias=scaling.bias, position_ids=ids)
    assert got.dtype == torch.bfloat16 and torch.equal(got, exact.bfloat16())


def test_scale_queries_names_what_is_wrong():
    q, one, ids = torch.randn(1, 4, 3, 8), torch.ones(4), torch.arange(3)
    for changes, said in (({"scale": torch.ones(3)}, r"scale \[3\] must be \[4\]"),
                          ({"bias": torch.ones(1, 4)}, r"bias \[1, 4\] must be \[4\]"),
                          ({"position_ids": torch.arange(4)}, r"position_ids \[4\] must be \[3\] or \[1, 3\]"),
                          ({"position_ids": ids - 1}, "position_ids must be >= 0"),
                          ({"q": q[0]}, r"q torch.float32 \[4, 3, 8\] must be floating \[batch, heads, tokens, head_dim\]")):
        with pytest.raises(ValueError, match=said):
            scale_queries(**({"q": q, "scale": one, "bias": one, "position_ids": ids} | changes))
