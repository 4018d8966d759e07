# SPDX-License-Identifier: MIT
"""tests/golden/lerope.json, which cordage_conformance checks, agrees with the installed transformers."""
import json

import pytest

import golden_file
import lerope_golden


def test_golden_numbers_are_those_of_transformers():
    pytest.importorskip("transformers")
    stored = golden_file.stored_cases(lerope_golden.FILE.name)
    made = {case["name"]: json.loads(json.dumps(case)) for case in lerope_golden.golden()["cases"]}
    assert sorted(stored) == sorted(made)
    for name, case in made.items():
        for key, value in case.items():
            if key == "config":  # its version, and keys that say nothing of the rotation, may change
                continue
            stored_value = stored[name][key]
            if isinstance(value, dict):
                assert value["shape"] == stored_value["shape"]
                value, stored_value = value["data"], stored_value["data"]
            expected = pytest.approx(stored_value, rel=1e-6, abs=1e-9) if isinstance(value, (list, float)) else stored_value
            assert value == expected, (name, key)
