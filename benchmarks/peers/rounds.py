# SPDX-License-Identifier: MIT
"""Timing side by side: in every round each entry runs once, in random order, and ratios are taken inside a round."""
import random
import statistics
import time


class Calls:
    """An entry that is a Python function. What a call costs includes its way through Python."""

    RUNS_A_LOAD = None  # inputs stay as they are

    def __init__(self, name, call):
        self.name, self.call = name, call

    def run(self, repeats):
        call = self.call
        for _ in range(repeats):
            call()


def seconds(entry, repeats):
    """Seconds a run. Inputs of entries that work in place are restored now and then, outside of the time."""
    total, left = 0.0, repeats
    while left > 0:
        count = min(left, entry.RUNS_A_LOAD or left)
        if entry.RUNS_A_LOAD:
            entry.load()
            entry.run(1)
        start = time.perf_counter()
        entry.run(count)
        total += time.perf_counter() - start
        left -= count
    return total / repeats


def repeats_for(entry, shortest):
    """The number of runs that take at least `shortest` seconds."""
    repeats = 1
    while (once := seconds(entry, repeats)) * repeats < shortest:
        repeats = max(2 * repeats, int(shortest / max(once, 1e-9)))
    return repeats


def interleaved(entries, rounds, shortest):
    """{name: [seconds a run, one of each round]}"""
    repeats = {entry.name: repeats_for(entry, shortest) for entry in entries}
    times = {entry.name: [] for entry in entries}
    for number in range(rounds):
        for entry in random.Random(number).sample(entries, len(entries)):
            time.sleep(0.002)  # workers of the entry before go to sleep
            mine, count = times[entry.name], repeats[entry.name]
            if not mine or mine[-1] < 10 * shortest:
                seconds(entry, max(1, count // 8))  # its code and data come back into the cache
            mine.append(seconds(entry, count))
    return times


def ratio(times, name, to):
    """The median over rounds of `name`'s time over `to`'s, and half the distance of its quartiles as a share of it."""
    ratios = [mine / theirs for mine, theirs in zip(times[name], times[to])]
    return statistics.median(ratios), spread(ratios)


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / middle
