# SPDX-License-Identifier: MIT
"""apply_to with a basis for each layer: against transformers' own rotations, against one basis, learning, errors."""
import copy
import json
import re

import pytest
import small_families
import torch
from small_models import FAMILIES, TRAINED, scalings, small, tokens

from cordage_torch import CLEX, LearnedTable, Tempered, apply_to, longrope_parameters

AGREEMENT = 1e-5  # of the largest logit, float32
BEYOND = 3 * TRAINED
# Families that have one rotation for all layers, and why.
ALIKE = dict.fromkeys(("esm", "esmc", "evolla", "granite_swa", "granitemoe_swa", "gte", "idefics", "jina_embeddings_v3", "nomic_bert",
                       "openai_privacy_filter"), "no attention of .* has a layer_idx and takes position_embeddings")
ALIKE["dia"] = "does not pass position_embeddings to its attention by name"
SOME_AT_REST = ("flint", "minimax", "muse_glimmer", "muse_spark")  # families whose small model has layers without rotation
ONE_ANGLE_A_HEAD = ("neucodec", "xcodec2")  # no score depends on the frequencies (test_families.py)


def logits(model, length=BEYOND):
    with torch.no_grad():
        return model(tokens(length), use_cache=False).logits


def difference(got, expected):
    return float((got - expected).abs().max() / expected.abs().max())


def tempered_table(model, seed):
    clex = CLEX.for_config(model.config, field="log_length", prior=("by_parts", 0.5, 4.0), t_max=8.0, hidden=1)
    basis = Tempered(LearnedTable(clex), power=0.5 + seed)
    torch.manual_seed(seed)
    with torch.no_grad():
        basis.of_basis.offsets.normal_(std=0.3)
    return basis


def with_own_rotations(model, methods):
    """Layer i of an unpatched model rotates by transformers' own cos and sin of methods[i]."""
    for layer, method in enumerate(methods):
        rotary = next(m for m in small(model.config.model_type, method).modules() if "Rotary" in type(m).__name__)

        def own(attention, args, kwargs, rotary=rotary):
            x = kwargs.get("hidden_states", args[0] if args else None)
            return args, kwargs | {"position_embeddings": rotary(x, torch.arange(x.shape[1])[None])}

        attention = next(m for m in model.modules() if getattr(m, "layer_idx", None) == layer and "Attention" in type(m).__name__)
        attention.register_forward_pre_hook(own, with_kwargs=True)
    return model


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "gemma3_text"])
def test_each_layer_rotates_as_transformers_would(family):
    methods = ["default", "longrope"] if family == "phi3" else ["yarn", "linear"]
    model = small(family)
    with apply_to(model, [scalings(family)[method] for method in methods]):
        got = logits(model)
    with apply_to(model, [scalings(family)[method] for method in reversed(methods)]):
        swapped = logits(model)
    expected = logits(with_own_rotations(model, methods))
    assert difference(got, expected) <= AGREEMENT
    assert difference(swapped, expected) > 100 * AGREEMENT


def test_layers_of_other_types_keep_their_rotation():
    model = small("gemma3_text", num_hidden_layers=3, layer_types=["full_attention", "sliding_attention", "full_attention"])
    linear = scalings("gemma3_text")["linear"]
    with apply_to(model, linear):
        expected = logits(model)
    with apply_to(model, [linear, linear]) as patch:
        assert torch.equal(logits(model), expected)
        assert all(said in patch.rules for said in ("layer 0 of layers: full_attention", "layer 2 of", "layers: sliding_attention"))
    for scalings_of_layers in ([linear, {"rope_type": "default"}], [{"rope_type": "default"}, linear]):
        with apply_to(model, scalings_of_layers):
            assert difference(logits(model), expected) > 100 * AGREEMENT


@torch.no_grad()
def test_decoding_reads_the_keys_of_the_layer():
    model, ids = small("llama"), tokens(BEYOND)
    bases = [tempered_table(model, seed) for seed in (0, 1)]
    with apply_to(model, bases), bases[0].held_at(3.0), bases[1].held_at(3.0):
        expected = logits(model)
        cache = model(ids[:, :-2], use_cache=True).past_key_values
        for last in (BEYOND - 2, BEYOND - 1):
            got = model(ids[:, last:last + 1], past_key_values=cache, use_cache=True).logits
            assert difference(got[:, 0], expected[:, last]) <= AGREEMENT


def test_the_bases_are_the_models_and_learn():
    model, ids = small("llama", dtype=torch.float64).requires_grad_(False), tokens(BEYOND)
    bases = torch.nn.ModuleList(tempered_table(model, seed) for seed in (0, 1)).double()
    apply_to(model, bases)
    assert set(bases.parameters()) < set(model.parameters())

    def loss():
        return torch.nn.functional.cross_entropy(model(ids, use_cache=False).logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())

    gradients = {}
    for recomputed in (False, True):
        if recomputed:
            model.activation_checkpointing_enable({"use_reentrant": False})
            model.train()
        bases.zero_grad()
        loss().backward()
        gradients[recomputed] = [p.grad.clone() for p in bases.parameters() if p.requires_grad]
    assert len(gradients[True]) == 2 * 3 and all(one.abs().max() > 1e-6 for one in gradients[True])
    assert not torch.allclose(bases[0].of_basis.offsets.grad, bases[1].of_basis.offsets.grad)
    torch.testing.assert_close(gradients[True], gradients[False])
    # The gradient of layer 1 is the slope of the loss.
    gradient, step, losses = bases[1].of_basis.offsets.grad, 1e-2, []  # the norms of the model are in float32
    for sign in (-1, 1):
        with torch.no_grad():
            bases[1].of_basis.offsets += sign * step * gradient / gradient.norm()
            losses.append(loss().item())
            bases[1].of_basis.offsets -= sign * step * gradient / gradient.norm()
    assert (losses[1] - losses[0]) / (2 * step) == pytest.approx(gradient.norm().item(), rel=1e-3)


def test_a_learned_basis_of_each_layer_as_plain_factors():
    model = small("llama")
    bases = [tempered_table(model, seed) for seed in (0, 1)]
    with apply_to(model, bases):
        learned = logits(model)
    written = json.dumps([longrope_parameters(model.config, basis, BEYOND) for basis in bases])
    with apply_to(model, json.loads(written)) as patch:
        assert difference(logits(model), learned) <= AGREEMENT
        assert patch.rules.startswith("layer 0 of all layers (longrope)")
    with apply_to(model, bases[0]):
        assert difference(logits(model), learned) > 100 * AGREEMENT


def test_undo_removes_everything():
    model = small("llama")
    before, keys = logits(model), set(model.state_dict())
    patch = apply_to(model, [tempered_table(model, seed) for seed in (0, 1)])
    assert difference(logits(model), before) > 100 * AGREEMENT
    patch.undo()
    assert torch.equal(logits(model), before) and set(model.state_dict()) == keys
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_one_graph():
    torch._dynamo.reset()
    model = small("llama")
    apply_to(model, [tempered_table(model, seed) for seed in (0, 1)])
    compiled = torch.compile(lambda ids: model(ids, use_cache=False).logits, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for length in (TRAINED // 2, 2 * TRAINED):
            torch.testing.assert_close(compiled(tokens(length)), model(tokens(length), use_cache=False).logits)


@pytest.mark.parametrize("family", small_families.asking())
def test_every_family_has_layers_or_says_why_not(family):
    """Equal entries are as one; each entry has an effect, or is refused; a layer without an entry keeps nothing."""
    model, inputs = small_families.small(family)
    linear = {"rope_type": "linear", "factor": 2.0}
    try:
        with apply_to(model, linear):
            expected, gradients = small_families.result(model, inputs)
    except ValueError:
        pytest.skip("apply_to refuses it with one basis, too (test_families.py)")
    if family in ALIKE:
        with pytest.raises(ValueError, match=ALIKE[family]), apply_to(model, [linear, linear]):
            model(**inputs)
        return
    with pytest.raises(ValueError, match="scaling has 0 entries, must have") as refused:
        apply_to(model, [])
    entries = int(re.search(r"must have (\d+)", str(refused.value))[1]) * [linear]
    if family in SOME_AT_REST:
        with pytest.raises(ValueError, match=r"scaling has entries for layers \[.*\], which do not rotate; give None") as refused:
            with apply_to(model, entries):
                model(**inputs)
        for layer in re.findall(r"\d+", str(refused.value).split("layers")[1]):
            entries[int(layer)] = None
    with apply_to(model, entries):
        got, grads = small_families.result(model, inputs)
    assert torch.equal(got, expected) and small_families.apart(grads, gradients) <= 1e-6
    for layer in (i for i, one in enumerate(entries) if one is not None):
        changed = [{"rope_type": "linear", "factor": 3.0} if i == layer else one for i, one in enumerate(entries)]
        with apply_to(model, changed):
            assert not torch.equal(small_families.result(model, inputs)[0], expected) or family in ONE_ANGLE_A_HEAD


def test_a_layer_that_does_not_rotate_has_no_entry():
    model = small_families.small("smollm3", num_hidden_layers=2, no_rope_layers=[1, 0])[0]
    linear = {"rope_type": "linear", "factor": 2.0}
    ids = tokens(12) % 50
    with apply_to(model, [linear, None]) as patch:
        model(ids, use_cache=False)
        assert "layer 0" in patch.rules and "layer 1" not in patch.rules
    with pytest.raises(ValueError, match=r"entries for layers \[1\], which do not rotate"), apply_to(model, [linear, linear]):
        model(ids, use_cache=False)
    with pytest.raises(ValueError, match="a layer of this model rotates without an entry"), apply_to(model, [None, None]):
        model(ids, use_cache=False)


def test_unrotated_layers_are_found_in_copies_and_inner_models():
    model = small_families.small("smollm3", num_hidden_layers=2, no_rope_layers=[1, 0])[0]
    ids = tokens(12) % 50
    with apply_to(model, 2 * [{"rope_type": "linear", "factor": 2.0}]):
        for called in (copy.deepcopy(model), model.model):
            with pytest.raises(ValueError, match=r"entries for layers \[1\], which do not rotate"):
                called(ids, use_cache=False)


@pytest.mark.parametrize("is_listed", [False, True])
def test_one_graph_with_recomputed_layers(is_listed):
    torch._dynamo.reset()
    model, linear = small("llama").train(), {"rope_type": "linear", "factor": 2.0}
    model.activation_checkpointing_enable({"use_reentrant": False})
    with apply_to(model, [linear, linear] if is_listed else linear):
        compiled = torch.compile(lambda ids: model(ids, use_cache=False).logits, fullgraph=True, backend="aot_eager")
        compiled(tokens(8)).sum().backward()


def test_layers_compiled_each_alone():
    torch._dynamo.reset()
    model, linear = small("llama"), {"rope_type": "linear", "factor": 2.0}
    with apply_to(model, [linear, linear]):
        expected = logits(model, 8)
        for layer in model.model.layers:
            layer.compile(backend="aot_eager")
        for _ in range(2):
            torch.testing.assert_close(logits(model, 8), expected)


def test_layers_that_share_keys_have_one_rotation():
    import test_lerope
    with pytest.raises(ValueError, match="share their keys, so that they cannot differ in their rotation"):
        apply_to(test_lerope.large4(vocab_size=61, kv_source_layers=[0, 1, 1, 3]), 4 * [{"rope_type": "linear", "factor": 2.0}])


def test_errors_name_the_argument():
    model = small("llama")
    bases = [tempered_table(model, seed) for seed in (0, 1)]
    with pytest.raises(ValueError, match="scaling has 3 entries, must have 2, one for each rotated layer"):
        apply_to(model, [*bases, bases[0]])
    with pytest.raises(ValueError, match="scaling has 0 entries, must have 2"):
        apply_to(model, [])
    with pytest.raises(TypeError, match=r"(?s)scaling \[.* must be None, a rope dictionary, a LearnedBasis, or a list of these"):
        apply_to(model, [bases[0], 4.0])
    with pytest.raises(TypeError, match="scaling 'yarn' must be None"):
        apply_to(model, "yarn")
    with pytest.raises(ValueError, match="rotary_dim 8, must have the model's 16"):
        apply_to(model, [bases[0], CLEX(8, original_length=TRAINED)])
    with pytest.raises(ValueError, match="exact=False .* scaling must be None"):
        apply_to(model, bases, exact=False)
    model.model.layers[1].self_attn.layer_idx = None  # a model whose attention does not say which layer it is of
    with pytest.raises(ValueError, match="scaling has 2 entries, must have 1"):
        apply_to(model, bases)
    assert not any(module._forward_pre_hooks for module in model.modules())
