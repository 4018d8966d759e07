# SPDX-License-Identifier: MIT
"""What docs/engines.md shows of vLLM: its programs print what stands there."""
import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs/engines.md"


def test_programs_print_what_the_page_says(tmp_path):
    section = PAGE.read_text().split("\n## vLLM\n")[1].split("\n## ")[0]
    model, serve = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    printed, = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    commands, = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    for path in re.findall(r"examples/\S+", commands):
        assert (PAGE.parents[1] / path).exists()
    for name, program in {"model.py": model, "serve.py": serve}.items():
        (tmp_path / name).write_text(program)
        done = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True,
                              env=os.environ | {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"})
        assert done.returncode == 0, done.stderr[-3000:]
    assert [line for line in done.stdout.splitlines() if line.startswith("[")] == printed.splitlines()
