# SPDX-License-Identifier: MIT
"""Table 1 of the CLEX paper (Chen et al. 2024) on SmolLM2-135M, for a GPU: the weights are tuned on windows of 16,384 tokens by the
model's own rotation, by NTK-aware scaling, and by CLEX with the paper's random positions; then the loss and accuracy of the same last
4096 tokens of a document with 4096 to 65,536 tokens of context, and a pass key in each, also of closed forms without tuning.

    python fine_tuning.py TEXTS --model GGUF [PART ...] --out FOLDER [--device cpu] [--trial]

TEXTS has train.u16 and test.u16, token ids that texts/make_texts.py --long writes. A GGUF file may be given in parts, which are joined
in FOLDER. Rows that FOLDER/rows.json has of the same settings are not run again. --trial: short windows, a few steps, on any machine.
"""
import argparse
import json
import sys
import time
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import numpy
import torch
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
from cordage_torch import CLEX  # noqa: E402
from tuning.report import difference, interval, said  # noqa: E402

FULL = SimpleNamespace(original=4096, window=16384, contexts=(4096, 8192, 16384, 32768, 65536), last=4096, tokens=2_500_000, batch=4,
                       documents=16)
TRIAL = SimpleNamespace(original=64, window=128, contexts=(64, 128, 256), last=32, tokens=512, batch=2, documents=2)
RATE, BASIS_RATE, WARM_UP = 2e-5, 0.04, 0.1  # of Adam; the share of the steps in which both rise
# Ids of the vocabulary: " The pass key is 01234. Remember it. 01234 is the pass key.", and the question.
SENTENCE = ([378, 1301, 1646, 314, 216], [30, 5258, 357, 30, 216], [314, 260, 1301, 1646, 30])
QUESTION, ZERO = [1812, 314, 260, 1301, 1646, 47, 378, 1301, 1646, 314, 216], 32


class FromBasis(torch.nn.Module):
    """In the place of the model's rotary embedding: cos and sin of a CLEX at one t, in float64 until they are rounded."""

    def __init__(self, basis: CLEX) -> None:
        super().__init__()
        self.basis, self.t = basis, 1.0

    def forward(self, x: torch.Tensor, position_ids: torch.Tensor):
        inv_freq, factor = self.basis.basis(self.t)
        angle = position_ids.double()[..., None] * inv_freq.to(x.device).repeat(2)
        return (factor.to(x.device) * angle.cos()).to(x.dtype), (factor.to(x.device) * angle.sin()).to(x.dtype)


# A way to extend the context: a prior that CLEX keeps or learns over, t of a context of n original lengths, and that length.
Row = namedtuple("Row", "name prior t_of original tuned learns", defaults=(None, lambda n, longest: 1.0, 8192, False, False))


def by_context(n: float, longest: float) -> float:
    return max(1.0, n)


ROWS = [Row("no scaling"), Row("PI", "linear", by_context), Row("NTK-aware", "ntk_aware", by_context), Row("YaRN", "yarn", by_context),
        Row("tuned: no scaling", tuned=True), Row("tuned: NTK-aware", "ntk_aware", lambda n, longest: longest, None, True),
        Row("tuned: CLEX", "ntk_aware", by_context, None, True, True)]
# Written down before any run: is the ODE better than its prior, and does its loss stay where it is beyond the window?
CONTRASTS = (("tuned: CLEX", "tuned: NTK-aware"), ("tuned: CLEX", None))


def losses(model, ids: torch.Tensor, position_ids: torch.Tensor, last: int):
    """Of the last tokens, in nats; and which are the most probable ones."""
    # With a mask, transformers does not take gaps between positions for the beginning of another text.
    logits = model(ids[None], position_ids=position_ids[None], attention_mask=torch.ones_like(ids[None]), use_cache=False,
                   logits_to_keep=last + 1).logits[0, :-1].float()
    return torch.nn.functional.cross_entropy(logits, ids[-last:], reduction="none"), logits.argmax(-1) == ids[-last:]


def tune(row: Row, model, rotary: FromBasis, train: torch.Tensor, size, seconds: float) -> int:
    """The paper's Algorithm 1 for CLEX: t' uniform up to the largest t, sorted random positions of 1 ... t' L. @returns steps done"""
    draw, steps = numpy.random.default_rng(1), max(2, size.tokens // (size.batch * size.window))
    own = {id(p) for p in rotary.parameters()}
    groups = [{"params": [p for p in model.parameters() if id(p) not in own], "rate": RATE}]
    if row.learns:
        groups.append({"params": list(rotary.parameters()), "rate": BASIS_RATE})
    optimizer, began = torch.optim.Adam(groups, lr=RATE, betas=(0.9, 0.95)), time.monotonic()
    for step in range(steps):
        for _ in range(size.batch):
            at = draw.integers(len(train) - size.window)
            positions = torch.arange(size.window, device=train.device)
            if row.learns:
                rotary.t = draw.uniform(size.window / size.original, size.contexts[-1] / size.original)
                drawn = draw.choice(int(rotary.t * size.original), size.window, replace=False)
                positions = torch.from_numpy(numpy.sort(drawn)).to(train.device)
            (losses(model, train[at:at + size.window], positions, size.window - 1)[0].mean() / size.batch).backward()
        share = min(1.0, (step + 1) / (WARM_UP * steps)) * (1.0 - step / steps)
        for group in optimizer.param_groups:
            group["lr"] = group["rate"] * share
        optimizer.step()
        optimizer.zero_grad()
        if time.monotonic() - began > seconds:
            break
    return step + 1


@torch.no_grad()
def measured(row: Row, model, rotary: FromBasis, test: torch.Tensor, size) -> dict:
    """Of each context, in the order of documents: the loss and accuracy of its last tokens, and whether a pass key is found."""
    found = {}
    for context in size.contexts:
        rotary.t = row.t_of(context / rotary.basis.original_length, size.contexts[-1] / rotary.basis.original_length)
        of_all = [], [], []
        for index in range(min(size.documents, len(test) // context)):
            draw = numpy.random.default_rng(index)
            end = len(test) - index * max(context, len(test) // size.documents)
            ids, positions = test[end - context:end].clone(), torch.arange(context, device=test.device)
            nats, right = losses(model, ids, positions, size.last)
            key = (ZERO + draw.integers(10, size=5)).tolist()
            said_key, asked = SENTENCE[0] + key + SENTENCE[1] + key + SENTENCE[2], QUESTION + key
            place = int((context - len(said_key) - len(asked)) * (index % 8 + 0.5) / 8)
            ids[place:place + len(said_key)] = torch.tensor(said_key, device=ids.device)
            ids[-len(asked):] = torch.tensor(asked, device=ids.device)
            hit = losses(model, ids, positions, 5)[1].all()
            for numbers, one in zip(of_all, (nats.mean(), right.float().mean(), hit.float())):
                numbers.append(one.item())
        found[str(context)] = dict(zip(("loss", "accuracy", "keys"), of_all))
    return found


def table(rows: dict, size) -> list[str]:
    lines = ["| row | " + " | ".join(f"{n}" for n in size.contexts) + " |", "|---" * (len(size.contexts) + 1) + "|"]
    for measure in ("loss", "accuracy", "keys"):
        lines += [f"| {name}, {measure} | " + " | ".join(said(interval(row["found"][str(n)][measure])) for n in size.contexts) + " |"
                  for name, row in rows.items()]
    longest, window = str(size.contexts[-1]), str(size.window)
    for name, other in CONTRASTS:
        if name in rows and (other or name) in rows:
            against = rows[other]["found"][longest] if other else rows[name]["found"][window]
            count = len(rows[name]["found"][longest]["loss"])
            pair = ({m: v[:count] for m, v in one.items()} for one in (rows[name]["found"][longest], against))
            lines.append(f"\n{name} at {longest} minus {other or name} at {longest if other else window}: loss "
                         f"{said(difference(*pair, 'loss'), '{:+.3f}')}")
    return [*lines, "\n± is a 95 % interval over documents. One model, one seed."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--model", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=110.0, help="for the tuning of one row, at most")
    parser.add_argument("--trial", action="store_true")
    options = parser.parse_args()
    size = TRIAL if options.trial else FULL
    options.out.mkdir(parents=True, exist_ok=True)
    if len(options.model) > 1:
        joined = options.out / "model.gguf"
        joined.write_bytes(b"".join(part.read_bytes() for part in options.model))
        options.model = [joined]
    train, test = (torch.from_numpy(numpy.fromfile(options.texts / f"{name}.u16", "<u2").astype("int64")).to(options.device)
                   for name in ("train", "test"))
    saved, settings = options.out / "rows.json", repr(size) + options.device
    done = json.loads(saved.read_text()) if saved.is_file() else {}
    done = done["rows"] if done.get("settings") == settings else {}
    file = options.model[0]
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).to(options.device)
    weights, own = {name: value.clone() for name, value in model.state_dict().items()}, model.model.rotary_emb
    for row in ROWS:
        if row.name in done:
            continue
        model.model.rotary_emb = own
        model.load_state_dict(weights)
        torch.manual_seed(1)
        original = row.original if row.original and not options.trial else size.original
        basis = CLEX.for_config(model.config, field="log_length", original_length=original, prior=row.prior or "linear",
                                t_max=max(1.0, size.contexts[-1] / original), hidden=None if row.learns else 1)
        rotary = model.model.rotary_emb = FromBasis(basis.requires_grad_(row.learns))
        rotary.t, began, steps = row.t_of(size.window / original, size.contexts[-1] / original), time.monotonic(), 0
        with torch.autocast(options.device, torch.bfloat16, enabled=options.device == "cuda"):
            steps = tune(row, model, rotary, train, size, options.seconds) if row.tuned else 0
            found = measured(row, model, rotary, test, size)
        done[row.name] = {"found": found, "steps": steps, "seconds": time.monotonic() - began}
        saved.write_text(json.dumps({"settings": settings, "rows": done}))
        print(f"{row.name}: {steps} steps, {done[row.name]['seconds']:.0f} s", flush=True)
    (options.out / "table.md").write_text("\n".join(table(done, size)) + "\n")
    print(*table(done, size), sep="\n")


if __name__ == "__main__":
    main()
