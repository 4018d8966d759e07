# SPDX-License-Identifier: MIT
"""What was measured as a table with intervals, and what it says about learning."""
from __future__ import annotations

import math
from statistics import mean, stdev

# 97.5 % quantiles of Student's t by degrees of freedom; beyond, that of the last is used, which is a little too wide.
QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
MEASURES = {"dense": "text, dense", "chunks": "text, chunks", "whole": "text, whole", "digits": "digits of keys"}

LEAST = 0.01  # nats: a smaller gain is told, and not worth another basis

Row = dict[str, list[float]]  # of a measure: one number for each window


def interval(numbers: list[float]) -> tuple[float, float]:
    """Mean and half width of its 95 % interval over windows; infinite for a single window."""
    count = len(numbers)
    width = math.inf if count < 2 else QUANTILES[min(count - 2, len(QUANTILES) - 1)] * stdev(numbers) / math.sqrt(count)
    return mean(numbers), width


def difference(row: Row, other: Row, measure: str) -> tuple[float, float]:
    """Of the same windows."""
    return interval([a - b for a, b in zip(row[measure], other[measure], strict=True)])


def said(numbers: tuple[float, float], form: str = "{:.3f}") -> str:
    return form.format(numbers[0]) + " ± " + (f"{numbers[1]:.3f}" if math.isfinite(numbers[1]) else "?")


def table(rows: dict[str, Row]) -> list[str]:
    """Nats per token, means with 95 % intervals over windows; and the pass keys that were found."""
    measured = [name for name in MEASURES if all(name in row for row in rows.values())]
    cells = [["nats per token, ± 95 % over windows", *(MEASURES[name] for name in measured)]]
    cells += [[name, *(said(interval(row[one])) for one in measured)] for name, row in rows.items()]
    if all("found" in row for row in rows.values()):
        cells[0].append("pass keys")
        for line, row in zip(cells[1:], rows.values()):
            line.append(f"{sum(row['found']):.0f} of {sum(row['asked']):.0f}")
    widths = [max(map(len, column)) for column in zip(*cells)]
    return [line[0].ljust(widths[0]) + "".join("  " + cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))
            for line in cells]


def verdict(rows: dict[str, Row], learned: str) -> list[str]:
    """The differences of a learned row to the best other one, and whether it is worth using."""
    against = min((name for name in rows if name != learned), key=lambda name: mean(rows[name]["dense"]) + mean(rows[name]["chunks"]))
    measured = [name for name in MEASURES if name in rows[learned] and name in rows[against]]
    found = {name: difference(rows[learned], rows[against], name) for name in measured}
    lines = [f"{learned} minus {against}: " + ", ".join(f"{MEASURES[name]} {said(one, '{:+.3f}')}" for name, one in found.items())]
    better = [MEASURES[name] for name, (middle, width) in found.items() if middle + width < 0 and middle <= -LEAST]
    worse = [MEASURES[name] for name, (middle, width) in found.items() if middle - width > 0]
    if better and not worse:
        lines.append(f"learning is worth it here: lower loss of {', '.join(better)}, and nothing is worse")
    elif better:
        lines.append(f"learning trades: lower loss of {', '.join(better)}, higher of {', '.join(worse)}")
    else:
        reason = f"higher loss of {', '.join(worse)}" if worse else f"no loss is lower by {LEAST} with an interval below 0"
        lines.append(f"learning is not worth it here: {reason}; use {against}, or measure more windows")
    return lines
