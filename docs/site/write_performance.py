#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of pages from the records in docs/performance.

    write_performance.py PAGE ...                                    # all marked tables of these pages
    write_performance.py PAGE ... --bench RECORD BENCH.json MACHINE  # after writing docs/performance/RECORD.json

BENCH.json is Google Benchmark's output of cordage_bench, MACHINE says in words where it ran.

A page marks each table, "<!-- table NAME of RECORD -->" to "<!-- end of table -->"; what stands between is written anew, and
check_links.py finds a page whose tables are not those of the records. A record has either the benchmark's "lines", from which
TABLES below makes its tables, or the "tables" themselves, {NAME: {"columns": [...], "align": "lrr...", "rows": [[...], ...]}}, for
what was measured by other means; "machine", "date" and "how" say by which."""
import argparse
import json
import re
import subprocess
from pathlib import Path

RECORDS = Path("docs/performance")
MARKED = re.compile(r"(<!-- table (\w+) of (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
TYPES = ["fp32", "fp16", "bf16"]
PAIRINGS = ["half_split", "interleaved"]
SHAPES = {"32×32": "tokens:32/heads:32", "128×8": "tokens:128/heads:8", "512×32": "tokens:512/heads:32",
          "4096×32": "tokens:4096/heads:32", "32768×32": "tokens:32768/heads:32"}
DECODE = "tokens:1/heads:32+8"


class Record:
    def __init__(self, lines):
        self.lines = lines

    def cell(self, name, *counters):
        if name not in self.lines:
            raise LookupError(f"the record has no line {name!r}; run ./run bench --record with no filter")
        line = self.lines[name]
        return " / ".join(f"{line[counter]:.2f}" for counter in counters)


def lines_of(columns, align, rows):
    """A table in Markdown; align has one of l and r for each column."""
    rule = "|" + "".join({"l": "---|", "r": "---:|"}[side] for side in align)
    return "".join(f"{line}\n" for line in [row_of(columns), rule, *map(row_of, rows)])


def row_of(cells):
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def table(columns, rows):
    return lines_of(["", *columns], "l" + "r" * len(columns), [[name, *cells] for name, cells in rows])


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
    places = {"in place": "in_place", "in scattered slots": "scattered", "to lower slots of one cache": "down"}
    def cell(dtype, place, tokens):
        counter = "of_fp32" if dtype == "q8_0" else "of_tight_bound"
        return " / ".join(record.cell(f"rotate/move/simd/{dtype}/half_split/{how}/{place}/tokens:{tokens}/heads:8/head_dim:128", counter)
                          for how in ["one_delta", "deltas"])
    return table(["512 tokens", "4096", "16384"], [
        (f"{dtype}, {words}", [cell(dtype, place, tokens) for tokens in [512, 4096, 16384]])
        for dtype in ["fp32", "bf16", "q8_0"] for words, place in places.items()])


def ratio(line, name):
    """The time of `name` divided by that of cordage without a table."""
    if name not in line:
        return "–"
    value = line[name] / line["cordage, no table"]
    return f"{value:.{2 if value < 0.995 else 1 if value < 9.95 else 0}f}"


def of_engines(record):
    shapes = ["decode", "128×8", "512×32", "4096×32"]
    def cell(name, pairing, shape):
        return " / ".join(ratio(record.lines.get(f"rotation/{dtype}/{pairing}/{shape}", {}), name) for dtype in TYPES)
    return table(shapes, [(f"{name}, {pairing}", [cell(name, pairing, shape) for shape in shapes])
                          for name in ["vLLM", "SGLang", "cordage, table"] for pairing in PAIRINGS]
                 + [("in-place pass", [cell("in-place pass", PAIRINGS[0], shape) for shape in shapes])])


def norms_of_engines(record):
    return table(["vLLM", "SGLang"], [(line, [ratio(record.lines[line.replace(", bf16, ", "/bf16/")], name) for name in ["vLLM", "SGLang"]])
                                      for what in ["norm and rotation", "norm, rotation and store"]
                                      for line in [f"{what}, bf16, 1 token", f"{what}, bf16, 512 tokens"]])


TABLES = {
    "of_engines": of_engines,
    "norms_of_engines": norms_of_engines,
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


def origin_of(record, name):
    """The line below a table, or an empty text."""
    if "code" not in record:
        return ""
    machines = record.get("machines", {})
    where_and_when = machines.get(name) or machines.get("others") or f"{record['machine']}, {record['date']}"
    return f"\n*{where_and_when}; {record['code']}.*\n"


def table_of(name, record_name):
    """The text of a table. Raises LookupError or OSError, saying what is missing."""
    record = json.loads((RECORDS / f"{record_name}.json").read_text(encoding="utf-8"))
    if "tables" in record:
        given = record["tables"][name]
        lines = lines_of(given["columns"], given["align"], given["rows"])
    else:
        lines = TABLES[name](Record(record["lines"]))
    return lines + origin_of(record, name)


def with_tables(page):
    """The page's text with every marked table written anew."""
    return MARKED.sub(lambda match: f"{match[1]}\n{table_of(match[2], match[3])}\n{match[4]}", page)


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
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    code = f"cordage at {commit or 'no commit, an archive'}"
    return {"machine": machine, "date": context["date"][:10], "code": code, "processors": context["num_cpus"], "caches": caches, "lines": lines}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pages", nargs="+", type=Path)
    arguments.add_argument("--bench", nargs=3, metavar=("RECORD", "BENCH.json", "MACHINE"))
    given = arguments.parse_args()
    if given.bench:
        name, lines, machine = given.bench
        record = recorded(json.loads(Path(lines).read_text()), machine)
        (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=0, ensure_ascii=False) + "\n")
    for page in given.pages:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
