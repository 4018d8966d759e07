# SPDX-License-Identifier: MIT
"""tests/golden/towers.json, which cordage_conformance checks, agrees with the installed transformers."""
import json

import numpy as np
import pytest

pytest.importorskip("transformers")
import golden_file  # noqa: E402
import towers_golden  # noqa: E402


def test_golden_rotations_are_those_of_transformers():
    stored = golden_file.stored_cases(towers_golden.FILE.name)
    assert sorted(stored) == sorted(towers_golden.TOWERS)
    for name, case in stored.items():
        made = towers_golden.case(name)
        assert {**case, "y_float32": None} == {**json.loads(json.dumps(made)), "y_float32": None}, name
        assert case["y_float32"]["shape"] == made["y_float32"]["shape"], name
        apart = np.abs(np.subtract(case["y_float32"]["data"], made["y_float32"]["data"])).max()
        assert apart < 1e-4, f"{name}: {apart}"  # cos and sin differ in last bits from one processor to the next
