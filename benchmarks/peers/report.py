# SPDX-License-Identifier: MIT
"""The report as Markdown."""
import importlib.metadata
import os
import pathlib
import platform
import statistics
import subprocess

import torch
from rounds import ratio, spread
from torch._inductor.cpu_vec_isa import pick_vec_isa

PACKAGES = ("torch", "transformers", "onnxruntime", "numpy", "torchdiffeq", "jax", "diffrax")
MEMCPY, NAIVE, CORDAGE = "limit_memcpy", "limit_rmw_inplace", "cordage_exact_inplace_half_split"
UNROLLED = [f"{NAIVE}_unrolled{ahead}" for ahead in ("", "_2k", "_4k")]


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine(settings, load_before):
    """The machine, the versions and the settings, as lines."""
    cpu = dict(line.split(":", 1) for line in output_of("lscpu").splitlines() if ":" in line)
    wanted = ("Model name", "CPU(s)", "L1d cache", "L2 cache", "L3 cache")
    known = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16")
    vectors = [flag for flag in known if flag in cpu.get("Flags", "").split()]
    here = pathlib.Path(__file__).parent
    return [
        "; ".join(f"{name} {cpu[name].strip()}" for name in wanted if name in cpu) + "; " + ", ".join(vectors),
        f"{platform.system()} {platform.release()}; Python {platform.python_version()}; "
        + output_of("g++", "--version").splitlines()[0] + "; cordage "
        + output_of("git", "-C", str(here), "describe", "--always", "--dirty"),
        ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
        + f"; torch's own vectors: {torch.backends.cpu.get_cpu_capability()}, torch.compile's: {pick_vec_isa()}",
        f"{settings.threads} thread(s), {settings.rounds} rounds of at least {settings.milliseconds:g} ms an entry in "
        f"random order; load average {load_before:.1f} before, {os.getloadavg()[0]:.1f} after",
    ]


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" + "|---:" * (len(head) - 1) + "|", *lines[1:]]) + "\n"


def microseconds(times, name):
    return f"{statistics.median(times[name]) * 1e6:.4g}"


def with_spread(value, share):
    return f"{value:.3g} ±{100 * share:.0f} %"


def names_in(results):
    """The names of all entries, memory limits first, in the order of their registration."""
    names = dict.fromkeys(name for result in results.values() for name in result["times"])
    return sorted(names, key=lambda name: not name.startswith("limit"))


def tight(times):
    return min(UNROLLED, key=lambda name: statistics.median(times[name]))


def summary(rotation, to):
    """One table of all shapes and dtypes: time over that of `to`."""
    dtypes = list(dict.fromkeys(dtype for results in rotation.values() for dtype in results))
    everything = {(shape, dtype): rotation[shape][dtype] for shape in rotation for dtype in dtypes}

    def cell(name, times):
        return f"{ratio(times, name, to)[0]:.3g}" if name in times else "–"

    rows = [[name, *(" / ".join(cell(name, rotation[shape][dtype]["times"]) for dtype in dtypes) for shape in rotation)]
            for name in names_in(everything)]
    return table([f"time / {to}", *(f"{shape} {' / '.join(dtypes)}" for shape in rotation)], rows)


def shape_table(results):
    """Time, its ratio to cordage's without a table, and the error, of every entry and dtype."""
    rows = []
    for name in names_in(results):
        cells = []
        for result in results.values():
            times = result["times"]
            if name not in times:
                cells += ["–"] * 3
                continue
            error = result["errors"].get(name)
            cells += [microseconds(times, name),
                      with_spread(*ratio(times, name, CORDAGE)),
                      "" if error is None else f"{error:.1e}"]
        rows.append([name, *cells])
    return table(["", *(f"{dtype} {what}" for dtype in results for what in ("µs", "/ cordage exact", "error"))], rows)


def bounds_table(rotation):
    """The share of the in-place bounds that cordage reaches."""
    rows = []
    for shape, results in rotation.items():
        for name in (name for name in names_in(results) if name.startswith("cordage") and "ctypes" not in name):
            shares = [with_spread(*ratio(result["times"], bound, name)) for result in results.values()
                      for bound in (NAIVE, tight(result["times"]))]
            rows.append([f"{shape} {name.removeprefix('cordage_')}", *shares])
    bounds = [f"{dtype} of {bound}" for dtype in next(iter(rotation.values())) for bound in ("naive", "tight")]
    return table(["", *bounds], rows)


def cache_section(results):
    """A row for each shape and kind: cordage's time, the others' over it, the errors of q and of the cache."""
    names = names_in({kind: result for by_kind in results.values() for kind, result in by_kind.items()})
    rows = []
    for shape, by_kind in results.items():
        for kind, result in by_kind.items():
            times, errors = result["times"], result["errors"]
            others = [with_spread(*ratio(times, name, "cordage")) for name in names[1:]]
            rows.append([f"{shape} {kind}", microseconds(times, "cordage"), *others,
                         *(" and ".join(f"{error:.1e}" for error in errors[name]) for name in ("cordage", names[-1]))])
    return table(["", "cordage, µs", *(f"{name} / cordage" for name in names[1:]),
                  *(f"errors of {name}" for name in ("cordage", names[-1]))], rows)


def tables_section(result):
    times = result["times"]
    rows = [[name, f"{statistics.median(times[name]) * 1e3:.3g}", with_spread(*ratio(times, name, "fill")),
             "" if result["errors"][name] is None else f"{result['errors'][name]:.1e}"] for name in times]
    return table(["32768 × 64", "ms", "/ fill", "error"], rows)


def precision_section(errors):
    import precision

    rows = [[name, *(f"{error:.1e}" for error in row)] for name, row in errors.items()]
    return table(["error of cos and sin", *(f"below {far:.0e}" for far in precision.FAR)], rows)


def clex_section(result):
    rows = [[name, f"{statistics.median(times) * 1e3:.3g} ±{100 * spread(times):.0f} %",
             " and ".join(f"{error:.1e}" for error in result["errors"][name])]
            for name, times in result["times"].items()]
    return table(["CLEX, released field, t = 1 … 16", "ms", "error of z; of the gradient, by its largest entry"], rows)


def report(results, machine_lines):
    parts = ["# cordage beside its peers\n", "\n".join(f"- {line}" for line in machine_lines) + "\n"]
    if "rotation" in results:
        rotation = results["rotation"]
        parts += ["## Rotation\n",
                  "Shapes are tokens × heads of q and k together, of 128 lanes. Medians; ± is half the distance of the "
                  "quartiles. `cordage…` and `limit…` loop in C, `…_by_ctypes` and the packages in Python. Error: the "
                  "largest distance from float64. cordage works in place, the packages make new tensors; transformers' "
                  "rotations and ONNX Runtime's read cos and sin from tables, of the dtype of q. Limits are of one "
                  "thread.\n", summary(rotation, MEMCPY), summary(rotation, CORDAGE)]
        for shape, by_dtype in rotation.items():
            parts += [f"### {shape}\n", shape_table(by_dtype)]
        parts += ["### Of the in-place bounds\n",
                  "Naive: one vector at a time; tight: the best of 8 vectors at a time with 0, 2, 4 KB of prefetch.\n",
                  bounds_table(rotation)]
    if "cache" in results:
        parts += ["## From the projection to the cache\n",
                  "RMSNorm of q and k, the rotation, k and v into the slots of a cache, rounded or with a scale for each token "
                  "and head. `cordage` is one call, looped in C; torch's cos and sin are in the dtype of q, made before the "
                  "clock started. All make a new q. Errors: the largest distances from float64, of q and of what is stored.\n",
                  cache_section(results["cache"])]
    if "tables" in results:
        parts += ["## Tables of cos and sin\n", tables_section(results["tables"])]
    if "precision" in results:
        parts += ["## Angles at far positions\n", "fp32 rotation at the 1000 positions below.\n",
                  precision_section(results["precision"])]
    if "clex" in results:
        parts += ["## The ODE\n",
                  "cordage's network in float32 and its states in double, the others in float32. Errors: the largest distance from float64.\n",
                  clex_section(results["clex"])]
    return "\n".join(parts)
