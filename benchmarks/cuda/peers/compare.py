#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times cordage beside the rotations of PyPI packages on a device, and writes JSON. Prompts from memory that no cache
holds, decode steps from the cache; each as a CUDA graph. Cases that the output file has already are kept as they are."""
import argparse
import functools
import importlib.metadata
import json
import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "peers"))  # case.py

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--libraries", type=pathlib.Path, required=True, help="folder of lib*_gpu_peer.so")
parser.add_argument("--site", type=pathlib.Path, required=True, help="folder of the packages' own Python files")
parser.add_argument("--rounds", type=int, default=21)
parser.add_argument("--dtypes", default="bf16,fp32,fp16")
parser.add_argument("--output", type=pathlib.Path, required=True)

LARGEST_ERROR = {"fp32": 2e-3, "fp16": 3e-2, "bf16": 2e-1}  # of a rotation that is right, if not precise
STYLES = ("half_split", "interleaved")
PACKAGES = ("torch", "triton", "transformers", "vllm", "flashinfer-python")  # the last two where they are there


def library_makers(folder):
    """(name, style, prepare) of each library; prepare raises the reason of a library that cannot be loaded."""
    import gpu_libraries

    def refuse(reason, _):
        raise reason

    for package in ("cordage", "flashinfer", "sglang"):
        path = folder / f"lib{package}_gpu_peer.so"
        try:
            if not path.exists():
                raise FileNotFoundError(f"{path.name} was not built: see run.sh build")
            for peer in gpu_libraries.peers_of(path):
                yield peer.name.decode(), peer.style, functools.partial(gpu_libraries.LibraryRotation, peer)
        except OSError as reason:
            yield package, 0, functools.partial(refuse, reason)


def versions(site):
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    listed = site / "versions.json"
    return found | (json.loads(listed.read_text()) if listed.exists() else {})


def main(settings):
    import torch

    if not torch.cuda.is_available():
        sys.exit("compare.py: torch finds no CUDA device")
    import fused_calls
    import gpu_case
    import gpu_rotations
    from gpu_timing import TimedGraph, compare_on, compare_once

    makers = [("copy", None, gpu_rotations.copy)]
    makers += [(f"{name}, {STYLES[style]}", style, prepare)
               for name, style, prepare in (*library_makers(settings.libraries), *gpu_rotations.peers(settings.site))]
    results = {"device": torch.cuda.get_device_name(), "rounds": settings.rounds, "packages": versions(settings.site),
               "cases": {}}
    if settings.output.exists():
        results = json.loads(settings.output.read_text())

    def save():  # what is measured stays if time runs out
        part = settings.output.with_suffix(".part")
        part.write_text(json.dumps(results))
        part.replace(settings.output)

    def compare(name, dtype, make_case, of_makers, largest_error):
        def compared():
            print(f"peers: {name} {dtype}", flush=True)
            return compare_on(make_case(), of_makers, TimedGraph, largest_error, settings.rounds)

        compare_once(results["cases"], name, dtype, compared, save)
        torch.cuda.empty_cache()

    for dtype in settings.dtypes.split(","):
        for tokens, _, decodes in gpu_case.sizes([dtype]):
            compare(gpu_case.case_name(tokens, decodes), dtype,
                    functools.partial(gpu_case.GpuCase, tokens, dtype, decodes), makers, LARGEST_ERROR[dtype])
        for kind in fused_calls.KINDS if dtype == "bf16" else ():
            of_kind = [("copy", None, kind.copy)]
            of_kind += [(f"{name}, {STYLES[style]}", style, prepare)
                        for name, style, prepare in kind.makers(settings.libraries)]
            for tokens, _, decodes in gpu_case.sizes(["bf16"]):
                compare(f"{kind.name} {gpu_case.case_name(tokens, decodes)}", "bf16",
                        functools.partial(fused_calls.FusedCase, tokens, "bf16", decodes, kind=kind), of_kind,
                        kind.largest_error)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("compare.py: out of time"))
    main(parser.parse_args())
