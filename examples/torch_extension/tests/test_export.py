# SPDX-License-Identifier: MIT
"""A learned basis in a config.json and a GGUF file, for every family that apply_to knows."""
import ctypes
import json

import pytest
import torch
from small_models import FAMILIES, TRAINED, small, tokens
from transformers import AutoModel, AutoModelForCausalLM, EsmConfig

from cordage_torch import CLEX, LearnedTable, apply_to, longrope_parameters, rotate, save_freq_factors, save_longrope

TARGET = 8 * TRAINED
AGREEMENT = 1e-4  # of the largest logit, float32: transformers' angles are off by some 1e-5 at position 256
EXACT = 1e-6  # where both have cordage's angles


def learned(config, **settings):
    """A table that differs from its prior, up to t = 8."""
    prior = CLEX.for_config(config, **({"prior": ("by_parts", 0.5, 4.0), "t_max": 8.0, "hidden": 1} | settings))
    table = LearnedTable(prior)
    torch.manual_seed(3)
    with torch.no_grad():
        table.offsets.normal_(std=0.1)
    return table


def difference(got, expected):
    return float((got - expected).abs().max() / expected.abs().max())


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
def test_transformers_and_cordage_read_the_config(family, tmp_path):
    model = small(family)
    model.save_pretrained(tmp_path)
    table = learned(model.config)
    before = model.config.to_json_string()
    save_longrope(model.config, table, TARGET, tmp_path)
    assert model.config.to_json_string() == before
    layer_type = "full_attention" if family == "gemma3_text" else ""
    rule = json.loads(torch.ops.cordage.config_rule((tmp_path / "config.json").read_text(), layer_type))  # strict
    assert (rule["rope_type"], rule["original_length"], rule["warnings"]) == ("longrope", TRAINED, [])
    exported = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")
    assert exported.config.max_position_embeddings == TARGET
    for length in (TRAINED, TRAINED + 1, TARGET):
        ids = tokens(length)
        expected = exported(ids).logits
        with apply_to(exported):
            by_cordage = exported(ids).logits
        with apply_to(model, table), table.held_at(1.0 if length <= TRAINED else 8.0):
            assert difference(model(ids).logits, expected) <= AGREEMENT
            assert difference(model(ids).logits, by_cordage) <= EXACT
    assert difference(model(ids).logits, expected) > 100 * AGREEMENT  # the comparison would detect a wrong basis


def test_other_readers_find_what_they_look_for(tmp_path):
    config = small("llama").config
    save_longrope(config, learned(config), TARGET, tmp_path)
    said = json.loads((tmp_path / "config.json").read_text())
    assert said["rope_theta"] == 1000.0 and said["original_max_position_embeddings"] == TRAINED  # transformers 4
    for rope in (said["rope_parameters"], said["rope_scaling"]):
        assert rope["rope_type"] == "longrope" and rope["factor"] == 8.0
        assert rope["attention_factor"] == rope["short_mscale"] == rope["long_mscale"] == 1.0
        assert rope["short_factor"] == pytest.approx([1.0] * 8, rel=1e-9)
        assert rope["original_max_position_embeddings"] == TRAINED


def test_the_config_names_the_class_of_the_model(tmp_path):
    """vLLM takes a Llama without this key for a model without a head; the config of a GGUF file has none."""
    for family, given, expected in (("llama", None, ["LlamaForCausalLM"]), ("phi3", None, ["Phi3ForCausalLM"]),
                                    ("llama", ["Own"], ["Own"])):
        config = small(family).config
        config.architectures = given
        save_longrope(config, learned(config), TARGET, tmp_path)
        assert json.loads((tmp_path / "config.json").read_text())["architectures"] == expected
        assert config.architectures == given


@torch.no_grad()
def test_a_model_that_reads_no_rope_dictionary_is_rotated_by_cordage_only(tmp_path):
    esm = AutoModel.from_config(EsmConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=TRAINED, pad_token_id=1, position_embedding_type="rotary")).eval()
    table = learned(esm.config)
    with pytest.raises(ValueError, match=r"model_type 'esm' has no rope_parameters.*apply_to\(model, longrope_parameters"):
        save_longrope(esm.config, table, TARGET, tmp_path)
    assert not any(tmp_path.iterdir())
    ids = tokens(TARGET)
    own = esm(ids).last_hidden_state
    with apply_to(esm, table), table.held_at(8.0):
        expected = esm(ids).last_hidden_state
    with apply_to(esm, longrope_parameters(esm.config, table, TARGET)):
        assert difference(esm(ids).last_hidden_state, expected) <= EXACT
    assert difference(own, expected) > 1000 * EXACT


def test_ggml_finds_its_tensors(tmp_path):
    gguf = pytest.importorskip("gguf")
    config = small("gpt_neox").config
    table = learned(config)
    save_freq_factors(config, table, TARGET, tmp_path / "factors.gguf")
    reader = gguf.GGUFReader(tmp_path / "factors.gguf")
    tensors = {tensor.name: torch.tensor(tensor.data.copy()) for tensor in reader.tensors}
    assert set(tensors) == {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}
    inv_freq = 1000.0**(-torch.arange(4) / 4.0)
    for name, t in (("rope_freqs", 8.0), ("rope_factors_long", 8.0), ("rope_factors_short", 1.0)):
        torch.testing.assert_close(inv_freq / tensors[f"{name}.weight"], table(t).detach().float())
    for key, value in (("rope.scaling.original_context_length", TRAINED), ("context_length", TARGET),
                       ("rope.scaling.attn_factor", 1.0)):
        assert reader.get_field(f"gpt_neox.{key}").contents() == value


def test_ggml_rotates_by_them(tmp_path):
    """ggml's own reader and its rope, half-split, against rotate by the learned basis."""
    pytest.importorskip("gguf")
    ggml = pytest.importorskip("ggml")
    config = small("llama").config
    table = learned(config)
    save_freq_factors(config, table, TARGET, tmp_path / "factors.gguf")
    x, ids = torch.randn(64, 4, 16), torch.arange(64, dtype=torch.int32)
    held = ggml.ggml_context_p_ctypes()
    file = ggml.gguf_init_from_file(str(tmp_path / "factors.gguf").encode(),
                                    ggml.gguf_init_params(no_alloc=False, ctx=ctypes.pointer(held)))
    factors = ggml.ggml_get_tensor(held, b"rope_freqs.weight")
    context = ggml.ggml_init(ggml.ggml_init_params(mem_size=1 << 24, mem_buffer=None, no_alloc=False))
    a = ggml.ggml_new_tensor_3d(context, ggml.GGML_TYPE_F32, 16, 4, 64)
    positions = ggml.ggml_new_tensor_1d(context, ggml.GGML_TYPE_I32, 64)
    for tensor, values in ((a, x), (positions, ids)):
        ctypes.memmove(ggml.ggml_get_data(tensor), values.data_ptr(), values.nbytes)
    rotated = ggml.ggml_rope_ext(context, a, positions, factors, 16, ggml.GGML_ROPE_TYPE_NEOX, 0, 1000.0, 1.0, 0.0, 1.0, 0.0,
                                0.0)
    graph = ggml.ggml_new_graph(context)
    ggml.ggml_build_forward_expand(graph, rotated)
    ggml.ggml_graph_compute_with_ctx(context, graph, 1)
    got = torch.empty_like(x)
    ctypes.memmove(got.data_ptr(), ggml.ggml_get_data(rotated), got.nbytes)
    ggml.ggml_free(context), ggml.ggml_free(held), ggml.gguf_free(file)
    expected, = rotate(x[None], position_ids=ids, inv_freq=table(8.0).detach(), heads_first=False)
    assert difference(got, expected[0]) <= AGREEMENT
    plain, = rotate(x[None], position_ids=ids, inv_freq=table(1.0).detach(), heads_first=False)
    assert difference(plain, expected) > 100 * AGREEMENT


def test_errors_name_the_argument(tmp_path):
    config = small("llama").config
    table = learned(config)
    for length, said in ((TRAINED, "length 32 must be > the trained length 32"),
                         (2 * TARGET, "length 512 is t = 16, must be <= t_max = 8 of the basis")):
        with pytest.raises(ValueError, match=said):
            save_longrope(config, table, length, tmp_path / "folder")
    for save in (save_longrope, save_freq_factors):
        with pytest.raises(ValueError, match="config has rope_type 'linear', must have 'default'"):
            save(small("llama", "linear").config, table, TARGET, tmp_path / "folder")
        with pytest.raises(ValueError, match="basis has rotary_dim 8, must have the config's 16"):
            save(config, learned(small("gpt_neox").config), TARGET, tmp_path / "folder")
        with pytest.raises(ValueError, match="basis has theta_base 500.0, must have the config's 1000"):
            save(config, learned(config, theta_base=500.0), TARGET, tmp_path / "folder")
    assert not list(tmp_path.iterdir())
