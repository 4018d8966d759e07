# SPDX-License-Identifier: MIT
"""Extends a transformers model to longer texts with frozen weights: finds the basis of its rotation and the temperature of its
attention scores, by a search over closed forms and then by learning.

    python tune_basis.py MODEL TEXT LENGTH --out FOLDER

MODEL is a folder, a name at a hub, or a GGUF file. The same command goes on after an interruption, from FOLDER/checkpoint.pt.

    config.json        the model's with LongRoPE factors, to be used with its weights by transformers and vLLM
    freq_factors.gguf  the same factors for ggml, with PyPI's gguf
    model.gguf         for llama.cpp, if MODEL is a GGUF file or with --gguf
    closed_form/       config.json of the closed form that learning began from
    result.json        all that was measured

With --weights FOLDER has the weights and the tokenizer too; with --temperature heads it has them anyway, if MODEL is not a GGUF
file. For a Mistral Large 4 it has lerope.safetensors, alpha and the temperatures of heads, instead of all these.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from cordage_torch import (HeadTemperatures, LearnedTable, LeRoPE, Tempered, apply_to, check_gguf, save_freq_factors, save_gguf,
                           save_lerope, save_longrope)
from cordage_torch.rules import Rule
from tuning.measuring import measured_row
from tuning.report import table, verdict
from tuning.starts import BY_PARTS, UNSCALED, Start, clex_from, points, trained_length
from tuning.windows import PrefixKeys, drawn_window, read

RATES = {"log_slope": 0.01, "power": 0.01, "log_tau": 0.01}  # of Adam, by the last part of a parameter's name
HEADS_RATE = 0.001  # of the scale and bias of a Mistral Large 4's heads
WARM_UP = 5  # steps
AVERAGED = 3  # of so many parts of the steps, the result is the mean over the last one
SAVE_EVERY = 30.0  # seconds
FINALISTS, WINDOWS = 4, 3  # a search tries all points on one window, and the best of so many parts on so many windows
CHECKPOINT = "checkpoint.pt"


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder, or name at a hub, of the model and its tokenizer; or a GGUF file")
    parser.add_argument("text", type=Path, help="UTF-8 file; its last tenth, or more, is measured and not learned from")
    parser.add_argument("length", type=int, help="tokens to extend to")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--gguf", type=Path, metavar="MODEL.gguf", help="the same model as llama.cpp's converter wrote it, "
                        "quantised or not, to be written to FOLDER/model.gguf; default: MODEL, if that is one")
    parser.add_argument("--weights", action="store_true", help="write weights and tokenizer beside config.json too, those of a GGUF "
                        "file as float32")
    parser.add_argument("--form", choices=("table", "clex"), default="table", help="what learns: one factor of each pair, "
                        "for LENGTH, or an ODE, for all lengths up to it (default: table)")
    parser.add_argument("--temperature", choices=("one", "heads", "none"), help="of attention scores, learned with the basis: "
                        "one, exported as the attention factor; or one for each head, exported in the weights of the queries; "
                        "default: one, but none where lanes of a head are not rotated")
    parser.add_argument("--start", nargs="+", default=["search"], metavar="S", help="search; unscaled; or three numbers LOW HIGH "
                        "TIMES, by parts: pairs that rotate more than HIGH times in the trained length keep their frequency, "
                        "those below LOW are interpolated by TIMES * t (default: search)")
    parser.add_argument("--search", type=int, default=20, metavar="POINTS", help="of a search (default: 20)")
    parser.add_argument("--steps", type=int, default=60, help="of learning; 0: the closed form is the result (default: 60)")
    parser.add_argument("--batch", type=int, default=2, help="windows of a step (default: 2)")
    parser.add_argument("--window", type=int, help="tokens of a window, cut into chunks with gaps that span LENGTH; LENGTH: whole "
                        "windows (default: 1536, or LENGTH if that is less)")
    parser.add_argument("--rate", type=float, default=0.04, help="of Adam: what a step moves log alpha of slow pairs by, "
                        "times ln t for clex (default: 0.04)")
    parser.add_argument("--measured", type=int, default=8, help="windows to measure on (default: 8)")
    parser.add_argument("--whole", type=int, default=0, help="whole windows of LENGTH tokens to measure on too (default: 0)")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    options = arguments(argv)
    place = located(options.model)
    config = config_of(options.model, place)
    check(options, config)
    if options.gguf:
        try:
            check_gguf(config, new_basis(config, options, BY_PARTS), options.gguf, options.out / "model.gguf")
        except ImportError as missing:
            raise ValueError("--gguf needs PyPI's gguf: pip install gguf") from missing
    run = Run(options)
    tokenizer = AutoTokenizer.from_pretrained(**place)
    learned_from, measured_on, begin = read_text(options, tokenizer)
    auto_model = AutoModelForImageTextToText if has_alpha(config) else AutoModelForCausalLM
    model = auto_model.from_pretrained(**place, dtype="auto").to(options.device).eval()
    model.requires_grad_(False)
    tuned = Tuned(model, config, options)  # invalid input raises, before anything is written
    with torch.no_grad(), tuned.applied():
        model(learned_from[None, :2].to(options.device), use_cache=False)

    if not has_alpha(config) and run.start is None:
        run.start = Start(*numbers_of(options)) if options.start != ["search"] else searched(
            model, config, learned_from, begin, options)
        run.save()
    if run.start:
        tuned = Tuned(model, config, options, run.start)
    run.take(tuned)

    def encode(said: str) -> list[int]:
        return tokenizer(said, add_special_tokens=False).input_ids

    def measure(name: str, applied) -> None:
        if name not in run.rows:
            started = time.process_time()
            with applied():
                run.rows[name] = measured_row(model, measured_on, options.measured, options.window, dense_tokens(config, options),
                                              options.length, options.whole, begin, encode, options.seed)
            print(f"measured: {name}, {time.process_time() - started:.0f} s of a processor", flush=True)
            run.save()

    measure("its own rotation", ExitStack)
    if not has_alpha(config):
        factor = options.length / trained_length(config)
        measure("YaRN as configured", lambda: apply_to(model, {"rope_type": "yarn", "factor": factor}))
        if run.start != UNSCALED:
            measure(str(run.start), lambda: at_length(model, clex_from(config, run.start, options.length), options.length))
    if options.steps:
        with tuned.applied():
            print(f"learning {sum(p.numel() for group in tuned.groups for p in group['params'])} numbers, {options.form}, temperature: "
                  f"{options.temperature}", flush=True)
            learn(run, tuned, learned_from, begin, options)
        measure("learned", lambda: tuned.applied_at(options.length))
    lines = table(run.rows)
    if options.steps:
        lines += [*tuned.words(options.length), *verdict(run.rows, "learned")]
    print(*lines, sep="\n")
    write(run, tuned, config, tokenizer, options, lines)
    print("written to", options.out)
    if options.steps and run.start:
        numbers = "unscaled" if run.start == UNSCALED else " ".join(f"{number:.9g}" for number in run.start)
        print(f"the closed form: {options.out / 'closed_form'}; its GGUF files: --start {numbers} --steps 0 with another --out")
    if options.gguf and not has_alpha(config):
        print(f"in transformers: from_pretrained({str(options.out)!r}, gguf_file='model.gguf', config=AutoConfig.from_pretrained("
              f"{str(options.out)!r})); without config it does not scale")


# What is given -------------------------------------------------------------------------------------------------------


def located(model: str) -> dict[str, str]:
    """The arguments by which transformers finds a model."""
    path = Path(model)
    if path.suffix != ".gguf":
        return {"pretrained_model_name_or_path": model}
    if not path.is_file():
        raise ValueError(f"MODEL {model} must be a GGUF file that exists, or a folder or name without .gguf")
    return {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}


def config_of(model: str, place: dict[str, str]):
    try:
        return AutoConfig.from_pretrained(**place)
    except OSError as error:
        if Path(model).exists():
            raise
        raise OSError(f"MODEL {model} must be a folder or a GGUF file that exists, or a name at a hub; at the hub: {error}") from error


def has_alpha(config) -> bool:
    return config.model_type == "mistral_large4"


def check(options: argparse.Namespace, config) -> None:
    """Refuses what cannot work, and sets the defaults that depend on the model."""
    rules = getattr(config.get_text_config(), "rope_parameters", None)
    if not rules:
        raise ValueError(f"MODEL {options.model} of type {config.model_type!r} must have a rotary embedding")
    rule = rules.get("full_attention", rules)
    if not has_alpha(config) and rule["rope_type"] != "default":
        raise ValueError(f"MODEL {options.model} has rope_type {rule['rope_type']!r}, must have 'default': give the model as it was "
                         "before its rotation was scaled")
    options.window = min(1536, max(64, options.length)) if options.window is None else options.window
    for name, least in (("search", 1), ("steps", 0), ("batch", 1), ("window", 64), ("measured", 2), ("whole", 0)):
        if getattr(options, name) < least:
            raise ValueError(f"--{name} {getattr(options, name)} must be >= {least}")
    if not 0 < options.rate < math.inf:
        raise ValueError(f"--rate {options.rate} must be > 0 and finite")
    if has_alpha(config) and options.steps < 1:
        raise ValueError(f"--steps 0 must be >= 1 for MODEL {options.model}, whose own alpha learns: it has no closed form to write")
    if has_alpha(config) and options.weights:
        raise ValueError(f"--weights must not be given for MODEL {options.model}: lerope.safetensors is loaded over its own weights")
    numbers_of(options)
    trained = trained_length(config)
    if options.length <= trained:
        raise ValueError(f"LENGTH {options.length} must be > {trained:g}, the length that the model was trained for")
    if options.window > options.length:
        raise ValueError(f"--window {options.window} must be <= LENGTH {options.length}")
    whole = Rule(config.get_text_config()).rotates_whole_heads
    if options.temperature is None:
        options.temperature = "heads" if has_alpha(config) else "one" if whole else "none"
    if options.temperature == "one" and has_alpha(config):
        raise ValueError(f"--temperature one must be heads or none for MODEL {options.model}, which has a scale and bias for each head")
    if options.temperature == "one" and not whole:
        raise ValueError(f"--temperature one must be none for MODEL {options.model}: lanes of its heads are not rotated, and an "
                         "attention factor, which is how it is exported, misses them")
    if options.gguf is None and options.model.endswith(".gguf"):
        options.gguf = Path(options.model)


def numbers_of(options: argparse.Namespace) -> tuple[float, ...]:
    """LOW, HIGH and TIMES of --start."""
    if options.start in (["search"], ["unscaled"]):
        return tuple(UNSCALED if options.start == ["unscaled"] else BY_PARTS)
    said = f"--start {' '.join(options.start)} must be search, unscaled, or LOW HIGH TIMES with 0 < LOW < HIGH and TIMES >= 1, as in "\
        "--start 1 4 2"
    try:
        low, high, times = map(float, options.start)
    except ValueError as error:
        raise ValueError(said) from error
    if not (0 < low < high < math.inf and 1 <= times < math.inf):
        raise ValueError(said)
    return low, high, times


def read_text(options: argparse.Namespace, tokenizer) -> tuple[torch.Tensor, torch.Tensor, int | None]:
    """The tokens to learn from, those to measure on (the end of the text), and the token with which the tokenizer begins
    every text, if any."""
    begin = tokenizer.bos_token_id if tokenizer("a").input_ids[0] == tokenizer.bos_token_id else None
    ids = tokenizer(options.text.read_text(encoding="utf-8"), return_tensors="pt", add_special_tokens=False,
                    verbose=False).input_ids[0]
    measured = max(options.measured * options.window, options.whole * options.length, len(ids) // 10)
    needed = measured + 2 * options.window
    if len(ids) < needed:
        raise ValueError(f"TEXT {options.text} has {len(ids)} tokens, must have {needed}: --measured {options.measured} windows of "
                         f"--window {options.window} tokens, --whole {options.whole} of {options.length}, and two windows to learn from; "
                         "give a longer text, or measure fewer windows")
    return ids[:-measured], ids[-measured:], begin


# What learns ---------------------------------------------------------------------------------------------------------


def new_basis(config, options: argparse.Namespace, start: Start) -> torch.nn.Module:
    torch.manual_seed(options.seed)
    if has_alpha(config):
        return LeRoPE(config, t_max=options.length / trained_length(config))
    basis = clex_from(config, start, options.length, hidden=None if options.form == "clex" and options.steps else 1)
    if options.form == "table" and options.steps:
        basis = LearnedTable(basis, knots=[basis.t_max])
    return Tempered(basis) if options.temperature == "one" else basis


class Tuned:
    """A model, its basis and its temperatures."""

    def __init__(self, model: torch.nn.Module, config, options: argparse.Namespace, start: Start = BY_PARTS) -> None:
        self.model, self.config = model, config
        self.parts = torch.nn.ModuleDict({"basis": new_basis(config, options, start)})
        self.own_heads: dict[str, torch.nn.Parameter] = {}
        if has_alpha(config):
            self.basis.alpha.data.copy_(model.get_submodule("model.language_model").rotary_emb.alpha)
            if options.temperature == "heads":
                self.own_heads = own_temperatures(model)
        elif options.temperature == "heads":
            try:
                self.parts["heads"] = HeadTemperatures(model)
            except ValueError as error:
                raise ValueError(f"--temperature heads must be one or none for MODEL {options.model}: {error}") from error
        self.groups = [{"params": [p], "rate": RATES.get(name.rpartition(".")[2], options.rate)}
                       for name, p in self.parts.named_parameters() if p.requires_grad]
        self.groups += [{"params": [p], "rate": HEADS_RATE} for p in self.own_heads.values()]

    @property
    def basis(self) -> torch.nn.Module:
        return self.parts["basis"]

    def applied(self) -> ExitStack:
        stack = ExitStack()
        stack.enter_context(apply_to(self.model, self.basis))
        if "heads" in self.parts:
            stack.enter_context(self.parts["heads"])
        return stack

    @contextmanager
    def applied_at(self, length: int):
        with self.applied(), self.basis.held_at(ratio(self.basis, length)):
            yield

    def words(self, length: int) -> list[str]:
        """The temperatures."""
        if isinstance(self.basis, Tempered):
            return [f"scores at {length} tokens times {self.basis.temperature(ratio(self.basis, length)).item():.3f}"]
        if "heads" in self.parts:
            found = self.parts["heads"].temperatures
            return [f"scores of {found.numel()} heads times {found.min():.3f} to {found.max():.3f}"]
        return []


def own_temperatures(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """Scale and bias of the attention of every layer of a Mistral Large 4, by name, converted to float32 parameters that
    learn; the forward pass rounds them to the type of the queries."""
    found = {}
    for path, module in model.named_modules():
        if path.endswith("self_attn.softmax_scaling"):
            module.float().requires_grad_(True)
            found |= {f"{path}.{name}": parameter for name, parameter in module.named_parameters()}
    return found


def ratio(basis: torch.nn.Module, length: int) -> float:
    return basis.t_of(torch.tensor(length)).item()


@contextmanager
def at_length(model: torch.nn.Module, basis: torch.nn.Module, length: int):
    """A patched model, with the basis of one length for windows of every length."""
    with apply_to(model, basis), basis.held_at(ratio(basis, length)):
        yield


def dense_tokens(config, options: argparse.Namespace) -> int:
    """Of a window at true positions, in which the unscaled model is at its best."""
    return min(options.window, round(trained_length(config)))


def losses(model: torch.nn.Module, basis: torch.nn.Module, text: torch.Tensor, batch: int, length: int, begin: int | None,
           draw: torch.Generator, options: argparse.Namespace, keys: PrefixKeys | None = None):
    """What search and learning lower: of windows in chunks to `length`, and of one dense window, which is what compression
    costs."""
    dense = dense_tokens(model.config, options)
    sizes = [(options.window, max(length, options.window))] * batch + [(dense, dense)]
    for (tokens, span), share in zip(sizes, [1 / batch] * batch + [1.0]):
        yield share * read(model, drawn_window(text, tokens, span, begin, draw), keys).losses.mean()


@torch.no_grad()
def searched(model: torch.nn.Module, config, text: torch.Tensor, begin: int | None, options: argparse.Namespace) -> Start:
    """The closed form with the least loss at LENGTH: which one it is differs from model to model."""
    found = {start: 0.0 for start in points(options.search)}
    started = time.process_time()

    def tried(starts, windows) -> list[Start]:
        for start in starts:
            with at_length(model, clex_from(config, start, options.length), options.length):
                for seed in windows:
                    draw = torch.Generator().manual_seed(options.seed * 1_000_003 + seed)
                    found[start] += sum(one.item() for one in losses(model, None, text, 1, options.length, begin, draw, options))
        return sorted(starts, key=found.get)

    ordered = tried([*found], [0])
    best = tried(ordered[:max(2, len(ordered) // FINALISTS)], range(1, WINDOWS)) if len(ordered) > 1 else ordered
    print(f"search: {best[0]}, of {options.search} points, {time.process_time() - started:.0f} s of a processor", flush=True)
    return best[0]


class Run:
    """The state of a run, saved in checkpoint.pt with its settings."""

    def __init__(self, options: argparse.Namespace) -> None:
        names = ("model", "length", "form", "temperature", "start", "search", "steps", "batch", "window", "rate", "measured", "whole",
                 "seed")
        self.settings = {name: getattr(options, name) for name in names}
        self.settings["text"] = hashlib.sha256(options.text.read_bytes()).hexdigest()
        self.path, self.tuned = options.out / CHECKPOINT, None
        self.step, self.rows, self.start, self.state, self.sums = 0, {}, None, None, []
        if self.path.exists():
            self._go_on()

    def _go_on(self) -> None:
        state = torch.load(self.path, weights_only=True)
        for name, value in self.settings.items():
            if state["settings"].get(name) != value:
                raise ValueError(f"{self.path} is of a run with {name} {state['settings'].get(name)!r}, this one has {value!r}; "
                                 "choose another --out")
        self.step, self.rows, self.sums, self.state = state["step"], state["rows"], state["sums"], state
        self.start = Start(*state["start"]) if state["start"] else None
        print(f"going on after step {self.step} of {self.path}")

    def take(self, tuned: Tuned) -> None:
        """What learns, with the numbers of a run that goes on."""
        self.tuned = tuned
        self.parameters = [p for group in tuned.groups for p in group["params"]]
        self.optimizer = torch.optim.Adam(tuned.groups, betas=(0.9, 0.95)) if tuned.groups else None
        if self.state and self.state["learned"]:
            for parameter, value in zip(self.parameters, self.state["learned"], strict=True):
                parameter.data.copy_(value)
            self.optimizer.load_state_dict(self.state["optimizer"])
        self.sums = self.sums or [torch.zeros_like(p) for p in self.parameters]

    def save(self) -> None:
        state = {"settings": self.settings, "step": self.step, "rows": self.rows, "start": self.start and tuple(self.start),
                 "sums": self.sums, "learned": None, "optimizer": None}
        if self.tuned and self.optimizer:
            state |= {"learned": [p.data for p in self.parameters], "optimizer": self.optimizer.state_dict()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, self.path.with_suffix(".new"))
        os.replace(self.path.with_suffix(".new"), self.path)  # replaces the file atomically


def learn(run: Run, tuned: Tuned, text: torch.Tensor, begin: int | None, options: argparse.Namespace) -> None:
    """The remaining steps; then the parameters are their mean over the last steps. The windows of a step depend only on seed and
    step, so that a run can be resumed."""
    if run.step == options.steps:
        return
    trained, first_averaged = trained_length(tuned.config), options.steps - max(1, options.steps // AVERAGED)
    started, began_at, saved, told, recent = time.monotonic(), run.step, time.monotonic(), -math.inf, []
    while run.step < options.steps:
        draw = torch.Generator().manual_seed(options.seed * 2_000_003 + run.step)
        share = torch.rand((), generator=draw, dtype=torch.float64).item()
        length = round(trained * (options.length / trained)**share) if options.form == "clex" else options.length
        t = ratio(tuned.basis, length)
        run.optimizer.zero_grad()
        total = 0.0
        with tuned.basis.held_at(t):
            for loss in losses(tuned.model, tuned.basis, text, options.batch, length, begin, draw, options,
                               PrefixKeys(tuned.model, tuned.basis, t)):
                loss.backward()
                total += loss.item()
        torch.nn.utils.clip_grad_norm_(run.parameters, 1.0)
        for group in run.optimizer.param_groups:
            group["lr"] = group["rate"] * share_of_rate(run.step, options.steps)
        run.optimizer.step()
        if run.step >= first_averaged:
            for mean, parameter in zip(run.sums, run.parameters):
                mean += parameter.detach()
        run.step += 1
        recent = [*recent[-9:], total / 2]
        now = time.monotonic()
        if run.step == options.steps:
            for mean, parameter in zip(run.sums, run.parameters):
                parameter.data.copy_(mean / (options.steps - first_averaged))
        if now - saved >= SAVE_EVERY or run.step == options.steps:
            run.save()
            saved = now
        if now - told >= 5 or run.step == options.steps:
            left = (now - started) / (run.step - began_at) * (options.steps - run.step)
            print(f"step {run.step}/{options.steps}, loss {sum(recent) / len(recent):.3f}, {left // 60:.0f}:{left % 60:02.0f} left",
                  flush=True)
            told = now


def share_of_rate(step: int, steps: int) -> float:
    """Rises over the warm-up and falls with a cosine."""
    return min(1.0, (step + 1) / WARM_UP) * (0.05 + 0.475 * (1 + math.cos(math.pi * step / steps)))


# Results -------------------------------------------------------------------------------------------------------------


@torch.no_grad()
def write(run: Run, tuned: Tuned, config, tokenizer, options: argparse.Namespace, lines: list[str]) -> None:
    out, basis, length = options.out, tuned.basis, options.length
    result = {"length": length, "start": run.start and run.start._asdict(), "rows": run.rows, "report": lines}
    if isinstance(basis, Tempered):
        result["temperature"] = basis.temperature(ratio(basis, length)).item()
    if "heads" in tuned.parts:
        result["temperatures"] = tuned.parts["heads"].temperatures.tolist()
    (out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    if has_alpha(config):
        save_lerope(config, basis, length, out, tuned.own_heads)
        return
    save_longrope(config, clex_from(config, run.start, length), length, out / "closed_form")
    heads = tuned.parts["heads"] if "heads" in tuned.parts else None
    if options.weights or heads is not None and not options.model.endswith(".gguf"):
        if heads is not None:
            heads.fold(tuned.model)
        if options.model.endswith(".gguf"):
            tuned.model.hf_quantizer = None  # the weights were dequantised
        tuned.model.save_pretrained(out)
        tokenizer.save_pretrained(out)
    save_longrope(config, basis, length, out)
    try:
        save_freq_factors(config, basis, length, out / "freq_factors.gguf")
    except ImportError:
        print("gguf is not installed: no freq_factors.gguf")
    if options.gguf:
        save_gguf(config, basis, length, options.gguf, out / "model.gguf", temperatures=heads and heads.temperatures)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"tune_basis: {error}")
