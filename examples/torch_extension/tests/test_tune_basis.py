# SPDX-License-Identifier: MIT
"""examples/tune_basis.py: learning, export, resumption and errors."""
import json
import runpy
import sys

import pytest
import test_lerope
import torch
from safetensors.torch import load_file
from tokenizers import processors
from trained_llama import EXAMPLES, save_byte_tokenizer, train_llama, tune_basis, write_text
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, PreTrainedTokenizerFast
from transformers.models.llama.modeling_llama import LlamaMLP

from cordage_torch import apply_to

L, TARGET = 32, 256
LENGTHS = [32, 64, 128, 256]
AGREEMENT = 1e-4  # of the largest logit, float32: transformers' angles are off by some 1e-5 at position 256


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
    tune_basis.main([str(model), str(text), str(length), "--out", str(out), "--device", "cpu", "--tokens", "512", *more])
    return json.loads((out / "perplexity.json").read_text())


@pytest.fixture(scope="module", params=["clex", "table", "lerope"])
def tuned(request, model, text, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param)
    return request.param, out, tune(model, text, out, "--form", request.param, "--steps", "60", "--measured", "12")


def test_it_gains_at_eight_times_the_length(tuned):
    form, _, result = tuned
    rows = result["perplexity"]
    assert result["lengths"] == LENGTHS
    if form != "lerope":  # which has one basis for all lengths
        assert rows["learned"][0] == pytest.approx(rows["own rotation"][0], rel=1e-5)  # nothing is lost at the trained length
    assert rows["learned"][-1] < 0.97 * rows["by parts"][-1]
    assert rows["learned"][-1] < 0.8 * rows["own rotation"][-1]
    assert rows["learned, as exported"][-1] == pytest.approx(rows["learned"][-1], rel=1e-4)
    assert result["temperature"][0] == 1.0 and result["temperature"][-1] != 1.0


def test_the_exported_config_is_the_tuned_model(tuned, model, text):
    form, out, _ = tuned
    checkpoint = torch.load(out / "checkpoint.pt", weights_only=True)
    options = tune_basis.arguments([str(model), str(text), str(TARGET), "--out", str(out), "--form", form])
    options.parts = checkpoint["settings"]["parts"]
    own = AutoModelForCausalLM.from_pretrained(model)
    basis = tune_basis.new_basis(own.config, options)
    basis.load_state_dict(checkpoint["basis"])

    config = type(own.config).from_pretrained(out)
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
            with apply_to(own, basis):
                assert (own(ids[:, :length]).logits - expected).abs().max() <= AGREEMENT * expected.abs().max()
        plain = own(ids).logits  # the comparison would detect a wrong basis
        assert (plain - exported(ids).logits).abs().max() > 100 * AGREEMENT * plain.abs().max()


def test_a_basis_for_each_layer(model, text, tmp_path, monkeypatch, capsys):
    settings = ["--form", "table", "--by-layer", "--steps", "60", "--measured", "12"]
    result = tune(model, text, tmp_path / "out", *settings)
    rows = result["perplexity"]
    assert rows["learned"][0] == pytest.approx(rows["own rotation"][0], rel=1e-5)
    assert rows["learned"][-1] < 0.97 * rows["by parts"][-1]
    assert rows["learned, as exported"][-1] == pytest.approx(rows["learned"][-1], rel=1e-4)
    assert len(result["temperature"]) == 2 and result["temperature"][0] != result["temperature"][1]
    assert "scores of layer 1 times" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} - {"perplexity.png"} == {
        "checkpoint.pt", "layers.json", "perplexity.json"}

    own = AutoModelForCausalLM.from_pretrained(model)
    layers = json.loads((tmp_path / "out/layers.json").read_text())
    assert len(layers) == 2 and layers[0]["long_factor"] != layers[1]["long_factor"]
    with apply_to(own, layers):
        served = tune_basis.perplexities(own, tune_basis.read_text(tune_basis.arguments(
            [str(model), str(text), str(TARGET), "--out", str(tmp_path), "--measured", "12"]))[1], [TARGET], None)
    assert served[0] == pytest.approx(rows["learned"][-1], rel=1e-4)

    short = ["--form", "table", "--by-layer", "--steps", "4", "--measured", "1"]
    whole = tune(model, text, tmp_path / "whole", *short)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(tune_basis.Run, "save", interrupted_after(2))
        tune(model, text, tmp_path / "parts", *short, "--save-every", "0")
    assert tune(model, text, tmp_path / "parts", *short) == whole
    with pytest.raises(ValueError, match="is of a run with by_layer True, this one has False"):
        tune(model, text, tmp_path / "parts", *(one for one in short if one != "--by-layer"))
    with pytest.raises(ValueError, match="--by-layer does not go with --gguf"):
        tune(model, text, tmp_path / "none", *short, "--gguf", "model.gguf")
    assert not (tmp_path / "none").exists()


def interrupted_after(step):
    save = tune_basis.Run.save

    def saved(run):
        save(run)
        if run.step == step:
            raise KeyboardInterrupt
    return saved


def test_the_prior_is_the_best_ramp_for_the_model(model, text, tmp_path, monkeypatch, capsys):
    short = ["--steps", "1", "--measured", "1"]
    poor, good = (20.0, 40.0), (0.5, 4.0)
    for name, ramps in (("last", [poor, good]), ("first", [good, poor])):
        monkeypatch.setattr(tune_basis, "RAMPS", ramps)
        chosen = tune(model, text, tmp_path / name, *short)["perplexity"]["by parts"]
        assert "prior: by parts 0.5 4, of 2 ramps with losses of " in capsys.readouterr().out
        assert torch.load(tmp_path / name / "checkpoint.pt", weights_only=True)["settings"]["parts"] == list(good)
    monkeypatch.setattr(tune_basis, "RAMPS", [poor])
    tune(model, text, tmp_path / "first", *short)  # goes on with the ramp that it had
    assert "prior: " not in capsys.readouterr().out
    given = tune(model, text, tmp_path / "given", *short, "--parts", "20", "40")["perplexity"]["by parts"]
    assert "prior: " not in capsys.readouterr().out
    assert given[-1] > 1.2 * chosen[-1]


def test_the_alpha_of_a_mistral_large_4(text, tmp_path):
    """Continues to learn the model's own alpha, over its own YaRN, and the temperatures of its heads."""
    large4 = test_lerope.large4(vocab_size=256)
    own_heads = {name: p.detach().clone() for name, p in large4.named_parameters() if "self_attn.softmax_scaling" in name}
    large4.save_pretrained(tmp_path / "model")
    save_byte_tokenizer(tmp_path / "model")
    result = tune(tmp_path / "model", text, tmp_path / "out", "--form", "lerope", "--steps", "2", "--measured", "1", length=64)
    rows = result["perplexity"]
    assert result["lengths"] == [32, 64] and rows["own alpha"] == pytest.approx(rows["own rotation"], rel=1e-4)
    tensors = load_file(tmp_path / "out/lerope.safetensors")
    learned = tensors.pop("model.language_model.rotary_emb.alpha")
    assert tensors.keys() == own_heads.keys() and len(tensors) == 2 * 4  # scale and bias of four layers, by their own names
    assert all(1e-4 < (tensors[name] - own).abs().max() < 0.01 for name, own in own_heads.items())  # at 0.001
    own = test_lerope.rotary_of(large4).alpha
    assert 1e-3 < (learned - own).abs().max() < 0.1  # two steps of Adam at 0.01
    assert not (tmp_path / "out/freq_factors.gguf").exists()
    tune(tmp_path / "model", text, tmp_path / "alone", "--form", "lerope", "--steps", "1", "--measured", "1", "--temperature",
         "none", length=64)
    assert len(load_file(tmp_path / "alone/lerope.safetensors")) == 1
    for more, said in ((("--form", "table"), "--form table must be lerope for MODEL .*: its weights hold an alpha"),
                       (("--form", "lerope", "--by-layer"), "--by-layer does not go with MODEL .*, whose weights hold one alpha")):
        with pytest.raises(ValueError, match=said):
            tune(tmp_path / "model", text, tmp_path / "other", *more, length=64)


def test_the_tensors_for_ggml_are_the_long_factors(tuned):
    gguf = pytest.importorskip("gguf")
    _, out, _ = tuned
    factors = json.loads((out / "config.json").read_text())["rope_parameters"]
    tensors = {tensor.name: torch.tensor(tensor.data.copy()) for tensor in gguf.GGUFReader(out / "freq_factors.gguf").tensors}
    torch.testing.assert_close(tensors["rope_freqs.weight"], torch.tensor(factors["long_factor"]))


def test_a_plot_where_matplotlib_is_installed(tuned):
    pytest.importorskip("matplotlib")
    assert (tuned[1] / "perplexity.png").read_bytes().startswith(b"\x89PNG")


def test_it_says_what_is_not_installed(model, text, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    tune(model, text, tmp_path, "--steps", "1", "--measured", "1")
    printed = capsys.readouterr().out
    assert "gguf is not installed: no freq_factors.gguf\nmatplotlib is not installed: no perplexity.png\n" in printed
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint.pt", "config.json", "perplexity.json"}


@pytest.mark.parametrize("form", ["clex", "table"])
def test_an_interrupted_run_goes_on_to_the_same_result(form, model, text, tmp_path, monkeypatch):
    settings = ["--form", form, "--steps", "6", "--measured", "1", "--save-every", "0"]
    whole = tune(model, text, tmp_path / "whole", *settings)
    save = torch.save

    def interrupted(state, path):
        if state["step"] == 4:
            path.write_bytes(b"half of it")
            raise KeyboardInterrupt
        save(state, path)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(torch, "save", interrupted)
        tune(model, text, tmp_path / "parts", *settings)
    assert torch.load(tmp_path / "parts/checkpoint.pt", weights_only=True)["step"] == 3
    assert not (tmp_path / "parts/config.json").exists()
    assert tune(model, text, tmp_path / "parts", *settings) == whole
    first, second = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("whole", "parts"))
    assert first == second
    assert first["rope_parameters"]["long_factor"] != first["rope_parameters"]["short_factor"]

    with pytest.raises(ValueError, match=r"is of a run with rate 0\.0\d+, this one has 0\.002"):
        tune(model, text, tmp_path / "parts", *settings, "--rate", "0.002")


def test_recomputed_activations_give_the_same_basis(model, text, tmp_path, monkeypatch):
    calls, forward = [], LlamaMLP.forward
    monkeypatch.setattr(LlamaMLP, "forward", lambda self, x: calls.append(1) or forward(self, x))
    settings = ["--steps", "3", "--measured", "1"]
    kept = tune(model, text, tmp_path / "kept", *settings)
    once = len(calls)
    assert tune(model, text, tmp_path / "recomputed", *settings, "--recompute") == kept
    assert len(calls) - 2 * once == 3 * 2  # steps, layers


def test_windows_begin_as_the_tokenizer_begins_texts(text, tmp_path):
    save_byte_tokenizer(tmp_path)
    options = tune_basis.arguments([str(tmp_path), str(text), str(TARGET), "--out", str(tmp_path / "out")])
    plain = tune_basis.read_text(options)
    assert plain[2] is None and len(plain[0]) + len(plain[1]) == len(text.read_bytes())
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path, bos_token="<s>")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.bos_token_id)])
    tokenizer.save_pretrained(tmp_path)
    learned_from, measured_on, begin = tune_basis.read_text(options)
    assert begin == 256 and torch.equal(learned_from, plain[0]) and torch.equal(measured_on, plain[1])
    for first in (None, begin):
        drawn = tune_basis.windows(learned_from, 8, 64, first, torch.Generator().manual_seed(1))
        assert drawn.shape == (8, 8) and (drawn[:, 0] == begin).all() == (first is not None)


def test_what_it_refuses(model, text, tmp_path, monkeypatch):
    out = tmp_path / "out"
    for length in (L, L - 1):
        with pytest.raises(ValueError, match=f"LENGTH {length} must be > 32, the length that the model was trained for"):
            tune(model, text, out, length=length)
    short = tmp_path / "short.txt"
    short.write_bytes(text.read_bytes()[:TARGET - 1])
    with pytest.raises(ValueError, match="short.txt has 255 tokens, must have two windows of LENGTH 256"):
        tune(model, short, out)
    for name, value, said in (("--steps", "0", "--steps 0 must be >= 1"), ("--rate", "-1", "--rate -1.0 must be > 0"),
                              ("--tokens", "100", "--tokens 100 must be >= LENGTH 256")):
        with pytest.raises(ValueError, match=said):
            tune(model, text, out, name, value)

    partial = LlamaConfig.from_pretrained(model).to_dict() | {"model_type": "gpt_neox", "rotary_pct": 0.5}
    (tmp_path / "partial").mkdir()
    (tmp_path / "partial/config.json").write_text(json.dumps({key: partial[key] for key in (
        "model_type", "rotary_pct", "vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers",
        "intermediate_size", "max_position_embeddings")}))
    with pytest.raises(ValueError, match="--temperature learned must be none for MODEL .*: lanes of its heads are not rotated"):
        tune(tmp_path / "partial", text, out, "--temperature", "learned")

    gpt2 = tmp_path / "gpt2"
    GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=L, n_embd=16, n_layer=1, n_head=1)).save_pretrained(gpt2)
    save_byte_tokenizer(gpt2)
    with pytest.raises(ValueError, match="of type 'gpt2' must have a rotary embedding"):
        tune(gpt2, text, out)

    scaled = LlamaConfig.from_pretrained(model)
    scaled.rope_parameters = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
    scaled.save_pretrained(tmp_path / "scaled")
    with pytest.raises(ValueError, match="has rope_type 'linear', must have 'default'"):
        tune(tmp_path / "scaled", text, out)

    for arguments, said in (([str(model), str(text), str(L)], "tune_basis: LENGTH 32 must be > 32"),
                            ([str(model), "no such text", str(TARGET)], "tune_basis: .*'no such text'")):
        monkeypatch.setattr(sys, "argv", ["tune_basis.py", *arguments, "--out", str(out)])
        with pytest.raises(SystemExit, match=said):
            runpy.run_path(str(EXAMPLES / "tune_basis.py"), run_name="__main__")
    assert not out.exists()
