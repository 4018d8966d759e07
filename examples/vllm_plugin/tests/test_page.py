# SPDX-License-Identifier: MIT
"""docs/engines.md, vLLM: its programs run with what it installs and print the documented output."""
import os
import subprocess

from page_example import commands_of, debian_packages, environment_of, fences_of, needed_packages


def test_programs_print_what_the_page_says(tmp_path):
    commands, fences = commands_of("vLLM"), fences_of("vLLM")
    assert debian_packages(commands) == needed_packages()
    python = environment_of(commands, tmp_path / "environment")
    model, serve = (text for language, text in fences if language == "python")
    printed, = (text for language, text in fences if language == "text")
    environment = {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    for name, program in {"model.py": model, "serve.py": serve}.items():
        (tmp_path / name).write_text(program)
        done = subprocess.run([python, name], cwd=tmp_path, capture_output=True, text=True, env=os.environ | environment)
        assert done.returncode == 0, done.stderr[-3000:]
    assert [line for line in done.stdout.splitlines() if line.startswith("[")] == printed.splitlines()
