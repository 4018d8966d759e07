# SPDX-License-Identifier: MIT
"""examples/tune_basis.py: learning, export, resumption and errors."""
import json
import math
import runpy
import sys
from statistics import mean

import pytest
import test_lerope
import torch
from safetensors.torch import load_file
from small_models import small
from tokenizers import processors
from trained_llama import EXAMPLES, save_byte_tokenizer, train_llama, tune_basis, write_text
from transformers import AutoConfig, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, PreTrainedTokenizerFast
from tuning.starts import BY_PARTS

from cordage_torch import apply_to

L, TARGET = 32, 256
AGREEMENT = 1e-4  # of the largest logit, float32: transformers' angles are off by some 1e-5 at position 256
SHORT = ("--steps", "3", "--batch", "1", "--measured", "2", "--search", "1")
FILES = {"checkpoint.pt", "config.json", "result.json", "closed_form"}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "text.txt")


@pytest.fixture(scope="module")
def model(tmp_path_factory, text):
    """A Llama trained for some seconds on windows of L tokens."""
    folder = tmp_path_factory.mktemp("model")
    train_llama(folder, text, L)
    return folder


def tune(model, text, out, *more, length=TARGET):
    tune_basis.main([str(model), str(text), str(length), "--out", str(out), "--device", "cpu", "--window", str(min(128, length)), *more])
    return json.loads((out / "result.json").read_text())


@pytest.fixture(scope="module", params=["table", "clex"])
def tuned(request, model, text, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param)
    return request.param, out, tune(model, text, out, "--form", request.param, "--start", "1", "4", "1", "--steps", "60", "--batch", "12",
                                    "--rate", {"table": "0.1", "clex": "0.02"}[request.param], "--window", "256", "--measured", "24",
                                    "--whole", "24")


def test_it_gains_at_eight_times_the_length(tuned):
    rows, closed = tuned[2]["rows"], "by parts 1 to 4, t times 1"
    assert rows.keys() == {"its own rotation", "YaRN as configured", closed, "learned"}
    assert all(len(row["dense"]) == len(row["chunks"]) == len(row["whole"]) == 24 for row in rows.values())
    for measure in ("chunks", "whole"):
        if tuned[0] == "table":  # few of CLEX's steps are of this length
            assert mean(rows["learned"][measure]) < mean(rows[closed][measure]) - 0.02
        assert mean(rows["learned"][measure]) < mean(rows["its own rotation"][measure]) - 0.3
    assert tuned[2]["temperature"] != 1.0


@pytest.mark.parametrize("trained, length, head_dim", [(32, 256, 16), (8192, 65536, 64), (4096, 131072, 128)])
def test_one_rate_serves_both_forms(trained, length, head_dim):
    """Two steps as of Adam, which all move the slowest pair the same way: by the rate, and for an ODE by the rate times ln t."""
    config = LlamaConfig(hidden_size=4 * head_dim, num_attention_heads=4, max_position_embeddings=trained,
                         rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    moved = {}
    for form in ("table", "clex"):
        options = tune_basis.arguments(["MODEL", "TEXT", str(length), "--out", "FOLDER", "--form", form, "--temperature", "none"])
        tuned = tune_basis.Tuned(None, config, options)
        before = tuned.basis(tuned.basis.t_max)[-1].item()
        for _ in range(2):
            tuned.parts.zero_grad()
            tuned.basis(tuned.basis.t_max)[-1].log().backward()
            for group in tuned.groups:
                for parameter in group["params"]:
                    parameter.data -= group["rate"] * (torch.zeros(()) if parameter.grad is None else parameter.grad.sign())
        moved[form] = math.log(before / tuned.basis(tuned.basis.t_max)[-1].item())
    assert 0.06 < moved["table"] <= 0.08 and 0.5 < moved["clex"] / moved["table"] / math.log(length / trained) < 2


def test_the_exported_config_is_the_tuned_model(tuned, model, text):
    form, out, result = tuned
    options = tune_basis.arguments([str(model), str(text), str(TARGET), "--out", str(out), "--form", form])
    own = AutoModelForCausalLM.from_pretrained(model).requires_grad_(False)
    tune_basis.check(options, own.config)
    again = tune_basis.Tuned(own, own.config, options, BY_PARTS)
    learned = torch.load(out / "checkpoint.pt", weights_only=True)["learned"]
    for group, value in zip(again.groups, learned, strict=True):
        group["params"][0].data.copy_(value)
    assert again.basis.temperature(TARGET / L).item() == pytest.approx(result["temperature"])

    config = AutoConfig.from_pretrained(out)
    assert config.max_position_embeddings == TARGET and config.rope_parameters["rope_type"] == "longrope"
    exported = AutoModelForCausalLM.from_pretrained(model, config=config)
    ids = torch.arange(2 * TARGET).view(2, -1) * 7 % 256
    with torch.no_grad():
        for length in (TARGET, L):
            expected = exported(ids[:, :length]).logits
            with apply_to(exported):  # cordage's own reading of that config
                assert (exported(ids[:, :length]).logits - expected).abs().max() <= AGREEMENT * expected.abs().max()
            if length == L:  # where the exported temperature is that of TARGET
                continue
            with again.applied():
                assert (own(ids[:, :length]).logits - expected).abs().max() <= AGREEMENT * expected.abs().max()
        plain = own(ids).logits  # the comparison would detect a wrong basis
        assert (plain - exported(ids).logits).abs().max() > 100 * AGREEMENT * plain.abs().max()


def test_the_closed_form_of_the_search(model, text, tmp_path, monkeypatch, capsys):
    poor, good = (20.0, 40.0, 1.0), (0.5, 4.0, 1.5)
    for name, points in (("last", [poor, good]), ("first", [good, poor])):
        monkeypatch.setattr(tune_basis, "points", lambda count, points=points: [tune_basis.Start(*one) for one in points[:count]])
        result = tune(model, text, tmp_path / name, "--search", "2", "--steps", "0", "--measured", "12")
        assert "search: by parts 0.5 to 4, t times 1.5, of 2 points" in capsys.readouterr().out
        assert list(result["start"].values()) == list(good)
        config = json.loads((tmp_path / name / "config.json").read_text())
        assert config == json.loads((tmp_path / name / "closed_form/config.json").read_text())
        assert config["original_max_position_embeddings"] == L  # that of the model, whatever multiplies t
        assert max(config["rope_parameters"]["long_factor"]) == pytest.approx(1.5 * TARGET / L)
        assert config["rope_parameters"]["short_factor"] == pytest.approx([1.0] * 8)
    rows = tune(model, text, tmp_path / "given", "--start", *map(str, poor), "--steps", "0", "--measured", "12")["rows"]
    assert "search" not in capsys.readouterr().out
    chosen = mean(result["rows"]["by parts 0.5 to 4, t times 1.5"]["chunks"])
    assert mean(rows["by parts 20 to 40, t times 1"]["chunks"]) > chosen + 0.1


def test_temperatures_of_heads_are_folded_into_the_weights(model, text, tmp_path):
    result = tune(model, text, tmp_path / "out", *SHORT, "--temperature", "heads")
    temperatures = torch.tensor(result["temperatures"])
    assert temperatures.shape == (2, 4) and (temperatures != 1).all() and "scores of 8 heads times" in "".join(result["report"])
    folded, own = (AutoModelForCausalLM.from_pretrained(one) for one in (tmp_path / "out", model))
    for layer, (a, b) in enumerate(zip(folded.model.layers, own.model.layers)):
        torch.testing.assert_close(a.self_attn.q_proj.weight, b.self_attn.q_proj.weight * temperatures[layer].repeat_interleave(16)[:, None])
        assert torch.equal(a.self_attn.k_proj.weight, b.self_attn.k_proj.weight)
    assert folded.config.rope_parameters["attention_factor"] == 1.0
    ids = torch.arange(TARGET)[None] * 7 % 256  # text of this length, by the weights and the config in the folder alone
    with torch.no_grad(), apply_to(own, folded.config.rope_parameters):
        assert (folded(ids).logits - own(ids).logits).abs().max() > AGREEMENT * own(ids).logits.abs().max()


def write_gguf(model, path):
    """The weights of a Llama in a GGUF file, without a tokenizer; the rows of q and k have another order in one."""
    gguf = pytest.importorskip("gguf")
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_vocab_size(config.vocab_size)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(16)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, values in model.state_dict().items():
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), values.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("kind", ["folder", "gguf"])
def test_the_weights_beside_the_config(kind, model, text, tmp_path, monkeypatch):
    given, own, out = model, AutoModelForCausalLM.from_pretrained(model), tmp_path / "out"
    if kind == "gguf":
        given = tmp_path / "model.gguf"
        write_gguf(own, given)
        own = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=given.name)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(model)
        monkeypatch.setattr(tune_basis.AutoTokenizer, "from_pretrained", lambda **_: tokenizer)
    tune(given, text, out, "--weights", "--start", "1", "4", "1", "--steps", "0", "--measured", "2")
    written = AutoModelForCausalLM.from_pretrained(out)
    assert written.config.architectures == ["LlamaForCausalLM"] and written.config.max_position_embeddings == TARGET
    assert all(torch.equal(one, own.state_dict()[name]) for name, one in written.state_dict().items())
    assert PreTrainedTokenizerFast.from_pretrained(out).vocab_size == 256


def test_the_alpha_of_a_mistral_large_4(text, tmp_path):
    """Continues to learn the model's own alpha, over its own YaRN, and the temperatures of its heads."""
    large4 = test_lerope.large4(vocab_size=256)
    own_heads = {name: p.detach().clone() for name, p in large4.named_parameters() if "self_attn.softmax_scaling" in name}
    large4.save_pretrained(tmp_path / "model")
    save_byte_tokenizer(tmp_path / "model")
    result = tune(tmp_path / "model", text, tmp_path / "out", "--steps", "2", "--batch", "1", "--measured", "2", length=64)
    assert result["rows"].keys() == {"its own rotation", "learned"} and result["start"] is None
    tensors = load_file(tmp_path / "out/lerope.safetensors")
    learned = tensors.pop("model.language_model.rotary_emb.alpha")
    assert tensors.keys() == own_heads.keys() and len(tensors) == 2 * 4  # scale and bias of four layers, by their own names
    assert all(1e-5 < (tensors[name] - own).abs().max() < 0.01 for name, own in own_heads.items())  # at 0.001
    own = test_lerope.rotary_of(large4).alpha
    assert 1e-3 < (learned - own).abs().max() < 0.1  # two steps of Adam at 0.04
    assert not (tmp_path / "out/freq_factors.gguf").exists()
    tune(tmp_path / "model", text, tmp_path / "alone", "--steps", "1", "--measured", "2", "--temperature", "none", length=64)
    assert len(load_file(tmp_path / "alone/lerope.safetensors")) == 1
    for more, said in ((("--temperature", "one"), "--temperature one must be heads or none for MODEL"),
                       (("--steps", "0"), "--steps 0 must be >= 1 for MODEL .*, whose own alpha learns"),
                       (("--weights",), "--weights must not be given for MODEL")):
        with pytest.raises(ValueError, match=said):
            tune(tmp_path / "model", text, tmp_path / "other", *more, length=64)


def test_the_tensors_for_ggml_are_the_long_factors(tuned):
    gguf = pytest.importorskip("gguf")
    _, out, _ = tuned
    factors = json.loads((out / "config.json").read_text())["rope_parameters"]
    tensors = {tensor.name: torch.tensor(tensor.data.copy()) for tensor in gguf.GGUFReader(out / "freq_factors.gguf").tensors}
    torch.testing.assert_close(tensors["rope_freqs.weight"], torch.tensor(factors["long_factor"]))


def test_it_says_what_is_not_installed(model, text, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gguf", None)
    tune(model, text, tmp_path, *SHORT)
    assert "gguf is not installed: no freq_factors.gguf\n" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == FILES


@pytest.mark.parametrize("form", ["table", "clex"])
def test_an_interrupted_run_goes_on_to_the_same_result(form, model, text, tmp_path, monkeypatch, capsys):
    settings = [*SHORT, "--form", form, "--steps", "6"]
    whole = tune(model, text, tmp_path / "whole", *settings)
    save = torch.save

    def interrupted(state, path):
        if state["step"] == 5:
            path.write_bytes(b"half of it")
            raise KeyboardInterrupt
        save(state, path)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(torch, "save", interrupted)
        patched.setattr(tune_basis, "SAVE_EVERY", 0.0)
        tune(model, text, tmp_path / "parts", *settings)
    assert torch.load(tmp_path / "parts/checkpoint.pt", weights_only=True)["step"] == 4
    assert not (tmp_path / "parts/config.json").exists()
    capsys.readouterr()
    assert tune(model, text, tmp_path / "parts", *settings) == whole
    said = capsys.readouterr().out
    assert "going on after step 4 of " in said and "search" not in said and said.count("measured:") == 1
    numbers = said.partition(f"the closed form: {tmp_path / 'parts/closed_form'}; its GGUF files: ")[2].partition(" with")[0]
    options = tune_basis.arguments(["MODEL", "TEXT", "256", "--out", "FOLDER", *numbers.split()])
    assert options.steps == 0 and tune_basis.numbers_of(options) == pytest.approx(tuple(whole["start"].values()), rel=1e-8)
    first, second = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("whole", "parts"))
    assert first == second
    assert first["rope_parameters"]["long_factor"] != first["rope_parameters"]["short_factor"]
    tune(model, text, tmp_path / "parts", *settings)  # once more: nothing is left to do
    assert "measured:" not in capsys.readouterr().out

    with pytest.raises(ValueError, match=r"is of a run with rate 0\.04, this one has 0\.002; choose another --out"):
        tune(model, text, tmp_path / "parts", *settings, "--rate", "0.002")


def test_windows_begin_as_the_tokenizer_begins_texts(text, tmp_path):
    save_byte_tokenizer(tmp_path)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path, bos_token="<s>")
    options = tune_basis.arguments([str(tmp_path), str(text), str(TARGET), "--out", str(tmp_path / "out"), "--window", "128"])
    plain = tune_basis.read_text(options, tokenizer)
    assert plain[2] is None and len(plain[0]) + len(plain[1]) == len(text.read_bytes())
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.bos_token_id)])
    learned_from, measured_on, begin = tune_basis.read_text(options, tokenizer)
    assert begin == 256 and torch.equal(learned_from, plain[0]) and torch.equal(measured_on, plain[1])


def test_what_it_refuses(model, text, tmp_path, monkeypatch):
    out = tmp_path / "out"
    for length in (L, L - 1):
        with pytest.raises(ValueError, match=f"LENGTH {length} must be > 32, the length that the model was trained for"):
            tune(model, text, out, "--window", "64", length=length)
    short = tmp_path / "short.txt"
    short.write_bytes(text.read_bytes()[:1000])
    with pytest.raises(ValueError, match="short.txt has 1000 tokens, must have 1280: --measured 8 windows of --window 128 tokens, --whole 0 "
                                         "of 256, and two windows to learn from; give a longer text, or measure fewer windows"):
        tune(model, short, out)
    for name, value, said in (("--steps", "-1", "--steps -1 must be >= 0"), ("--rate", "-1", "--rate -1.0 must be > 0 and finite"),
                              ("--window", "300", "--window 300 must be <= LENGTH 256"), ("--measured", "1", "--measured 1 must be >= 2"),
                              ("--start", "fast", "--start fast must be search, unscaled, or LOW HIGH TIMES with 0 < LOW < HIGH"),
                              ("--start", "0.5", "--start 0.5 must be search")):
        with pytest.raises(ValueError, match=said):
            tune(model, text, out, name, value)
    for numbers in (("4", "1", "1"), ("1", "4", "0.5"), ("1", "4"), ("nan", "4", "1")):
        with pytest.raises(ValueError, match=f"--start {' '.join(numbers)} must be search"):
            tune(model, text, out, "--start", *numbers)
    with pytest.raises(ValueError, match="MODEL no.gguf must be a GGUF file that exists"):
        tune("no.gguf", text, out)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(OSError, match="MODEL no/model must be a folder or a GGUF file that exists, or a name at a hub; at the hub: "):
        tune("no/model", text, out)

    partial = LlamaConfig.from_pretrained(model).to_dict() | {"model_type": "gpt_neox", "rotary_pct": 0.5}
    (tmp_path / "partial").mkdir()
    (tmp_path / "partial/config.json").write_text(json.dumps({key: partial[key] for key in (
        "model_type", "rotary_pct", "vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers",
        "intermediate_size", "max_position_embeddings")}))
    with pytest.raises(ValueError, match="--temperature one must be none for MODEL .*: lanes of its heads are not rotated"):
        tune(tmp_path / "partial", text, out, "--temperature", "one")

    gpt2 = tmp_path / "gpt2"
    GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=L, n_embd=16, n_layer=1, n_head=1)).save_pretrained(gpt2)
    save_byte_tokenizer(gpt2)
    with pytest.raises(ValueError, match="of type 'gpt2' must have a rotary embedding"):
        tune(gpt2, text, out)

    small("qwen3", vocab_size=256).save_pretrained(tmp_path / "normed")
    save_byte_tokenizer(tmp_path / "normed")
    with pytest.raises(ValueError, match="--temperature heads must be one or none for MODEL .*q_norm, a norm of queries, must have none"):
        tune(tmp_path / "normed", text, out, "--temperature", "heads")

    scaled = LlamaConfig.from_pretrained(model)
    scaled.rope_parameters = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
    scaled.save_pretrained(tmp_path / "scaled")
    with pytest.raises(ValueError, match="has rope_type 'linear', must have 'default'"):
        tune(tmp_path / "scaled", text, out)

    for arguments, said in (([str(model), str(text), str(L)], "tune_basis: LENGTH 32 must be > 32"),
                            ([str(model), "no such text", str(TARGET), "--window", "64"], "tune_basis: .*'no such text'")):
        monkeypatch.setattr(sys, "argv", ["tune_basis.py", *arguments, "--out", str(out)])
        with pytest.raises(SystemExit, match=said):
            runpy.run_path(str(EXAMPLES / "tune_basis.py"), run_name="__main__")
    assert not out.exists()
