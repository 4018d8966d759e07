#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""write_engines.py PAGE ROW.json ...: puts the rows that engines' tests measured into the table of docs/engines.md. Rows of
engines that were not tested stay as they are."""
import json
import pathlib
import sys

COLUMNS = ["engine", "version", "replaced", "difference", "equal", "time"]


def main(page, *rows):
    page = pathlib.Path(page)
    lines = page.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| engine |")) + 2
    last = first
    while last < len(lines) and lines[last].startswith("| "):
        last += 1
    table = {line.split("|")[1].strip(): line for line in lines[first:last]}
    for path in rows:
        row = json.loads(pathlib.Path(path).read_text())
        if sorted(row) != sorted(COLUMNS):
            raise SystemExit(f"{path} has {sorted(row)}, must have {sorted(COLUMNS)}")
        table[row["engine"]] = "| " + " | ".join(row[column] for column in COLUMNS) + " |"
    lines[first:last] = [table[engine] for engine in sorted(table)]
    page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
