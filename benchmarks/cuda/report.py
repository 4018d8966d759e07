#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the measurements of a device (a record of docs/performance, which record.py makes) between two marks of a Markdown page.
Needs no package."""
import argparse
import collections
import json
import pathlib
import re

BEGIN, END = "<!-- measured, from {}: begin -->", "<!-- measured: end -->"
CORDAGE = "cordage exact, "
LARGEST_ERROR = 2e-7
# Of an H100 or H200: what, directions, tokens, and the least share of the speed of a copy, or the most microseconds.
SHARES = [
    ("forward, bf16 and fp32", ("forward", "forward_to"), {16384: 0.96, 4096: 0.94}),
    ("norm, rotation and store in one call", ("cache",), {16384: 0.85}),
    ("backward with dL/dinv_freq", ("backward",), {16384: 0.93, 4096: 0.85}),
    ("the same behind a norm, with weights", ("backward_normalized",), {16384: 0.88}),
    ("keys rotated or moved in blocks", ("rebase_paged", "move_paged"), {65536: 0.92}),
]
TIMES = [
    ("forward", "forward", {512: 4.8}),
    ("a decode step", "forward", {1: 1.2, 64: 1.6, 256: 2.4}),
    ("backward with dL/dinv_freq", "backward", {512: 10}),
]
FUSED_SHARES = [("norm and rotation in place", {"norm, prefill 16384": 0.90}),
                ("rotation and v to fp8 in slots", {"to fp8, prefill 16384": 0.94})]  # 76 us on an H200, less than an H100's memory allows
FUSED_TIMES = [("norm and rotation in place", {"norm, decode 1": 1.8}),
               ("rotation and v to fp8 in slots", {"to fp8, prefill 16384": 76, "to fp8, decode 256": 2.7, "to fp8, decode 1": 1.7})]


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" + "|---:" * (len(head) - 1) + "|", *lines[1:]]) + "\n"


def parsed(name):
    """The parts of a benchmark's name: rotate/forward/cuda/bf16/half_split/exact[/graph_node]/tokens:1/..."""
    _, direction, _, dtype, pairing, angles, *rest = name.split("/")
    sizes = dict(part.split(":") for part in rest if ":" in part)
    return collections.namedtuple("Row", "direction dtype pairing angles is_node tokens")(
        direction, dtype, pairing, angles, "graph_node" in rest, int(sizes["tokens"]))


def grid(rows, row_of, cell_of, head):
    """A table with a column for each dtype and pairing."""
    cells, columns = {}, {}
    for name, row in rows:
        column = f"{name.dtype} {name.pairing}"
        columns[column] = None
        cells.setdefault(row_of(name), {})[column] = cell_of(row)
    return table([head, *columns], [[label, *(cell.get(column, "–") for column in columns)]
                                    for label, cell in cells.items()])


def bench_sections(bench):
    rows = [(parsed(row["name"]), row) for row in bench["rows"]]
    cold, nodes, cache, cache_nodes = ([(name, row) for name, row in rows if (name.direction == "cache", name.is_node) == kind]
                                       for kind in ((False, False), (False, True), (True, False), (True, True)))
    share = "{0[share_of_copy]:.3f}, {1:.4g}"
    parts = []
    if cold:
        parts += ["### From memory that no cache holds\n",
                  "Share of the speed of a device-to-device copy that reads and writes as many bytes (cudaMemcpyAsync, in a graph "
                  "or from the host, whichever is faster), then microseconds; "
                  "q and k of 32 + 8 heads of 128 lanes. forward is in place, forward_to elsewhere, backward gives grad_x and "
                  "dL/dinv_freq, backward_normalized the same behind RMSNorm of each head, and the gradient to its weights; "
                  "rebase_paged rotates keys of 8 heads in blocks of 16 tokens, move_paged takes them to other blocks.\n",
                  grid(cold, lambda name: f"{name.direction}, {name.angles}, {name.tokens} tokens",
                       lambda row: share.format(row, row["microseconds"]), "share of copy, µs")]
    if nodes:
        parts += ["### Decode steps in a CUDA graph\n",
                  "Microseconds a node, of 100 in a chain, and in brackets beyond a node of an empty kernel.\n",
                  grid(nodes, lambda name: f"{name.tokens} tokens, {name.angles}",
                       lambda row: f"{row['microseconds']:.3f} ({row['over_empty_microseconds']:+.3f})", "µs")]
    if cache or cache_nodes:
        parts += ["### Norm, rotation and store in one call\n",
                  "q of 32 heads in place, k and v of 8 heads each into the slots of a cache, whose elements a column's name ends with; "
                  "figures as above, decode steps as nodes of a graph.\n",
                  grid(cache, lambda name: f"{name.tokens} tokens", lambda row: share.format(row, row["microseconds"]),
                       "share of copy, µs"),
                  grid(cache_nodes, lambda name: f"{name.tokens} tokens",
                       lambda row: f"{row['microseconds']:.3f} ({row['over_empty_microseconds']:+.3f})", "µs")]
    return parts


def precision_sections(precisions):
    rows = [[label, *(f"{row['largest_error']:.1e}" for row in found["rows"])] for label, found in precisions.items()]
    head = ["cos and sin"] + ["below " + row["name"].rsplit(":", 1)[1] for row in next(iter(precisions.values()))["rows"]]
    return ["### Largest error of cos and sin, by position\n", table(head, rows)]


def cordage_of(name):
    return CORDAGE + name.rsplit(", ", 1)[-1]


def kind_of(case):
    """The kind of a comparison beside rotations: "norm" of "norm, decode 1"."""
    return case.rpartition(", ")[0]


def peer_cell(result, name):
    times = result["microseconds"]
    if name not in times:
        return "–"
    ours = times.get(cordage_of(name))
    return f"{times[name]:.4g}" if ours is None else f"{times[name]:.4g} ({times[name] / ours:.2f})"


def standing(cases):
    """How cordage with exact angles stands beside the other packages' kernels, in words."""
    count = slowest = fastest = 0
    for result in (result for by_dtype in cases.values() for result in by_dtype.values()):
        for name, ours in result["microseconds"].items():
            others = [time for other, time in result["microseconds"].items() if not other.startswith(("cordage", "copy"))
                      and cordage_of(other) == name and "eager" not in other]
            if name.startswith(CORDAGE) and others:
                count += 1
                slowest += ours > max(others)
                fastest += ours < min(others)
    return (f"Of {count} comparisons (a case, a type and a pairing), cordage with exact angles is the **slowest in {slowest}** and the "
            f"fastest in {fastest}, eager code not counted.\n")


def peer_sections(peers):
    versions = ", ".join(f"{name} {version}" for name, version in peers["packages"].items())
    parts = ["### Beside other packages\n",
             standing(peers["cases"]),
             "Microseconds, and in brackets their ratio to cordage's, exact angles, in the same pairing; decode steps are "
             "nodes of a graph, prompts lie in no cache. cordage, FlashInfer, SGLang, Liger and flash-attn work in place, "
             "transformers makes new tensors; a node of SGLang's may start before the one before it ends; of the rotations, all but `cordage exact` and `flashinfer` read cos and sin "
             "from a table. "
             "norm: RMSNorm and rotation of bf16 in one call; to fp8: rotation, and a store of q, k and v in e4m3, k and v in pages. "
             f"Error: the largest distance from float64 at the longest prompt. {peers['rounds']} rounds; {versions}.\n"]
    cases = peers["cases"]
    for kind, dtype in dict.fromkeys((kind_of(name), dtype) for name, by_dtype in cases.items() for dtype in by_dtype):
        results = {name: by_dtype[dtype] for name, by_dtype in cases.items() if dtype in by_dtype and kind_of(name) == kind}
        last = next(reversed(results.values()))
        names = dict.fromkeys(name for result in results.values() for name in result["microseconds"])
        rows = [[name, *(peer_cell(result, name) for result in results.values()),
                 f"{last['errors'][name]:.1e}" if name in last["errors"] else ""] for name in names]
        parts.append(table([dtype, *results, "error"], rows))
    reasons = {}
    for name, by_dtype in cases.items():
        for dtype, result in by_dtype.items():
            for entry, reason in result["left_out"].items():
                reasons.setdefault((entry, reason), []).append(f"{name} {dtype}")
    if reasons:
        parts.append("Left out:\n")
        parts.append("\n".join(f"- {entry} ({len(where)} of the cases, as {where[0]}): {reason}"
                               for (entry, reason), where in reasons.items()) + "\n")
    return parts


def outcome(reached):
    return "reached" if reached else "**missed**"


def targets(bench, precisions, peers):
    """Rows of the targets and the measured values."""
    rows = []

    def worst(what, target, values, by, reached, text):
        if values:
            found = by(values)
            rows.append([what, target, text(found), outcome(reached(found))])

    named = [(parsed(row["name"]), row) for row in bench["rows"]] if bench else []

    def measured(directions, tokens, field):
        """Of all variants without overlapping launches and without a table, in the types of the targets."""
        return [row[field] for name, row in named if field in row and name.direction in directions and name.tokens == tokens
                and name.angles == "exact" and not name.dtype.startswith("fp16")]

    for what, directions, shares in SHARES:
        for tokens, share in shares.items():
            worst(f"{what}, {tokens:,} tokens, the slowest variant, of copy", f"≥ {share:.2f}",
                  measured(directions, tokens, "share_of_copy"), min, lambda found, share=share: found >= share, "{:.3f}".format)
    for what, direction, times in TIMES:
        for tokens, most in times.items():
            bf16 = [row["microseconds"] for name, row in named if name.direction == direction and name.tokens == tokens
                    and name.angles == "exact" and name.dtype == "bf16"]
            worst(f"{what}, {tokens:,} tokens, bf16, the slowest variant", f"≤ {most} µs", bf16, max,
                  lambda found, most=most: found <= most, "{:.3g} µs".format)
    fused = peers["cases"] if peers else {}
    by_share = {case for _, cases in FUSED_SHARES for case in cases}  # where there is a copy
    for what, cases in FUSED_SHARES:
        for case, share in cases.items():
            shares = [result["microseconds"]["copy"] / time for result in fused.get(case, {}).values()
                      for name, time in result["microseconds"].items()
                      if name.startswith(CORDAGE) and "copy" in result["microseconds"]]
            worst(f"{what}, {case.rpartition(', ')[2]}, bf16, the slowest variant, of copy", f"≥ {share:.2f}", shares, min,
                  lambda found, share=share: found >= share, "{:.3f}".format)
    for what, cases in FUSED_TIMES:
        for case, most in cases.items():
            ours = [time for result in fused.get(case, {}).values() for name, time in result["microseconds"].items()
                    if name.startswith(CORDAGE) and not (case in by_share and "copy" in result["microseconds"])]
            worst(f"{what}, {case.rpartition(', ')[2]}, bf16, the slowest variant", f"≤ {most} µs", ours, max,
                  lambda found, most=most: found <= most, "{:.3g} µs".format)
    errors = [row["largest_error"] for found in precisions.values() for row in found["rows"]]
    worst("error of cos and sin, also with --use_fast_math", "≤ 2e-7", errors, max,
          lambda error: error <= LARGEST_ERROR, "{:.1e}".format)
    if peers:
        counts, ahead = collections.Counter(), collections.Counter()
        for result in (result for by_dtype in peers["cases"].values() for result in by_dtype.values()):
            times = result["microseconds"]
            for name in times:
                ours, package = times.get(cordage_of(name)), name.rpartition(", ")[0]
                if ours is not None and not name.startswith(("cordage", "copy")):
                    counts[package] += 1
                    ahead[package] += ours <= times[name]
        if counts:
            text = "ahead of " + ", ".join(f"{package} in {ahead[package]} of {count}" for package, count in counts.items())
            rows.append(["time beside every peer, exact angles, same pairing", "less", text, outcome(ahead == counts)])
    return rows


def machine(bench, machine_lines):
    lines = list(machine_lines)
    if bench:
        lines.insert(0, f"{bench['device']}, compute capability {bench['compute_capability']}, "
                        f"{bench['multiprocessors']} multiprocessors, {int(bench['l2_bytes']) / 2**20:.0f} MiB of L2; "
                        f"CUDA {bench['cuda_of_build']}, the driver's {bench['cuda_of_driver']}")
    return "\n".join(f"- {line}" for line in lines) + "\n"


def torch_sections(calls):
    """Tables of calls from PyTorch: {"rotate TOKENS": {"NAME forward host us": ..., ...}, ...}."""
    names = {"cordage": "cordage_torch", "compiled": "transformers, torch.compile", "liger": "Liger", "eager": "transformers, eager"}
    sizes = [int(case.split()[1]) for case in calls if case.startswith("rotate ")]
    parts = ["### From PyTorch\n",
             "bf16, half_split: microseconds of host time of one call, and milliseconds of forward and backward, outside of a graph.\n"]
    for key, words in (("forward host us", "host time of a call, µs"), ("forward+backward ms", "forward and backward, ms")):
        found = [size for size in sorted(sizes) if f"cordage {key}" in calls[f"rotate {size}"]]
        parts.append(table([words, *(f"{size} tokens" for size in found)],
                           [[name, *(f"{calls[f'rotate {size}'][f'{short} {key}']:.3g}" for size in found)]
                            for short, name in names.items()]))
    return parts


def measured(record):
    """Markdown of the parts that are there: {"bench": ..., "precision": ..., ...}."""
    bench, peers = record.get("bench"), record.get("peers")
    precisions = {label: record[key] for key, label in (("precision", "as compiled"), ("precision_fast_math", "--use_fast_math"))
                  if key in record}
    parts = ["## Measured\n", *(f"{paragraph}\n" for paragraph in record.get("note", [])), machine(bench, record.get("machine", []))]
    if peers:
        parts += peer_sections(peers)
    if "tests" in record:
        parts += ["### Tests on the device\n",
                  table(["", "result"], [[name, result] for name, result in record["tests"].items()])]
    rows = targets(bench, precisions, peers)
    if rows:
        parts += ["### Targets\n", table(["", "target", "found", ""], rows)]
    if bench:
        parts += bench_sections(bench)
    if precisions:
        parts += precision_sections(precisions)
    if "torch" in record:
        parts += torch_sections(record["torch"])
    return "\n".join(parts)


def replaced(page, text, name):
    """The page with `text`, from the record of this name, between the marks."""
    marked = re.compile(BEGIN.format(r"\w+") + ".*?" + END, re.DOTALL)
    if not marked.search(page):
        raise ValueError(f"the page must have {BEGIN.format('RECORD')} and, later, {END}")
    return marked.sub(lambda _: BEGIN.format(name) + "\n" + text.strip("\n") + "\n" + END, page, count=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=pathlib.Path, required=True, help="docs/performance/NAME.json")
    parser.add_argument("--page", type=pathlib.Path, required=True)
    settings = parser.parse_args()
    record = json.loads(settings.record.read_text())
    settings.page.write_text(replaced(settings.page.read_text(), measured(record), settings.record.stem))


if __name__ == "__main__":
    main()
