#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""write_performance.py PAGE RECORD.json [BENCH.json MACHINE]: puts what cordage_bench measured on a machine into the tables of
docs/performance.md. BENCH.json is Google Benchmark's output, which becomes the record first; MACHINE says in words where it ran.

The page marks each table, "<!-- table NAME of RECORD -->" to "<!-- end of table -->"; what stands between is written anew. A table
that the record has no line for is an error, and so is a line that the table needs and the record lacks."""
import json
import re
import sys
from pathlib import Path

TYPES = ["fp32", "fp16", "bf16"]
PAIRINGS = ["half_split", "interleaved"]
SHAPES = {"32×32": "tokens:32/heads:32", "128×8": "tokens:128/heads:8", "512×32": "tokens:512/heads:32",
          "4096×32": "tokens:4096/heads:32", "32768×32": "tokens:32768/heads:32"}
DECODE = "tokens:1/heads:32+8"


class Record:
    def __init__(self, lines):
        self.lines = lines

    def cell(self, name, *counters):
        line = self.lines.get(name)
        if line is None:
            raise SystemExit(f"write_performance.py: the record has no line {name!r}; run ./run bench --record with no filter")
        return " / ".join(f"{line[counter]:.2f}" for counter in counters)


def table(columns, rows):
    head = "| | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns) + "\n"
    return head + "".join(f"| {name} | " + " | ".join(cells) + " |\n" for name, cells in rows)


def rotations(direction, sources, shapes, *counters):
    """A row for each type, pairing and source of angles, a column for each shape."""
    def of(record):
        return table(list(shapes), [
            (f"{dtype}, {pairing}, {source}",
             [record.cell(f"rotate/{direction}/simd/{dtype}/{pairing}/ntk_aware/{source}/{shape}/head_dim:128", *counters)
              for shape in shapes.values()])
            for dtype in TYPES for pairing in PAIRINGS for source in sources])
    return of


def decode(record):
    def cells(dtype, pairing, source):
        for offset in ["", "/offset:16"]:
            name = f"rotate/forward/simd/{dtype}/{pairing}/ntk_aware/{source}/{DECODE}/head_dim:128{offset}"
            line = record.lines.get(name, {})
            yield f"{line['microseconds']:.2f}" if line else record.cell(name)
            yield f"{1 / line['of_tight_bound']:.2f}"
    return table(["µs, aligned", "times the tight pass", "µs, offset 16", "times the tight pass"],
                 [(f"{dtype}, {pairing}, {source}", list(cells(dtype, pairing, source)))
                  for dtype in TYPES for pairing in PAIRINGS for source in ["table", "exact"]])


def in_cache(record):
    shapes = {"1 token, 32+8 heads": DECODE} | {shape: SHAPES[shape] for shape in ["128×8", "512×32"]}
    return table(list(shapes), [
        (f"{dtype}, {pairing}",
         [record.cell(f"rotate/in_cache/simd/{dtype}/{pairing}/ntk_aware/table/{shape}/head_dim:128", "times_probe", "exact_of_table")
          for shape in shapes.values()])
        for dtype in TYPES for pairing in PAIRINGS])


def two_threads(record):
    shapes = {"1 token, 32+8 heads": DECODE} | {shape: SHAPES[shape] for shape in ["32×32", "512×32", "4096×32"]}
    return table(list(shapes), [
        (f"{direction}, {dtype}",
         [record.cell(f"rotate/{direction}/simd/{dtype}/half_split/ntk_aware/exact/{shape}/head_dim:128/threads:2", "of_one_thread",
                      "of_one_thread_asleep")
          for shape in shapes.values()])
        for direction in ["forward", "backward"] for dtype in ["fp32", "bf16"]])


def cache_path(record):
    kinds = {"fp32": "fp32_to_fp32/half_split", "fp32 → bf16": "fp32_to_bf16/half_split", "bf16": "bf16_to_bf16/half_split",
             "bf16, interleaved": "bf16_to_bf16/interleaved", "bf16 → fp8": "bf16_to_fp8/half_split",
             "bf16 → int8": "bf16_to_int8/half_split", "bf16 → q8_0": "bf16_to_q8_0/half_split"}
    def name(kind, tokens):
        return f"rotate/cache_path/simd/{kind}/tokens:{tokens}/heads:32+8+8/head_dim:128"
    return table(["1 token, times the rotation / three calls", "128, of the bound / three calls", "512", "4096"], [
        (row, [record.cell(name(kind, 1), "of_rotation", "of_three_calls")]
         + [record.cell(name(kind, tokens), "of_tight_bound", "of_three_calls") for tokens in [128, 512, 4096]])
        for row, kind in kinds.items()])


def norm_backward(record):
    kinds = ["fp32/half_split", "fp32/interleaved", "fp16/half_split", "bf16/half_split", "bf16/interleaved"]
    return table(["1 token", "128", "512", "4096"], [
        (kind.replace("/", ", "),
         [record.cell(f"rotate/norm_backward/simd/{kind}/tokens:{tokens}/heads:32+8/head_dim:128", "of_rotation", "of_two_calls")
          for tokens in [1, 128, 512, 4096]])
        for kind in kinds])


def moves(record):
    places = {"where they lie": "in_place", "in scattered slots": "scattered", "down within one cache": "down"}
    def cell(dtype, place, tokens):
        counter = "of_fp32" if dtype == "q8_0" else "of_tight_bound"
        return " / ".join(record.cell(f"rotate/move/simd/{dtype}/half_split/{how}/{place}/tokens:{tokens}/heads:8/head_dim:128", counter)
                          for how in ["one_delta", "deltas"])
    return table(["512 tokens", "4096", "16384"], [
        (f"{dtype}, {words}", [cell(dtype, place, tokens) for tokens in [512, 4096, 16384]])
        for dtype in ["fp32", "bf16", "q8_0"] for words, place in places.items()])


TABLES = {
    "in_place": rotations("forward", ["exact", "table"], SHAPES, "of_bound", "of_tight_bound"),
    "out_of_place": rotations("forward_to", ["exact"], SHAPES, "of_memcpy"),
    "backward": rotations("backward", ["exact"], SHAPES, "of_bound", "of_tight_bound"),
    "decode": decode,
    "in_cache": in_cache,
    "two_threads": two_threads,
    "cache_path": cache_path,
    "norm_backward": norm_backward,
    "moves": moves,
}


def recorded(bench, machine):
    """The counters of Google Benchmark's output by name, with what the figures need of the machine."""
    context = bench["context"]
    kept = {"real_time", "label"}
    lines = {}
    for line in bench["benchmarks"]:
        name = re.sub(r"/iterations:1/manual_time$", "", line["name"])
        counters = {key: float(f"{value:.4g}") for key, value in line.items()
                    if isinstance(value, float) and key not in kept | {"cpu_time"}}
        unit = {"ns": 1e-3, "us": 1.0, "ms": 1e3}[line["time_unit"]]
        lines[name] = {"microseconds": float(f"{line['real_time'] * unit:.4g}"), "lies_in": line.get("label", "")} | counters
    caches = [f"L{c['level']} {c['type']} {c['size'] // 1024} KB" for c in context["caches"]]
    return {"machine": machine, "date": context["date"][:10], "processors": context["num_cpus"], "caches": caches, "lines": lines}


def main():
    page, record_path = Path(sys.argv[1]), Path(sys.argv[2])
    if len(sys.argv) == 5:
        record = recorded(json.loads(Path(sys.argv[3]).read_text()), sys.argv[4])
        record_path.write_text(json.dumps(record, indent=0, ensure_ascii=False) + "\n")
    elif len(sys.argv) != 3:
        raise SystemExit(__doc__)
    measured = Record(json.loads(record_path.read_text())["lines"])
    text = page.read_text()
    pattern = rf"(<!-- table (\w+) of {re.escape(record_path.stem)} -->\n).*?(<!-- end of table -->)"
    text, count = re.subn(pattern, lambda m: m[1] + "\n" + TABLES[m[2]](measured) + "\n" + m[3], text, flags=re.DOTALL)
    if count == 0:
        raise SystemExit(f"write_performance.py: {page} has no table of {record_path.stem}; mark one, <!-- table NAME of "
                         f"{record_path.stem} -->, with one of {', '.join(TABLES)}")
    page.write_text(text)


main()
