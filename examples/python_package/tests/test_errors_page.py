# SPDX-License-Identifier: MIT
"""The lines of docs/errors.md for Python raise what the page says."""
from pathlib import Path

import numpy as np
import pytest

import cordage

PAGE = Path(__file__).resolve().parents[3] / "docs/errors.md"
ROWS = [tuple(cell.strip().strip("`") for cell in line.strip("|\n").split(" | "))
        for line in PAGE.read_text(encoding="utf-8").partition("## In Python")[2].splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("written, message", ROWS)
def test_a_line_raises_what_the_page_says(written, message):
    rule = cordage.Rule.from_config({"model_type": "llama", "head_dim": 64, "max_position_embeddings": 4096})
    basis = rule.at_length(2)
    names = {name: getattr(cordage, name) for name in cordage.__all__} | {
        "np": np, "rule": rule, "basis": basis, "angles": cordage.Angles(basis, [0, 1]),
        "q": np.ones((2, 4, 64), np.float32), "k": np.ones((2, 2, 64), np.float32)}
    with pytest.raises((ValueError, TypeError)) as raised:
        eval(written, names)
    assert str(raised.value) == message


def test_the_page_has_lines():
    assert len(ROWS) > 15
