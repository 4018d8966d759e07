# SPDX-License-Identifier: MIT
"""What docs/engines.md says to type: commands and code, with the test's model in their places. build.sh has run before."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FOLDER, random_model, write_gguf
from trained_llama import save_byte_tokenizer

ROOT = Path(__file__).resolve().parents[3]
TRAINED, TARGET = 32, 256


@pytest.fixture(scope="module")
def fences():
    section = re.search(r"\n## llama\.cpp\n(.*?)(?=\n## |\Z)", (ROOT / "docs/engines.md").read_text(), re.DOTALL)[1]
    return re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)


def test_the_page_runs(fences, tmp_path):
    assert [kind for kind, _ in fences] == ["sh", "sh", "python"]
    tune, build, code = (text.replace("32768", str(TARGET)).replace("build/llama.cpp/", f"{FOLDER}/") for _, text in fences)
    assert re.search(r"^examples/llama_cpp/build.sh build/llama.cpp$", build, re.MULTILINE)  # ./run has done this
    model = random_model("llama", vocab_size=256, hidden_size=64, num_attention_heads=4)
    model.save_pretrained(tmp_path / "MODEL")
    save_byte_tokenizer(tmp_path / "MODEL")
    write_gguf(model, "llama", tmp_path / "MODEL.gguf")
    (tmp_path / "TEXT.txt").write_bytes((ROOT / "README.md").read_bytes())
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "read.py").write_text(code)
    lines = [line for line in (tune + build).replace("$PWD/" + str(FOLDER), str(FOLDER)).splitlines()
             if not line.startswith(("pip ", "examples/llama_cpp/build.sh"))]
    lines = [line.replace("--out", "--steps 2 --tokens 256 --device cpu --out") for line in lines] + ["python read.py"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "extended/model.gguf").exists()
    assert 0 <= int(done.stdout.splitlines()[-1]) < 256
