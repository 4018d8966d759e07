# SPDX-License-Identifier: MIT
"""Rules of configs, of numbers and of a CLEX checkpoint; their descriptions and plots."""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cordage

TESTS = Path(__file__).resolve().parents[3] / "tests"
CONFIGS = TESTS / "fuzz/corpus/config"
GOLDEN = [case for case in json.loads((TESTS / "golden/policies.json").read_text())["cases"] if case["kind"] == "inv_freq"]


def test_configs_give_the_golden_frequencies():
    for case in GOLDEN:
        rule = cordage.Rule.from_config(case["config"], layer_type=case.get("layer_type"))
        basis = rule.at_length(case["resolved"].get("seq_len") or 1)
        wanted = np.array(case["expected"]["inv_freq"])
        assert np.allclose(basis.inv_freq, wanted[:basis.inv_freq.size], rtol=1e-13, atol=0), case["name"]
        assert basis.attention_factor == pytest.approx(case["expected"]["attention_factor"], rel=1e-13), case["name"]
    assert len(GOLDEN) > 20


def test_a_file_says_what_a_caller_must_not_ignore(tmp_path):
    rule = cordage.Rule.from_file(CONFIGS / "mrope.json")
    assert rule.pairing == "half_split" and set(rule.axis_of_pair) == {0, 1, 2} and rule.first_lane == 0
    rule = cordage.Rule.from_file(CONFIGS / "deepseek_v3.json")
    assert rule.pairing == "interleaved" and rule.axis_of_pair is None and not rule.is_inverse
    local = cordage.Rule.from_file(CONFIGS / "gemma3.json", layer_type="sliding_attention")
    assert local.theta_base == 10000 and (local.at_ratio(1).inv_freq == local.at_length(100000).inv_freq).all()
    with pytest.raises(ValueError, match="repeated_key|must occur once"):
        cordage.Rule.from_file(CONFIGS / "repeated_key.json")
    with pytest.raises(ValueError, match="nowhere.json. must be a file, a folder"):
        cordage.Rule.from_file(tmp_path / "nowhere.json")


@pytest.mark.parametrize("policy, factor", [("unscaled", lambda i: 1.0), ("linear", lambda i: 0.25),
                                            ("ntk_aware", lambda i: 4.0 ** (-2 * i / 62))])
def test_policies_by_numbers(policy, factor):
    rule = cordage.Rule.from_numbers(head_dim=128, rotary_dim=64, original_length=4096, policy=policy)
    i = np.arange(32)
    wanted = 10000.0 ** (-i / 32) * np.array([factor(pair) for pair in i])
    assert np.allclose(rule.at_length(16384).inv_freq, wanted, rtol=1e-13)
    assert (rule.at_length(16384).inv_freq == rule.at_ratio(4).inv_freq).all()
    assert rule.at_ratio(4).fingerprint == rule.at_length(16384).fingerprint
    assert rule.at_ratio(4).fingerprint != rule.at_ratio(5).fingerprint or policy == "unscaled"
    assert not rule.at_ratio(4).inv_freq.flags.writeable


def test_policies_by_numbers_refuse_what_is_none():
    with pytest.raises(ValueError, match="policy 'yam' must be one of unscaled, linear, ntk_aware, yarn, llama3"):
        cordage.Rule.from_numbers(head_dim=64, original_length=4096, policy="yam")
    with pytest.raises(ValueError, match="rotary_dim 65"):
        cordage.Rule.from_numbers(head_dim=64, rotary_dim=65, original_length=4096)
    with pytest.raises(ValueError, match="t 0.5 must be"):
        cordage.Rule.from_numbers(head_dim=64, original_length=4096).at_ratio(0.5)


def write_clex(folder, *layers):
    """A checkpoint of released CLEX layers, matrices up [pairs, hidden] and down [hidden, pairs] of each."""
    write_safetensors(folder, {f"model.layers.{i}.self_attn.rotary_emb.proj_func.ode_{name}_proj": matrix
                               for i, matrices in enumerate(layers)
                               for name, matrix in zip(("up", "down"), matrices, strict=True)})


def write_safetensors(folder, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), len(data) + 4 * array.size]}
        data += array.astype("<f4").tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_clex_is_solved_with_its_weights(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"head_dim": 8, "max_position_embeddings": 4096, "rope_theta": 10000.0, "rope_scaling": {
        "type": "clex", "max_factor": 16, "param_factor": 1, "time_dt": 0.01}}))
    with pytest.raises(ValueError, match="weights|checkpoint"):
        cordage.Rule.from_file(config).at_ratio(4)
    zeros = np.zeros((4, 8), np.float32), np.zeros((8, 4), np.float32)
    learned = np.full((4, 8), 0.01, np.float32), np.full((8, 4), -0.01, np.float32)
    write_clex(tmp_path, zeros, learned)
    plain, other = (cordage.Rule.from_file(config, checkpoint=tmp_path, layer_type=f"layer {i}").at_ratio(4)
                    for i in range(2))
    i = np.arange(4)
    assert np.allclose(plain.inv_freq, 10000.0 ** (-i / 4) * 7.0 ** (-2 * i / 6), rtol=1e-6)  # the drift only
    assert (np.abs(other.inv_freq / plain.inv_freq - 1) > 1e-4).all()
    told = cordage.inspect(config, checkpoint=tmp_path, t=4, as_numbers=True)["ropes"]
    assert [rope["layer_type"] for rope in told] == ["layer 0", "layer 1"]
    assert [rope["log_scale"] for rope in told] == [False, False]
    assert (other.inv_freq == told[1]["inv_freq"]).all()


def test_lerope_needs_its_weights(tmp_path):
    golden = next(case for case in json.loads((TESTS / "golden/lerope.json").read_text())["cases"] if case["kind"] == "lerope")
    with pytest.raises(ValueError, match="a model with LeRoPE needs its weights"):
        cordage.Rule.from_config(golden["config"], layer_type="rope")
    (tmp_path / "config.json").write_text(json.dumps(golden["config"]))
    write_safetensors(tmp_path, {"model.rotary_emb.alpha": np.array(golden["alpha_float32"])})
    rule = cordage.Rule.from_file(tmp_path / "config.json", checkpoint=tmp_path, layer_type="rope")
    assert np.allclose(rule.at_length(8).inv_freq, golden["inv_freq_float32"], rtol=4e-6) and rule.has_head_temperatures
    assert not cordage.Rule.from_file(CONFIGS / "mrope.json").has_head_temperatures


def test_model_tells_the_rule_of_each_layer(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "smollm3", "head_dim": 64, "num_hidden_layers": 8, "rope_theta": 1e6,
                                  "max_position_embeddings": 4096}))
    model = cordage.Model(tmp_path)
    assert model.layers == 8 and model.max_length == 4096
    assert [model.rule(layer).is_unrotated for layer in range(8)] == 2 * [False, False, False, True]
    assert model.rule(0).theta_base == 1e6 and model.indexer(0) is None
    with pytest.raises(ValueError, match="layer 8 must be in 0 ... 7"):
        model.rule(8)
    told = cordage.inspect(tmp_path, as_numbers=True)["layers"]
    assert [layer["rule"] for layer in told] == 2 * ["rope", "rope", "rope", "no_rope"]
    config.write_text(json.dumps({"model_type": "deepseek_v32", "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
                                  "rope_theta": 1e4, "index_head_dim": 128, "num_hidden_layers": 2,
                                  "max_position_embeddings": 4096}))
    indexer = cordage.Model(config).indexer(1)
    assert (indexer.pairing, indexer.head_dim, indexer.rotary_dim) == ("half_split", 128, 64)


def test_inspect_tells_in_words_and_numbers():
    assert "at 131072 tokens: t = 32, attention factor 1.34657" in cordage.inspect(CONFIGS / "yarn.json")
    numbers = cordage.inspect(CONFIGS / "dynamic.json", length=8192, as_numbers=True)
    assert numbers["ropes"][0]["t"] == 3
    basis = cordage.Rule.from_file(CONFIGS / "dynamic.json").at_length(8192)
    assert (basis.inv_freq == numbers["ropes"][0]["inv_freq"]).all()
    with pytest.raises(ValueError, match="'gpt2' has no rotary embedding"):
        cordage.inspect(CONFIGS / "gpt2.json")
    command = Path(sys.executable).parent / "cordage_inspect"
    done = subprocess.run([command, CONFIGS / "yarn.json"], capture_output=True, text=True, check=True)
    assert done.stdout == cordage.inspect(CONFIGS / "yarn.json")


def test_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from cordage import plots
    rule = cordage.Rule.from_numbers(head_dim=64, original_length=4096, policy="linear")
    axes = plots.factors(rule, (1, 4))
    assert [line.get_label() for line in axes.lines] == ["t = 1", "t = 4"]
    assert np.allclose(axes.lines[1].get_ydata(), 0.25)
    waves = plots.wavelengths({"one": rule.at_ratio(1), "rests": cordage.Basis([1.0, 0.0])}, length=100, axes=axes)
    assert waves is axes and np.allclose(axes.lines[2].get_ydata(), 2 * np.pi / rule.at_ratio(1).inv_freq)
    assert axes.lines[3].get_xdata().tolist() == [0] and axes.lines[4].get_ydata()[0] == 100
