#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times cordage beside the rotations of PyPI packages and writes a Markdown report. One process, one thread count."""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--cordage", required=True, help="libcordage_peer.so")
parser.add_argument("--limits", required=True, help="libmemory_limits.so")
parser.add_argument("--library", action="append", default=[], help="another library that exports rope_peers()")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=15)
parser.add_argument("--milliseconds", type=float, default=12, help="the shortest time that is measured")
parser.add_argument("--shapes", default="", help="only these, as in decode,512x32")
parser.add_argument("--parts", default="rotation,cache,tables,precision,clex", help="which parts of the report")
parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("build/peers"))
settings = parser.parse_args()
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(settings.threads)  # before torch and numpy are imported
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(settings.output.resolve() / "inductor")  # what others cached is theirs

import libraries  # noqa: E402
import report  # noqa: E402
import rotations  # noqa: E402
import torch  # noqa: E402
import torch._inductor.config  # noqa: E402
from case import MEMORY_LIMIT, shapes  # noqa: E402
from rounds import interleaved  # noqa: E402

LARGEST_ERROR = {"fp32": 2e-3, "fp16": 3e-2, "bf16": 2e-1}  # of a rotation that is right, if not precise


def let_torch_compile_find_its_libraries():
    """torch.compile links with the system's folder first. Where a libtorch of Debian's lies there too, that one is
    linked, its check of vectors fails, and it falls back to scalar code: a g++ that looks here first mends it."""
    compiler = settings.output.resolve() / "g++"
    folder = pathlib.Path(torch.__file__).parent / "lib"
    compiler.write_text(f'#!/bin/sh\nexec g++ "-L{folder}" "$@"\n')
    compiler.chmod(0o755)
    torch._inductor.config.cpp.cxx = (None, str(compiler))


def library_makers():
    """Functions from a case to an entry. cordage's first entry comes twice: looped in C, and called from Python for each run."""
    cordage = libraries.peers_of(settings.cordage)
    for path in (settings.limits, *settings.library):
        yield from (functools.partial(libraries.LibraryEntry, peer) for peer in libraries.peers_of(path))
    yield from (functools.partial(libraries.LibraryEntry, peer) for peer in cordage)
    yield functools.partial(libraries.LibraryEntry, cordage[0], loops_in_python=True)


def compare_on(case, makers):
    """{"times": {name: [seconds]}, "errors": {name: largest}} of the implementations that support the case."""
    with contextlib.ExitStack() as stack:
        entries, errors = [], {}
        for make in makers:
            try:
                entries.append(stack.enter_context(make(case)))
            except NotImplementedError as refusal:
                print(f"{case.name}/{case.dtype}: left out: {refusal}")
        for entry in (entry for entry in entries if entry.style != MEMORY_LIMIT):
            errors[entry.name] = error = case.error(entry.style, *entry.result())
            if not error < LARGEST_ERROR[case.dtype]:
                sys.exit(f"{case.name}/{case.dtype}: {entry.name} rotates wrongly: error {error}")
        return {"times": interleaved(entries, settings.rounds, settings.milliseconds / 1e3), "errors": errors}


def compare_rotations():
    makers = [*library_makers(), *rotations.makers()]
    results = {}
    for case in shapes(settings.threads):
        if not settings.shapes or case.name in settings.shapes.split(","):
            print(f"rotation: {case.name}/{case.dtype}", flush=True)
            results.setdefault(case.name, {})[case.dtype] = compare_on(case, makers)
    return results


def compare_cache_paths():
    import cache_path

    results = {}
    for case in shapes(settings.threads):
        if settings.shapes and case.name not in settings.shapes.split(","):
            continue
        for stored in (stored for dtype, stored in cache_path.KINDS if dtype == case.dtype):
            print(f"cache path: {case.name}/{case.dtype} to {stored}", flush=True)
            results.setdefault(case.name, {})[f"{case.dtype} → {stored}"] = cache_path.compare(
                settings.cordage, case, stored, settings.rounds, settings.milliseconds / 1e3)
    return results


def compare_tables():
    import tables

    print("tables", flush=True)
    entries = tables.entries(settings.cordage, settings.threads)
    return {"errors": {entry.name: tables.error(entry) for entry in entries},
            "times": interleaved(entries, settings.rounds, settings.milliseconds / 1e3)}


def compare_precision():
    import precision

    print("precision", flush=True)
    cordage = [functools.partial(libraries.LibraryEntry, peer) for peer in libraries.peers_of(settings.cordage)]
    return precision.errors([*cordage, *rotations.makers()])


def compare_clex():
    import clex

    print("clex", flush=True)
    return clex.compare(settings.cordage, settings.rounds, settings.milliseconds / 1e3)


if __name__ == "__main__":
    settings.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(settings.threads)
    let_torch_compile_find_its_libraries()
    before = os.getloadavg()[0]
    parts = {"rotation": compare_rotations, "cache": compare_cache_paths, "tables": compare_tables,
             "precision": compare_precision, "clex": compare_clex}
    results = {name: parts[name]() for name in settings.parts.split(",")}
    (settings.output / "times.json").write_text(json.dumps(results))
    text = report.report(results, report.machine(settings, before))
    (settings.output / "report.md").write_text(text)
    print(text)
