# SPDX-License-Identifier: MIT
"""Reads and writes the golden files in tests/golden."""
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "golden"


def text_of(data):
    """Writes a file with one line for each case."""
    cases = ",\n".join("  " + json.dumps(c) for c in data["cases"])
    head = json.dumps({k: v for k, v in data.items() if k != "cases"}, indent=1)
    return head[:-2] + ',\n "cases": [\n' + cases + "\n ]\n}\n"


def stored_cases(name):
    """The cases of a file by their names."""
    return {c["name"]: c for c in json.loads((FOLDER / name).read_text())["cases"]}
