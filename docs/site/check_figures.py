# SPDX-License-Identifier: MIT
"""Checks figures of the pages against the recorded files that they come from. A figure carries its source in a comment behind it,
on the same line:

    0.95<!-- figure docs/performance/amd_zen3.json; lines; rotate/forward/...; of_tight_bound -->

It must be the source's number, rounded to the digits that the page gives. What stands after the file, separated by semicolons:

    .json    the keys to the number; in a list of objects KEY=VALUE chooses one; in a list of lists, or of numbers joined by " / ",
             the name of a row (its first cell) or an index, from 0
    .csv     COLUMN=VALUE for each condition, then the column; the mean of all rows that are left
    other    words of the file; the number that follows their first occurrence

`change A from B` instead of `figure A` is 100 (A/B - 1), in percent, `ratio A from B` is A/B; of .csv, the mean over rows in their
order."""
import csv
import json
import re
from pathlib import Path

COMMENT = re.compile(r"([^<>]*)<!-- (figure|change|ratio) (.*?) -->")
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def of_json(text, keys):
    at = json.loads(text)
    for key in keys:
        if isinstance(at, str):
            at = at.split(" / ")[int(key)]
        elif isinstance(at, list) and isinstance(at[0], str):
            at = at[int(key)]
        elif isinstance(at, list) and isinstance(at[0], list):
            at = next(row for row in at if row[0] == key)
        elif isinstance(at, list):
            name, _, value = key.partition("=")
            at = next(item for item in at if str(item.get(name)) == value)
        else:
            at = at[key]
    return [float(at)]


def of_csv(text, keys):
    wanted = dict(key.split("=", 1) for key in keys[:-1])
    rows = csv.DictReader(text.splitlines())
    return [float(row[keys[-1]]) for row in rows if all(row[name] == value for name, value in wanted.items())]


def of_text(text, keys):
    _, found, rest = text.partition(keys[0])
    if not found:
        raise KeyError(keys[0])
    return [float(NUMBER.search(rest).group())]


def values_of(source):
    """The numbers of a source, mostly one."""
    path, *keys = [part.strip() for part in source.split(";")]
    text = Path(path).read_text(encoding="utf-8")
    values = {".json": of_json, ".csv": of_csv}.get(Path(path).suffix, of_text)(text, keys)
    if not values:
        raise KeyError("; ".join(keys))
    return values


def number_of(kind, source):
    if kind == "figure":
        values = values_of(source)
        return sum(values) / len(values)
    pairs = list(zip(*[values_of(side) for side in source.split(" from ")], strict=True))
    ratio = sum(a / b for a, b in pairs) / len(pairs)
    return ratio if kind == "ratio" else 100 * (ratio - 1)


def what_is_wrong(before, kind, source):
    """The fault of a figure whose comment follows `before`, or an empty text."""
    numbers = NUMBER.findall(before)
    if not numbers:
        return "no number stands before the comment"
    given = numbers[-1].replace(",", "").replace("−", "-")
    mantissa, _, exponent = given.partition("e")
    half_a_digit = 0.5 * 10 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    try:
        value = number_of(kind, source)
    except (OSError, LookupError, StopIteration, ValueError, AttributeError) as failure:
        return f"{source}: {type(failure).__name__} {failure}"
    if abs(float(given) - value) > half_a_digit * 1.000001:
        return f"{given} must be {value:.6g}, by {source}"
    return ""


def figures_of(line):
    """(what stands before, kind, source) of each figure of a line."""
    return [match.groups() for match in COMMENT.finditer(line)]
