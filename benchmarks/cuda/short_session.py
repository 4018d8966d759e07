#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""short_session.py RESULTS.TGZ: in the repository's root, lays out in build/gpu/results what short_session.sh brought back, in the
form that run.sh report reads, and says which of the page's targets were not measured. Writes nothing in docs/."""
import json
import pathlib
import re
import sys
import tarfile

results = pathlib.Path("build/gpu/results")
results.mkdir(parents=True, exist_ok=True)
for old in results.iterdir():
    old.unlink()
with tarfile.open(sys.argv[1]) as archive:
    for member in archive:
        if member.isfile():
            (results / pathlib.Path(member.name).name).write_bytes(archive.extractfile(member).read())


def text(name):
    path = results / name
    return path.read_text(errors="replace") if path.exists() else ""


# One bench.json of the three.
parts = [json.loads(text(name)) for name in ("bench.json", "bench2.json", "bench3.json") if text(name)]
if parts:
    rows = {row["name"]: row for part in parts for row in part["rows"]}
    (results / "bench.json").write_text(json.dumps(parts[0] | {"rows": list(rows.values())}))
for name in ("bench2.json", "bench3.json"):
    (results / name).unlink(missing_ok=True)

# A case in which the time ran out is no case that a package ended.
peers = json.loads(text("peers.json")) if text("peers.json") else {"cases": {}}
for case, by_dtype in list(peers["cases"].items()):
    for dtype, result in list(by_dtype.items()):
        if result["left_out"].get("the whole case") == "the process ended in it":
            print(f"dropped, read log.txt for whether time ran out or a package ended it: {case} {dtype}")
            del by_dtype[dtype]
    if not by_dtype:
        del peers["cases"][case]
if "device" in peers:
    (results / "peers.json").write_text(json.dumps(peers))

# tests.json
tests = {}
found = re.search(r"test cases: *\d+ \| *(\d+) passed \| *(\d+) failed", text("tests.log"))
tests["the kernels' tests"] = f"{found[1]} passed, {found[2]} failed" if found else "ended early, within 90 seconds"
tests["a launch, plain and in a graph"] = "passed" if ", status 0: build/gpu/bin/cordage_gpu_launch" in text("launch.log") else "failed"
for tool in ("memcheck", "racecheck", "synccheck"):
    logs = [path.read_text(errors="replace") for path in sorted(results.glob(f"{tool}*.log"))]
    clean = [log for log in logs if re.search("(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)", log)]
    found = [line for log in logs for line in re.findall(r"(?:ERROR|RACECHECK) SUMMARY: [1-9].*", log)]
    tests[f"compute-sanitizer {tool}"] = (f"failed: {found[0]}" if found else "no errors" if logs and len(clean) == len(logs) else
                                          f"no errors, but {len(logs) - len(clean)} of {len(logs)} parts of the tests ended early")
if (results / "torch_tests.log").exists():
    passed = re.findall(r"\] PASSED (\S+)", text("torch_tests.log"))
    failed = re.findall(r"(?:\] FAILED|\] ERROR|ERROR collecting) (\S+)", text("torch_tests.log"))
    tests["cordage_torch"] = f"{len(passed)} passed, {len(failed)} failed" + "".join(f"; {name}" for name in failed)
(results / "tests.json").write_text(json.dumps(tests))
for what, outcome in tests.items():
    print(f"{what}: {outcome}")

# The targets of report.py.
names = {row["name"] for part in parts for row in part["rows"]}
missing = []
for direction, dtypes, tokens in (("forward", ("bf16", "fp32"), (512, 4096, 16384)), ("forward_to", ("bf16", "fp32"), (4096, 16384)),
                                  ("backward", ("bf16",), (512, 4096, 16384)), ("backward_normalized", ("bf16",), (16384,)),
                                  ("rebase_paged", ("bf16",), (65536,)), ("move_paged", ("bf16",), (65536,)),
                                  ("cache", ("bf16_to_bf16", "bf16_to_fp8_e4m3", "bf16_to_int8", "bf16_to_q8_0"), (16384,))):
    heads = {"cache": "32+8+8", "rebase_paged": "8", "move_paged": "8"}.get(direction, "32+8")
    missing += [name for dtype in dtypes for pairing in ("half_split", "interleaved") for count in tokens
                if (name := f"rotate/{direction}/cuda/{dtype}/{pairing}/exact/tokens:{count}/heads:{heads}/head_dim:128") not in names]
missing += [name for count in (1, 64, 256) for pairing in ("half_split", "interleaved") if
            (name := f"rotate/forward/cuda/bf16/{pairing}/exact/graph_node/tokens:{count}/heads:32+8/head_dim:128") not in names]
for case in ("norm, decode 1", "norm, prefill 16384", "to fp8, decode 1", "to fp8, decode 256", "to fp8, prefill 16384"):
    times = peers["cases"].get(case, {}).get("bf16", {"times": {}})["times"]
    missing += [f"{case}: cordage exact, {pairing}" for pairing in ("half_split", "interleaved") if f"cordage exact, {pairing}" not in times]
print("targets that were not measured:", *(missing or ["nothing"]), sep="\n  ")
