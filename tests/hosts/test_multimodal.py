# SPDX-License-Identifier: MIT
"""tests/golden/multimodal.json, which cordage_conformance checks, agrees with the installed transformers."""
import json

import pytest

import golden_file
import multimodal_golden


def test_golden_positions_are_those_of_transformers():
    pytest.importorskip("transformers")
    stored = golden_file.stored_cases(multimodal_golden.FILE.name)
    made = {c["name"]: json.loads(json.dumps(c)) for c in multimodal_golden.golden()["cases"]}
    assert sorted(stored) == sorted(made)
    for name, case in made.items():
        assert stored[name] == case, name
