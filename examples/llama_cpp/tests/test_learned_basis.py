# SPDX-License-Identifier: MIT
"""A basis that examples/tune_basis.py learned, in a complete GGUF file: llama.cpp compared with transformers."""
import math

import gguf
import numpy as np
import pytest
import torch
from conftest import Failed, difference, random_model, write_gguf
from trained_llama import train_llama, tune_basis, write_text
from transformers import AutoModelForCausalLM, LlamaConfig

from cordage_torch import CLEX, LearnedTable, save_gguf, save_longrope

TRAINED, TARGET = 32, 256
AGREEMENT = 2e-4  # relative to the largest logit, float32: rounding of two programs, and float32 angles in both


def tokens(length):
    return [int(token) for token in np.random.default_rng(11).integers(3, 61, length)]


def learned(config):
    """A table that differs from its prior, up to t = 8."""
    table = LearnedTable(CLEX.for_config(config, prior=("by_parts", 0.5, 4.0), t_max=TARGET / TRAINED, hidden=1))
    torch.manual_seed(3)
    with torch.no_grad():
        table.offsets.normal_(std=0.1)
    return table


@torch.no_grad()
def logits(model, ids):
    return model(torch.tensor([ids])).logits[0].numpy()


@pytest.fixture(scope="module", params=["one", "heads"])
def tuned(request, tmp_path_factory):
    """A Llama trained for a minute at most on windows of 32 tokens, as a folder and as GGUF; and the output of tune_basis, with one
    temperature or those of heads."""
    folder = tmp_path_factory.mktemp("model")
    text = write_text(folder / "text.txt")
    llama, ids = train_llama(folder, text, TRAINED)
    write_gguf(llama, "llama", folder / "MODEL.gguf")
    out = folder / "extended"
    tune_basis.main([str(folder), str(text), str(TARGET), "--out", str(out), "--device", "cpu", "--window", "256",
                     "--search", "4", "--temperature", request.param, "--gguf", str(folder / "MODEL.gguf")])
    weights = out if request.param == "heads" else folder
    exported = AutoModelForCausalLM.from_pretrained(weights, config=LlamaConfig.from_pretrained(out)).eval()
    windows = ids[-8 * TARGET:].view(8, TARGET).tolist()
    return folder / "MODEL.gguf", out / "model.gguf", exported, windows


def perplexity(all_logits, windows):
    losses = [torch.nn.functional.cross_entropy(torch.tensor(rows[:-1]), torch.tensor(ids[1:])).item()
              for rows, ids in zip(all_logits, windows)]
    return math.exp(sum(losses) / len(losses))


@pytest.mark.parametrize("library", ["own", "cordage"])
def test_llama_cpp_runs_what_was_learned(llama, tuned, library):
    plain, whole, exported, windows = tuned
    steps = [step for ids in windows for step in (["clear"], ["decode", ids, 0])]
    expected = [logits(exported, ids) for ids in windows]
    got = llama(library, whole, *steps, n_ctx=TARGET)
    assert max(difference(a, b) for a, b in zip(got, expected)) < AGREEMENT
    by_llama, by_transformers, unscaled = (perplexity(each, windows) for each in (
        got, expected, llama(library, plain, *steps, n_ctx=TARGET)))
    print(f"perplexity: llama.cpp {by_llama:.4f}, transformers {by_transformers:.4f}, unscaled {unscaled:.4f}")
    assert by_llama == pytest.approx(by_transformers, rel=5e-5)
    assert unscaled > 1.2 * by_llama  # the comparison would detect a missing tensor


def test_everything_else_of_the_file_is_kept(tuned):
    before, after = (gguf.GGUFReader(path) for path in tuned[:2])
    tensors = {t.name: t for t in after.tensors}
    assert set(tensors) == {t.name for t in before.tensors} | {"rope_freqs.weight"}
    other = {t.name for t in before.tensors if not np.array_equal(t.data, tensors[t.name].data)}
    assert other in (set(), {"blk.0.attn_q.weight", "blk.1.attn_q.weight"})  # with temperatures of heads
    changed = {name for name, field in after.fields.items() if not name.startswith("GGUF.") and (
        name not in before.fields or before.fields[name].contents() != field.contents())}
    assert changed == {"llama.context_length", "llama.rope.scaling.original_context_length", "llama.rope.scaling.attn_factor"}


@pytest.mark.parametrize("length", [256, 512])
def test_phi3_takes_long_and_short_factors(llama, length, tmp_path):
    model = random_model("phi3", max_position_embeddings=256, original_max_position_embeddings=256)
    table = learned(model.config)
    plain = write_gguf(model, "phi3", tmp_path / "MODEL.gguf")
    save_gguf(model.config, table, 2048, plain, tmp_path / "model.gguf")
    model.save_pretrained(tmp_path)
    save_longrope(model.config, table, 2048, tmp_path)
    exported, step = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager"), ["decode", tokens(length), 0]
    expected = logits(exported, tokens(length))
    for library in ("own", "cordage"):
        assert difference(llama(library, tmp_path / "model.gguf", step, n_ctx=length)[0], expected) < AGREEMENT
    if length > 256:
        assert difference(llama("own", plain, step, n_ctx=length)[0], expected) > 100 * AGREEMENT


def test_quantised_tensors_are_copied(tuned, tmp_path):
    model = random_model("llama")
    plain = write_gguf(model, "llama", tmp_path / "plain.gguf")
    reader, quantised = gguf.GGUFReader(plain), tmp_path / "MODEL.gguf"
    writer = gguf.GGUFWriter(quantised, "llama")
    for name, field in reader.fields.items():
        if name != "general.architecture" and not name.startswith("GGUF."):
            writer.add_key_value(name, field.contents(), field.types[0])
    kind = gguf.GGMLQuantizationType.Q8_0
    for t in reader.tensors:
        is_matrix = len(t.shape) == 2 and t.shape[0] % 32 == 0
        if is_matrix:
            writer.add_tensor(t.name, gguf.quants.quantize(t.data, kind), raw_dtype=kind)
        else:
            writer.add_tensor(t.name, t.data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_gguf(model.config, learned(model.config), TARGET, quantised, tmp_path / "model.gguf")
    before, after = ({t.name: (t.tensor_type, t.data.tobytes()) for t in gguf.GGUFReader(path).tensors}
                     for path in (quantised, tmp_path / "model.gguf"))
    assert {kind for kind, _ in before.values()} == {gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.F32}
    assert after.items() >= before.items()


def test_why_other_architectures_are_refused(llama, tmp_path):
    """llama.cpp refuses the tensor in qwen3's file; with the type alone it runs unscaled without a warning."""
    model = random_model("qwen3", head_dim=64)
    with pytest.raises(Failed, match="did not load"):
        llama("own", write_gguf(model, "qwen3", tmp_path / "a.gguf", {"rope_freqs.weight": np.full(32, 2.0)}))
    by_type = write_gguf(model, "qwen3", tmp_path / "b.gguf", **{"rope.scaling.type": "longrope"})
    plain = write_gguf(model, "qwen3", tmp_path / "c.gguf")
    assert np.array_equal(*(llama("own", path, ["decode", tokens(64), 0])[0] for path in (by_type, plain)))
    with pytest.raises(ValueError, match="general.architecture 'qwen3', must be llama, mistral3 or phi3: llama.cpp takes no"):
        save_gguf(model.config, learned(model.config), TARGET, tmp_path / "c.gguf", tmp_path / "d.gguf")
    assert not (tmp_path / "d.gguf").exists()


def test_it_refuses_a_file_that_does_not_fit(tmp_path):
    model = random_model("llama")
    table, out, made = learned(model.config), tmp_path / "out.gguf", tmp_path / "made.gguf"

    def refused(said, of, into=out):
        with pytest.raises(ValueError, match=said):
            save_gguf(model.config, table, TARGET, of, into)

    for tensors, keys, said in (
            ({}, {"rope.scaling.type": "yarn"}, "has llama.rope.scaling.type 'yarn', must have 'none'"),
            ({}, {"rope.scaling.factor": 4.0}, "has llama.rope.scaling.factor 4.0, must have 1.0"),
            ({"rope_freqs.weight": np.ones(32)}, {}, "has the tensor rope_freqs.weight, must have none")):
        refused(said, write_gguf(model, "llama", made, tensors, **keys))
    for changes, said in (
            ({"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}, "freq_base 500.0, must have 10000.0"),
            ({"max_position_embeddings": 64}, "has llama.context_length 64, must have 32"),
            ({"num_attention_heads": 4}, "has llama.rope.dimension_count 32, must have 64")):
        refused(said, write_gguf(random_model("llama", **changes), "llama", made))
    phi3 = random_model("phi3", original_max_position_embeddings=TRAINED)
    refused("has general.architecture 'phi3', must be of MODEL, of type 'llama'", write_gguf(phi3, "phi3", made))
    refused("must be another file than MODEL.gguf", made, made)
    (tmp_path / "text.gguf").write_text("no GGUF at all")
    for path in (tmp_path / "text.gguf", tmp_path / "absent.gguf"):
        refused("must be a GGUF file: ", path)
    assert not out.exists()
