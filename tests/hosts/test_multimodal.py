# SPDX-License-Identifier: MIT
"""tests/golden/multimodal.json, which cordage_conformance checks, is what the installed transformers counts."""
import json

import pytest

import multimodal_golden


def test_golden_positions_are_those_of_transformers():
    pytest.importorskip("transformers")
    stored = {c["name"]: c for c in json.loads(multimodal_golden.FILE.read_text())["cases"]}
    made = {c["name"]: json.loads(json.dumps(c)) for c in multimodal_golden.golden()["cases"]}
    assert sorted(stored) == sorted(made)
    for name, case in made.items():
        assert stored[name] == case, name
