# SPDX-License-Identifier: MIT
"""What tune_basis.py gains on the Llama of test_tune_basis.py: writes a record for docs/hosts.md.

    python measure_tuning.py RECORD.json    # three minutes of one core

Another processor rounds differently, so the Llama gets other weights. How far the results move is measured on this one: a second
run uses torch's kernels for any x86-64 in place of those for this processor."""
import contextlib
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import torch
from trained_llama import train_llama, tune_basis, write_text

L, TARGET, SEEDS = 32, 256, (1, 2, 3)
LEARNED = {"table": ("--form", "table"), "table for each layer": ("--form", "table", "--by-layer"), "CLEX": ("--form", "clex"),
           "CLEX for each layer": ("--form", "clex", "--by-layer"),
           "table, no temperature": ("--form", "table", "--temperature", "none")}


def perplexities(folder, model, text, seed, options):
    """The rows of perplexity.json of a run."""
    with contextlib.redirect_stdout(io.StringIO()):
        tune_basis.main([str(model), str(text), str(TARGET), "--out", str(folder), "--device", "cpu", "--tokens", "512",
                         "--seed", str(seed), *options])
    return json.loads((folder / "perplexity.json").read_text())["perplexity"]


def row(name, of_seeds, of_seeds_by_other_kernels):
    """Means over the seeds at each length; at the longest also their range, and the mean by other kernels."""
    means = [f"{statistics.mean(at):.2f}" for at in zip(*of_seeds)]
    last = [one[-1] for one in of_seeds]
    return [name, *means, f"{min(last):.2f} to {max(last):.2f}" if max(last) > min(last) else "",
            f"{statistics.mean(one[-1] for one in of_seeds_by_other_kernels):.2f}"]


def processor():
    """Its name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = [line.partition(": ")[2] for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0] if names else platform.machine()


def measure():
    """The perplexities of each row of the table, for each seed."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        text, model = write_text(folder / "text.txt"), folder / "model"
        model.mkdir()
        train_llama(model, text, L)
        found = {name: [perplexities(folder / f"{name} {seed}", model, text, seed, options) for seed in SEEDS]
                 for name, options in LEARNED.items()}
    rows = {"its own rotation": [one["own rotation"] for one in found["table"]],
            "by parts, its ramp chosen": [one["by parts"] for one in found["table"]]}
    rows |= {name: [one["learned"] for one in of_seeds] for name, of_seeds in found.items()}
    rows[f"CLEX, as exported for {TARGET}"] = [one["learned, as exported"] for one in found["CLEX"]]
    return rows


def main(record):
    by_other_kernels = json.loads(subprocess.run([sys.executable, __file__], env=os.environ | {"ATEN_CPU_CAPABILITY": "default"},
                                                 check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])
    rows = [row(name, of_seeds, by_other_kernels[name]) for name, of_seeds in measure().items()]
    moved = [abs(float(one[-1]) - float(one[-3])) for one in rows]
    lengths = [str(L * 2**k) for k in range(4)]
    Path(record).write_text(json.dumps({
        "machine": processor(),
        "how": f"examples/torch_extension/tests/measure_tuning.py; 300 steps of 512 tokens; seeds {', '.join(map(str, SEEDS))}",
        "versions": {name: version(name) for name in ("torch", "transformers")},
        "most_by_other_kernels": round(max(moved), 2),
        "tables": {"perplexity": {"columns": ["perplexity at", *lengths, f"{TARGET}, by seed", f"{TARGET}, other kernels"],
                                  "align": "lrrrrrr", "rows": rows}},
    }, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        print(json.dumps(measure()))
