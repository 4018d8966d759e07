# SPDX-License-Identifier: MIT
"""What docs/engines.md shows of JAX: its program prints what stands there."""
import subprocess
import sys

from page_example import ROOT, example_of


def test_the_pages_program():
    code, output = example_of("JAX")
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stdout == output, run.stderr
