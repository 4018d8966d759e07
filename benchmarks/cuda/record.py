#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps what a device measured (the JSON files of a folder, as run.sh's phases write them) in one file of docs/performance,
from which report.py writes the page. Times become medians over the rounds, in microseconds. Needs no package."""
import argparse
import json
import pathlib
import re
import statistics
import sys


def rounded(value):
    """A number with four digits."""
    return float(f"{value:.4g}")


def row_of_bench(row):
    kept = {"name": row["name"], "microseconds": rounded(row["seconds"] * 1e6)}
    if "over_empty_seconds" in row:
        kept["over_empty_microseconds"] = rounded(row["over_empty_seconds"] * 1e6)
    if "share_of_copy" in row:
        kept["share_of_copy"] = rounded(row["share_of_copy"])
    return kept


def case_of_peers(result):
    return {"microseconds": {name: rounded(statistics.median(times) * 1e6) for name, times in result["times"].items()},
            "errors": {name: rounded(error) for name, error in result["errors"].items()}, "left_out": result["left_out"]}


def record_of(results):
    """The record of {"bench": ..., "precision": ..., "precision_fast_math": ..., "peers": ..., "tests": ..., "machine": ...,
    "torch": ...},
    of which any may be missing."""
    record = {name: results[name] for name in ("machine", "tests", "torch") if name in results}
    if "bench" in results:
        record["bench"] = results["bench"] | {"rows": [row_of_bench(row) for row in results["bench"]["rows"]]}
    for name in ("precision", "precision_fast_math"):
        if name in results:
            record[name] = {"rows": [row | {"largest_error": rounded(row["largest_error"])} for row in results[name]["rows"]]}
    if "peers" in results:
        record["peers"] = results["peers"] | {
            "cases": {case: {dtype: case_of_peers(result) for dtype, result in by_dtype.items()}
                      for case, by_dtype in results["peers"]["cases"].items()}}
    return record


def name_of(record):
    """gpu_ and the words of the device's name but for its maker's, as in gpu_h200."""
    device = next((record[part]["device"] for part in ("bench", "peers") if part in record), "unknown device")
    return "gpu_" + "_".join(word for word in re.findall(r"[a-z0-9]+", device.lower()) if word != "nvidia")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=pathlib.Path, required=True, help="folder of bench.json, peers.json, ...")
    parser.add_argument("--records", type=pathlib.Path, required=True, help="docs/performance; the file's path is printed")
    settings = parser.parse_args()
    results = {path.stem: json.loads(path.read_text()) for path in sorted(settings.results.glob("*.json"))}
    record = record_of(results)
    if not record:
        sys.exit(f"record.py: {settings.results} has no results: run run.sh tests, bench and peers first")
    path = settings.records / f"{name_of(record)}.json"
    path.write_text(json.dumps(record, indent=0, ensure_ascii=False) + "\n")
    print(path)


if __name__ == "__main__":
    main()
