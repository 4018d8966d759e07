# SPDX-License-Identifier: MIT
"""Every rotary class and function of the installed diffusers against its recipe: diffusers_classes.py has both.

Classes run in double; as they are, in float32, they agree within what that loses. The page's table is made here.
"""
import json
import os
import pathlib
import re
import subprocess

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
import diffusers_classes as classes  # noqa: E402
import diffusers_wheel as wheel  # noqa: E402

SEEDS = range(6)
# Rounds what it rotated to bfloat16.
IN_BFLOAT16 = ["transformer_kandinsky:"]
PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "migrating.md"
HEADER = "| class or function | axes: lanes | base | coordinates | pairs | recipe |\n|---|---|---|---|---|---|\n"


def test_every_definition_is_covered_or_is_listed():
    found, covered = wheel.definitions(), [entry.definition for entry in classes.ENTRIES]
    others = {name for names in classes.OTHERS.values() for name in names.split()}
    unknown = [d for d in found if d not in covered and not others & {d, d.split(":")[1]}]
    assert not unknown, f"neither covered nor listed as something else: {unknown}"
    assert set(covered) <= set(found), f"covered, and not found: {set(covered) - set(found)}"
    assert others <= {*found, *(d.split(":")[1] for d in found)}, "listed, and not found"
    assert len(covered) == len(set(covered)) > 60


def test_every_recipe_does_what_the_class_does(built):
    program = built("diffusers_rotations.cpp")
    cases, asked = [], []
    for entry in classes.ENTRIES:
        for seed in SEEDS:
            recipe, shape, rotated = classes.case(entry, seed)
            x = wheel.x_of(*shape)
            with wheel.in_double():
                y = rotated(x.double())
            _, _, rotated = classes.case(entry, seed)  # anew: some classes keep tables
            cases.append((f"{entry.definition} {seed}", y, rotated(x.float())))
            asked.append(json.dumps({"recipe": recipe, "shape": shape}))
    finished = subprocess.run([str(program)], input="\n".join(asked), stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in finished.stdout.splitlines()]
    assert len(answers) == len(cases)
    wrong = []
    for (name, y, y_float32), answer in zip(cases, answers):
        assert y.dtype == torch.float64
        ours = torch.tensor(answer["y"], dtype=torch.float64).reshape(y.shape)
        largest = 1 + answer["largest_angle"]
        in_double, in_float32 = (ours - y).abs().max().item(), (ours - y_float32.double()).abs().max().item()
        if in_double > 1e-14 + 4e-15 * largest:
            wrong.append(f"{name}: {in_double} apart, with angles up to {largest}")
        if in_float32 > (2e-2 if any(part in name for part in IN_BFLOAT16) else 2e-6 * largest):
            wrong.append(f"{name}: {in_float32} apart in float32, with angles up to {largest}")
    assert not wrong, "\n".join(wrong)


def test_golden_data_is_of_this_version():
    data = json.loads(classes.FILE.read_text())
    if f"diffusers {classes.diffusers.__version__} " not in data["source"]:
        pytest.skip(f"{classes.FILE.name} is of another version of diffusers")
    assert [case["name"] for case in data["cases"]] == [entry.definition for entry in classes.ENTRIES]
    for case, entry in zip(data["cases"], classes.ENTRIES):
        recipe, shape, _ = classes.golden_case(entry)
        assert (case["recipe"], tuple(case["shape"])) == (json.loads(json.dumps(recipe)), shape), case["name"]


def rows():
    """A row for each group of classes whose cells are equal."""
    grouped = {}
    for entry in classes.ENTRIES:
        grouped.setdefault(entry.cells, []).append(entry.definition.split(":")[1])
    for (axes, bases, coordinates, pairs, by), names in grouped.items():
        cells = [", ".join(f"`{name}`" for name in dict.fromkeys(names)), axes, bases, coordinates, pairs, by]
        yield "| " + " | ".join(cells) + " |\n"


def test_table_of_the_page_is_what_is_tested():
    before, _, rest = PAGE.read_text().partition(HEADER)
    assert rest, f"{PAGE.name} must have the table"
    page = before + HEADER + "".join(rows()) + rest[re.match(r"(\|.*\n)*", rest).end():]
    if os.environ.get("CORDAGE_WRITE_FAMILIES"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "CORDAGE_WRITE_FAMILIES=1 writes it anew"
