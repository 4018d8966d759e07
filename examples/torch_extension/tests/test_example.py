# SPDX-License-Identifier: MIT
"""examples/extend_transformers.py runs, and its own checks pass."""
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "extend_transformers.py"


def test_extend_transformers():
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("at 512 tokens") == 3
