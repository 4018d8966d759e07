#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of docs/performance.md from times.json of compare.py:

    record.py TIMES.json RECORD.json MACHINE

MACHINE says in words where compare.py ran. Run it there, with the packages that were timed: it looks up their versions."""
import datetime
import importlib.metadata
import json
import pathlib
import statistics
import sys

import precision
from report import CORDAGE, MEMCPY, output_of, tight
from rounds import ratio

ROTATIONS = {"transformers, eager": "transformers_eager", "transformers, torch.compile": "transformers_compiled",
             "torch, complex product": "torch_complex", "ONNX Runtime, half_split": "onnxruntime_half_split",
             "ONNX Runtime, interleaved": "onnxruntime_interleaved", "cordage, called from Python": CORDAGE + "_by_ctypes"}
CACHE_PATHS = {"torch, eager": "torch_eager", "torch.compile": "torch_compiled", "cordage, called from Python": "cordage_by_ctypes"}
ANGLE_TABLES = {"cordage": "cordage_table", "numpy, float32": "numpy_float32", "torch, float32": "torch_float32",
                "torch, float64": "torch_float64", "transformers, twice the width": "transformers_module"}
SOLVERS = {"cordage, Tsit5 5e-5": "cordage tsit5 5e-5", "cordage, Tsit5 1e-6": "cordage tsit5 1e-6",
           "diffrax, Tsit5 1e-6, jit": "diffrax Tsit5 1e-6, jit", "torchdiffeq, dopri5 1e-6": "torchdiffeq dopri5 1e-6",
           "cordage, 3/8 rule, step 0.01": "cordage rk4_38 step 0.01",
           "torchdiffeq, 3/8 rule, step 0.01": "torchdiffeq rk4 (3/8 rule) step 0.01"}
POWERS = [f"{far:.0e}".replace("e+0", "e") for far in precision.FAR]
PACKAGES = {"torch": "torch", "transformers": "transformers", "ONNX Runtime": "onnxruntime", "torchdiffeq": "torchdiffeq",
            "jax": "jax", "diffrax": "diffrax"}


def digits(value):
    """Two or three significant digits."""
    return f"{float(f'{value:.3g}'):.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"


def error(value):
    return f"{value:.1e}".replace("e-0", "e-")


def table(columns, rows):
    return {"columns": columns, "align": "l" + "r" * (len(columns) - 1), "rows": rows}


def words(shape):
    return shape.replace("x", "×")


def rotation(results):
    def row(label, name_of):
        cells = []
        for by_dtype in results.values():
            times = [(name_of(result["times"]), result["times"]) for result in by_dtype.values()]
            cells.append(" / ".join(digits(ratio(of, name, CORDAGE)[0]) if name in of else "–" for name, of in times))
        return [label, *cells]

    return table(["", *map(words, results)], [
        *(row(label, lambda times, name=name: name) for label, name in ROTATIONS.items()),
        row("in-place pass, unrolled", tight), row("memcpy", lambda times: MEMCPY)])


def cache_path(results):
    def row(label, digits_of):
        return [label, *(" / ".join(digits_of(result["times"]) for result in by_kind.values()) for by_kind in results.values())]

    kinds = " / ".join(next(iter(results.values())))
    return table([kinds, *map(words, results)], [
        row("cordage, µs", lambda times: digits(statistics.median(times["cordage"]) * 1e6)),
        *(row(label, lambda times, name=name: digits(ratio(times, name, "cordage")[0])) for label, name in CACHE_PATHS.items())])


def angle_table(result):
    return table(["", "times a plain fill", "largest error"], [
        [label, digits(ratio(result["times"], name, "fill")[0]), error(result["errors"][name])]
        for label, name in ANGLE_TABLES.items()])


def angle_errors(results):
    def row(label, ours):
        of = [errors for name, errors in results.items() if name.startswith("cordage") == ours]
        return [label, *(error(max(column)) for column in zip(*of))]

    return table(["largest error of cos and sin over the 1000 positions below", *POWERS], [
        row("cordage", True), row("transformers, torch's complex product, ONNX Runtime with transformers' table", False)])


def ode(result):
    def row(label, name):
        ways = [f"{name}, {way}" for way in ("forward", "with gradient")]
        return [label, *(digits(statistics.median(result["times"][way]) * 1e3) for way in ways), *map(error, result["errors"][ways[1]])]

    return table(["", "forward, ms", "with gradient, ms", "error of z", "of the gradient"],
                 [row(label, name) for label, name in SOLVERS.items()])


def record(results, machine):
    gcc = output_of("g++", "-dumpfullversion").rsplit(".", 1)[0]
    return {"machine": machine, "date": datetime.date.today().isoformat(),
            "code": "cordage at " + output_of("git", "describe", "--always", "--dirty"), "how": "./run bench --peers --record",
            "versions": {"compiler": f"GCC {gcc}, -O3 -march=native", "xsimd": output_of("pkg-config", "--modversion", "xsimd"),
                         **{label: importlib.metadata.version(name) for label, name in PACKAGES.items()}},
            "tables": {"rotation": rotation(results["rotation"]), "cache_path": cache_path(results["cache"]),
                       "angle_table": angle_table(results["tables"]), "angle_errors": angle_errors(results["precision"]),
                       "ode": ode(results["clex"])}}


if __name__ == "__main__":
    times, to, machine_in_words = sys.argv[1:]
    text = json.dumps(record(json.loads(pathlib.Path(times).read_text()), machine_in_words), indent=1, ensure_ascii=False)
    pathlib.Path(to).write_text(text + "\n")
