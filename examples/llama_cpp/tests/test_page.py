# SPDX-License-Identifier: MIT
"""The commands and code of docs/engines.md, with the test's model, in environments that contain only what the commands install.
build.sh has run before."""
import os
import re
import subprocess

from conftest import FOLDER, random_model, write_gguf
from page_example import ROOT, debian_packages, environment_of, fences_of, needed_packages
from trained_llama import save_byte_tokenizer

TARGET = 256


def run(commands, python, folder):
    """The commands except those that install and build."""
    lines = [line for line in commands.splitlines() if not line.startswith(("apt ", "pip ", "examples/llama_cpp/build.sh"))]
    environment = os.environ | {"PATH": f"{os.path.dirname(python)}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_page_runs(tmp_path):
    fences = fences_of("llama.cpp")
    assert [kind for kind, _ in fences] == ["sh", "sh", "python"]
    tune, build, code = (text.replace("32768", str(TARGET)) for _, text in fences)
    assert re.search(r"^examples/llama_cpp/build.sh build/llama.cpp$", build, re.MULTILINE)  # ./run has done this
    assert debian_packages(tune) == needed_packages()
    assert debian_packages(build) == {"g++", "cmake", "ninja-build", "libxsimd-dev"}
    model = random_model("llama", vocab_size=256, hidden_size=64, num_attention_heads=4)
    model.save_pretrained(tmp_path / "MODEL")
    save_byte_tokenizer(tmp_path / "MODEL")
    write_gguf(model, "llama", tmp_path / "MODEL.gguf")
    (tmp_path / "TEXT.txt").write_bytes((ROOT / "README.md").read_bytes())
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    # This model's GGUF file has no tokenizer, so that it is given beside the folder.
    quick = tune.replace("MODEL.gguf", "MODEL").replace("--out", "--gguf MODEL.gguf --steps 2 --search 4 --device cpu --out")
    run(quick, environment_of(tune, tmp_path / "tune"), tmp_path)
    assert (tmp_path / "extended/model.gguf").exists()
    (tmp_path / "read.py").write_text(code)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/llama.cpp").symlink_to(FOLDER)
    printed = run(build + "python read.py", environment_of(build, tmp_path / "read"), tmp_path)
    assert 0 <= int(printed.splitlines()[-1]) < 256
