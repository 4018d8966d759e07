# SPDX-License-Identifier: MIT
"""The closed forms that a basis can start from: by parts, with a multiplier on t, and a search over them."""
from __future__ import annotations

import math
from typing import NamedTuple

from cordage_torch import CLEX

LOW, RATIO, TIMES = (0.25, 2.0), (2.0, 32.0), (1.0, 2.0)  # ranges of the search, in which it is uniform in the logarithm


class Start(NamedTuple):
    """By parts: pairs that turn more than `high` times within the trained length keep their frequency, those that turn less than `low`
    times are interpolated by times * t."""

    low: float
    high: float
    times: float

    def __str__(self) -> str:
        return "unscaled" if self == UNSCALED else f"by parts {self.low:.3g} to {self.high:.3g}, t times {self.times:.3g}"


UNSCALED = Start(1e-9, 1e-8, 1.0)  # no pair turns so seldom
BY_PARTS = Start(1.0, 4.0, 1.0)
YARN = Start(1.0, 32.0, 1.0)


def points(count: int) -> list[Start]:
    """By parts of a narrow ramp, YaRN's ramp, then a low-discrepancy sequence (Halton) over the ranges."""
    def between(low: float, high: float, share: float) -> float:
        return math.exp(math.log(low) + share * math.log(high / low))

    found = [BY_PARTS, YARN][:count]
    for index in range(1, count - 1):
        low = between(*LOW, inverse_digits(index, 2))
        found.append(Start(low, low * between(*RATIO, inverse_digits(index, 3)), between(*TIMES, inverse_digits(index, 5))))
    return found


def inverse_digits(number: int, radix: int) -> float:
    """The digits of a number, behind the point in reversed order."""
    result, weight = 0.0, 1.0
    while number:
        weight /= radix
        result += weight * (number % radix)
        number //= radix
    return result


def clex_from(config, start: Start, length: int, hidden: int | None = 1) -> CLEX:
    """A CLEX that begins as the closed form. The multiplier is a shorter trained length: within it the ramp, counted in turns, moves
    along, and t is 1 up to it."""
    trained = trained_length(config)
    return CLEX.for_config(config, field="log_length", hidden=hidden, original_length=trained / start.times,
                           prior=("by_parts", start.low / start.times, start.high / start.times),
                           t_max=length / trained * start.times)


def trained_length(config) -> float:
    return CLEX.for_config(config, hidden=1).original_length
