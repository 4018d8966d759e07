# SPDX-License-Identifier: MIT
"""docs/engines.md, JAX: its program runs with what it installs and prints the documented output."""
import subprocess

from page_example import ROOT, commands_of, debian_packages, environment_of, example_of, needed_packages


def test_the_pages_program(tmp_path):
    commands, (code, output) = commands_of("JAX"), example_of("JAX")
    assert debian_packages(commands) == needed_packages() - {"nlohmann-json3-dev", "python3-dev"}  # no configs, no Python.h
    run = subprocess.run([environment_of(commands, tmp_path), "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == output, run.stderr
