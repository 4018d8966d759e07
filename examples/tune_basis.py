# SPDX-License-Identifier: MIT
"""Extends a transformers model to longer texts with frozen weights: learns only the basis of its rotation and the
temperature of its attention scores.

    python tune_basis.py MODEL TEXT LENGTH --out FOLDER [--form clex|table|lerope] [--temperature learned|none]
                         [--by-layer] [--gguf MODEL.gguf]

Writes into FOLDER: config.json, the model's with LongRoPE factors, to be used with its weights; freq_factors.gguf, the same
factors for ggml (with PyPI's gguf); model.gguf for llama.cpp (with --gguf); instead of these with --by-layer layers.json,
LongRoPE's dictionary of each layer for cordage_torch.apply_to, and for a Mistral Large 4 lerope.safetensors, its alpha and
the temperatures of its heads; perplexity.json and, with matplotlib, perplexity.png;
checkpoint.pt, from which the same command resumes after an interruption, with the result of an uninterrupted run.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer
from transformers.modeling_layers import GradientCheckpointingLayer

from cordage_torch import (CLEX, LearnedTable, LeRoPE, Tempered, apply_to, check_gguf, longrope_parameters, save_freq_factors,
                           save_gguf, save_lerope, save_longrope)
from cordage_torch.over_basis import unscaled_inv_freq
from cordage_torch.rules import Rule

WARM_UP = 10  # steps
TEMPERATURE_RATE = 0.01  # of ln slope and power
HEADS_RATE = 0.001  # of the scale and bias of heads
RAMPS = [(low, low * ratio) for low in (0.25, 0.5, 1.0) for ratio in (2, 4, 8)] + [(1.0, 32.0)]  # by parts, to choose from
CHOOSING = 4  # batches of --tokens that a ramp is chosen on
CHECKPOINT = "checkpoint.pt"
LAYERS = "layers.json"
LONGEST = 0.3  # share of the steps with windows of the longest length; the others have log-uniform lengths


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder, or name at a hub, of the model and its tokenizer")
    parser.add_argument("text", type=Path, help="UTF-8 file; its last tenth, or window, is measured and not learned from")
    parser.add_argument("length", type=int, help="tokens to extend to")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--gguf", type=Path, metavar="MODEL.gguf", help="the same model as llama.cpp's converter wrote it, "
                        "quantised or not: its whole file with the learned basis is written to FOLDER/model.gguf")
    parser.add_argument("--form", choices=("clex", "table", "lerope"), default="clex",
                        help="what learns: an ODE in log time, log alpha of each pair at t = 2, 4, 8 ..., or one factor of "
                        "each pair for all lengths; of a Mistral Large 4 its own alpha, by lerope (default: clex)")
    parser.add_argument("--temperature", choices=("learned", "none"),
                        help="of attention scores, by the length, learned with the basis: two numbers, exported as the "
                        "attention factor; of a Mistral Large 4 its own scale and bias of every head; default: learned, but "
                        "none where lanes of a head are not rotated, which an attention factor misses")
    parser.add_argument("--by-layer", action="store_true", help="a basis and temperature for each layer instead of one for "
                        "all; only cordage_torch reads them")
    parser.add_argument("--steps", type=int, default=300, help="default: 300")
    parser.add_argument("--tokens", type=int, help="of a step; default: two windows of LENGTH")
    parser.add_argument("--rate", type=float, help="of Adam, of the basis, falling to 0; default: 0.001 for clex, "
                        "0.06 for table, 0.01 for lerope")
    parser.add_argument("--parts", type=float, nargs=2, metavar=("LOW", "HIGH"),
                        help="the prior: pairs that rotate more than HIGH times in the trained length keep their frequency, "
                        "those below LOW are interpolated; default: the best of ten for this model, by the loss of some "
                        "windows of LENGTH tokens that are learned from")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--recompute", action="store_true", help="run each layer again in the backward pass instead of "
                        "keeping its activations: less memory")
    parser.add_argument("--measured", type=int, default=8, help="stretches of LENGTH tokens to measure on; default: 8")
    parser.add_argument("--save-every", type=float, default=30.0, help="seconds between checkpoints; default: 30")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    options = arguments(argv)
    config = AutoConfig.from_pretrained(options.model)
    bases = new_bases(config, options)
    if options.gguf:
        try:
            check_gguf(config, bases[0], options.gguf, options.out / "model.gguf")
        except ImportError as missing:
            raise ValueError("--gguf needs PyPI's gguf: pip install gguf") from missing
    learned_from, measured_on, begin = read_text(options)
    auto_model = AutoModelForImageTextToText if has_alpha(config) else AutoModelForCausalLM
    model = auto_model.from_pretrained(options.model, dtype="auto").to(options.device).eval()
    model.requires_grad_(False)
    if has_alpha(config):
        bases[0].alpha.data.copy_(model.get_submodule("model.language_model").rotary_emb.alpha)
    heads = temperatures_of_heads(model) if has_alpha(config) and options.temperature == "learned" else {}
    with torch.no_grad(), apply_to(model, scaling_by(bases, options)):  # invalid input raises, before anything is written
        model(learned_from[None, :2].to(options.device), use_cache=False)
    trained = bases[0].original_length
    longest = options.length / trained
    lengths = [n for n in (round(trained) * 2**k for k in range(32)) if n < options.length] + [options.length]

    if not options.parts and not has_alpha(config):
        options.parts = parts_of_checkpoint(options.out) or chosen_parts(model, config, options, learned_from, begin)
        bases = new_bases(config, options)
    scaling = scaling_by(bases, options)
    run = Run(options, scaling, heads)
    print(f"temperature: {options.temperature}" + (f", of {len(heads) // 2} layers' heads" if heads else ""))
    if "own rotation" not in run.perplexity:
        run.perplexity["own rotation"] = perplexities(model, measured_on, lengths, begin)
    with apply_to(model, scaling) as patch:
        print(patch.rules, end="")
        if prior_of(config) not in run.perplexity:
            run.perplexity[prior_of(config)] = perplexities(model, measured_on, lengths, begin)
            run.prior = bases[0](longest).tolist()
            run.save()
        learn(run, model, trained, learned_from, begin, options)
        run.perplexity["learned"] = perplexities(model, measured_on, lengths, begin)
    if not has_alpha(config):  # its only basis is exported
        exported = [longrope_parameters(config, basis, options.length) for basis in bases]
        with apply_to(model, scaling_by(exported, options)):
            run.perplexity["learned, as exported"] = perplexities(model, measured_on, lengths, begin)

    print_table(lengths, run.perplexity)
    result = {"lengths": lengths, "perplexity": run.perplexity}
    if options.temperature == "learned" and not has_alpha(config):
        taus = [[basis.temperature(max(1.0, n / trained)).item() for n in lengths] for basis in bases]
        result["temperature"] = scaling_by(taus, options)
        for layer, row in enumerate(taus):
            name = f"scores of layer {layer} times" if options.by_layer else "scores times"
            print(name.ljust(max(map(len, run.perplexity))), *(f"{tau:9.3f}" for tau in row))
    (options.out / "perplexity.json").write_text(json.dumps(result, indent=2))
    if has_alpha(config):
        save_lerope(config, bases[0], options.length, options.out, heads)
    elif options.by_layer:
        (options.out / LAYERS).write_text(json.dumps(exported, indent=2))
    else:
        save_longrope(config, bases[0], options.length, options.out)
        try:
            save_freq_factors(config, bases[0], options.length, options.out / "freq_factors.gguf")
        except ImportError:
            print("gguf is not installed: no freq_factors.gguf")
        if options.gguf:
            save_gguf(config, bases[0], options.length, options.gguf, options.out / "model.gguf")
    try:
        plot(lengths, run, bases, prior_of(config), options.out / "perplexity.png")
    except ImportError:
        print("matplotlib is not installed: no perplexity.png")
    print("written to", options.out)


# The learned parameters and the text --------------------------------------------------------------------------------


def has_alpha(config) -> bool:
    return config.model_type == "mistral_large4"


def prior_of(config) -> str:
    """Description of the initial basis."""
    return "own alpha" if has_alpha(config) else "by parts"


def temperatures_of_heads(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """Scale and bias of the attention of every layer of a Mistral Large 4, by name, converted to float32 parameters that
    learn; the forward pass rounds them to the type of the queries."""
    found = {}
    for path, module in model.named_modules():
        if path.endswith("self_attn.softmax_scaling"):
            module.float().requires_grad_(True)
            found |= {f"{path}.{name}": parameter for name, parameter in module.named_parameters()}
    return found


def new_bases(config, options: argparse.Namespace) -> torch.nn.ModuleList:
    """The basis of all layers, or of each."""
    first = new_basis(config, options)
    text = config.get_text_config()
    layers = text.num_hidden_layers
    if "full_attention" in text.rope_parameters:  # only these layers are scaled
        layers = text.layer_types.count("full_attention")
    return torch.nn.ModuleList([first, *(new_basis(config, options) for _ in range(1, layers if options.by_layer else 1))])


def scaling_by(of_layers: Sequence, options: argparse.Namespace):
    """What apply_to takes: the entries of all layers, or the only one."""
    return of_layers if options.by_layer else of_layers[0]


def new_basis(config, options: argparse.Namespace) -> CLEX | LearnedTable | LeRoPE | Tempered:
    rules = getattr(config.get_text_config(), "rope_parameters", None)
    if not rules:
        raise ValueError(f"MODEL {options.model} of type {config.model_type!r} must have a rotary embedding")
    rule = rules.get("full_attention", rules)
    if has_alpha(config):
        if options.form != "lerope":
            raise ValueError(f"--form {options.form} must be lerope for MODEL {options.model}: its weights hold an alpha")
        if options.by_layer:
            raise ValueError(f"--by-layer does not go with MODEL {options.model}, whose weights hold one alpha for all layers")
    elif rule["rope_type"] != "default":
        raise ValueError(f"MODEL {options.model} has rope_type {rule['rope_type']!r}, must have 'default': a basis is "
                         "learned over an unscaled one")
    if options.by_layer and options.gguf:
        raise ValueError("--by-layer does not go with --gguf: llama.cpp has one basis for all layers")
    for name in ("steps", "measured"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} {getattr(options, name)} must be >= 1")
    options.rate = {"clex": 1e-3, "table": 6e-2}.get(options.form, 1e-2) if options.rate is None else options.rate
    if not options.rate > 0:
        raise ValueError(f"--rate {options.rate} must be > 0")
    trained = CLEX.for_config(config, hidden=1).original_length
    if options.length <= trained:
        raise ValueError(f"LENGTH {options.length} must be > {trained:g}, the length that the model was trained for")
    options.tokens = 2 * options.length if options.tokens is None else options.tokens
    if options.tokens < options.length:
        raise ValueError(f"--tokens {options.tokens} must be >= LENGTH {options.length}, one window")
    can_learn = has_alpha(config) or Rule(config.get_text_config()).rotates_whole_heads
    options.temperature = options.temperature or ("learned" if can_learn else "none")
    if options.temperature == "learned" and not can_learn:
        raise ValueError(f"--temperature learned must be none for MODEL {options.model}: lanes of its heads are not rotated, and "
                         "an attention factor, which is how a temperature is exported, misses them")
    torch.manual_seed(options.seed)
    basis = untempered_basis(config, options, trained)
    return basis if options.temperature == "none" or has_alpha(config) else Tempered(basis)


def untempered_basis(config, options: argparse.Namespace, trained: float) -> CLEX | LearnedTable | LeRoPE:
    low, high = options.parts or RAMPS[0]  # any, until one is chosen
    if options.form == "lerope":
        by_parts = {"rope_type": "llama3", "factor": options.length / trained, "low_freq_factor": low,
                    "high_freq_factor": high, "original_max_position_embeddings": round(trained)}
        return LeRoPE(config, None if has_alpha(config) else by_parts, t_max=options.length / trained)
    clex = CLEX.for_config(config, field="log_time", prior=("by_parts", low, high), t_max=options.length / trained,
                           hidden=1 if options.form == "table" else None)
    return clex if options.form == "clex" else LearnedTable(clex)


def parts_of_checkpoint(out: Path) -> list[float] | None:
    """The ramp of a run that goes on: choosing again costs time, and may end otherwise where two are nearly alike."""
    path = out / CHECKPOINT
    return torch.load(path, weights_only=True)["settings"]["parts"] if path.exists() else None


def chosen_parts(model: torch.nn.Module, config, options: argparse.Namespace, text: torch.Tensor,
                 begin: int | None) -> list[float]:
    """The ramp with the least loss at LENGTH, before anything is learned. Which one it is differs from model to model, and
    learning does not always make up for a poor one (docs/replication.md)."""
    draw = torch.Generator().manual_seed(options.seed)
    batches = [windows(text, options.length, options.tokens, begin, draw).to(model.device) for _ in range(CHOOSING)]
    losses = {}
    for parts in RAMPS:
        basis = new_basis(config, argparse.Namespace(**{**vars(options), "parts": parts}))
        with torch.no_grad(), apply_to(model, basis):
            losses[parts] = sum(model(ids, labels=ids, use_cache=False).loss.item() for ids in batches) / CHOOSING
    best = min(losses, key=losses.get)
    print(f"prior: by parts {best[0]:g} {best[1]:g}, of {len(RAMPS)} ramps with losses of {losses[best]:.3f} to "
          f"{max(losses.values()):.3f} at {options.length} tokens")
    return list(best)


def read_text(options: argparse.Namespace) -> tuple[torch.Tensor, torch.Tensor, int | None]:
    """The tokens to learn from, those to measure on (the end of the text), and the token with which the tokenizer begins
    every text, if any."""
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    begin = tokenizer.bos_token_id if tokenizer("a").input_ids[0] == tokenizer.bos_token_id else None
    ids = tokenizer(options.text.read_text(encoding="utf-8"), return_tensors="pt", add_special_tokens=False,
                    verbose=False).input_ids[0]
    if len(ids) < 2 * options.length:
        raise ValueError(f"TEXT {options.text} has {len(ids)} tokens, must have two windows of LENGTH {options.length}: one "
                         "to learn from and one to measure on")
    measured = max(options.length, min(len(ids) // 10, options.measured * options.length))
    return ids[:-measured], ids[-measured:], begin


def windows(text: torch.Tensor, length: int, tokens: int, begin: int | None, draw: torch.Generator) -> torch.Tensor:
    """[windows, length], as many as fit into `tokens`, each from a random place in the text."""
    begins = torch.randint(len(text) - length + 1, (tokens // length,), generator=draw)
    return begun(torch.stack([text[i:i + length] for i in begins.tolist()]), begin)


def begun(batch: torch.Tensor, begin: int | None) -> torch.Tensor:
    """Replaces every first token by `begin`, without which many models perform poorly."""
    return batch if begin is None else torch.cat([torch.full_like(batch[:, :1], begin), batch[:, 1:]], 1)


# Learning -----------------------------------------------------------------------------------------------------------


class Run:
    """The state of a run, saved in checkpoint.pt with its settings."""

    def __init__(self, options: argparse.Namespace, basis: torch.nn.Module, heads: dict[str, torch.nn.Parameter]) -> None:
        names = ("model", "length", "form", "temperature", "by_layer", "steps", "tokens", "rate", "parts", "seed", "measured")
        self.settings = {name: getattr(options, name) for name in names}
        self.settings["text"] = hashlib.sha256(options.text.read_bytes()).hexdigest()
        self.basis, self.heads, self.path = basis, heads, options.out / CHECKPOINT
        learning = {name: p for name, p in basis.named_parameters() if p.requires_grad}
        of_temperature = [learning.pop(name) for name in [*learning] if name.rpartition(".")[2] in ("log_slope", "power")]
        groups = ((learning.values(), options.rate), (of_temperature, TEMPERATURE_RATE), (heads.values(), HEADS_RATE))
        self.optimizer = torch.optim.Adam([{"params": list(params), "rate": rate} for params, rate in groups if params])
        self.step, self.perplexity, self.prior = 0, {}, []
        options.out.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self._go_on()

    def _go_on(self) -> None:
        state = torch.load(self.path, weights_only=True)
        for name, value in self.settings.items():
            if state["settings"].get(name) != value:
                raise ValueError(f"{self.path} is of a run with {name} {state['settings'].get(name)!r}, this one has {value!r}; "
                                 "choose another --out")
        self.step, self.perplexity, self.prior = state["step"], state["perplexity"], state["prior"]
        self.basis.load_state_dict(state["basis"])
        for name, parameter in self.heads.items():
            parameter.data.copy_(state["heads"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        print(f"going on after step {self.step} of {self.path}")

    def save(self) -> None:
        state = {"settings": self.settings, "step": self.step, "perplexity": self.perplexity, "prior": self.prior,
                 "basis": self.basis.state_dict(), "heads": {name: p.data for name, p in self.heads.items()},
                 "optimizer": self.optimizer.state_dict()}
        torch.save(state, self.path.with_suffix(".new"))
        os.replace(self.path.with_suffix(".new"), self.path)  # replaces the file atomically


def learn(run: Run, model: torch.nn.Module, trained: float, text: torch.Tensor, begin: int | None,
          options: argparse.Namespace) -> None:
    """The remaining steps. The windows of a step depend only on seed and step, so that a run can be resumed."""
    if options.recompute:
        recompute = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
        recompute({"use_reentrant": False})
        for module in model.modules():
            if isinstance(module, GradientCheckpointingLayer):
                module.training = True  # only this module: dropout inside it stays off
    started, began_at, saved, told = time.monotonic(), run.step, time.monotonic(), -math.inf
    while run.step < options.steps:
        draw = torch.Generator().manual_seed(options.seed * 1_000_003 + run.step)
        often, octave = torch.rand(2, generator=draw, dtype=torch.float64).tolist()
        longest = options.length / trained
        t = longest if often < LONGEST else longest**octave
        ids = windows(text, round(t * trained), options.tokens, begin, draw).to(options.device)
        run.optimizer.zero_grad()
        loss = model(ids, labels=ids, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*run.basis.parameters(), *run.heads.values()], 1.0)
        for group in run.optimizer.param_groups:
            group["lr"] = group["rate"] * share_of_rate(run.step, options.steps)
        run.optimizer.step()
        run.step += 1
        now = time.monotonic()
        if now - saved >= options.save_every or run.step == options.steps:
            run.save()
            saved = now
        if now - told >= 5 or run.step == options.steps:
            left = (now - started) / (run.step - began_at) * (options.steps - run.step)
            print(f"step {run.step}/{options.steps}, loss {loss.item():.3f} at {ids.shape[1]} tokens, "
                  f"{left // 60:.0f}:{left % 60:02.0f} left", flush=True)
            told = now


def share_of_rate(step: int, steps: int) -> float:
    """Rises over the warm-up and falls to 0 with a cosine."""
    return min(1.0, (step + 1) / (WARM_UP + 1)) * 0.5 * (1 + math.cos(math.pi * step / steps))


# Measuring ----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def perplexities(model: torch.nn.Module, text: torch.Tensor, lengths: list[int], begin: int | None) -> list[float]:
    """Over all tokens of non-overlapping windows, for each length, on the same text."""
    stretches = text[:len(text) // lengths[-1] * lengths[-1]].view(-1, lengths[-1])
    result = []
    for length in lengths:
        batches = [begun(row[:len(row) // length * length].view(-1, length), begin).to(model.device) for row in stretches]
        losses = [model(batch, labels=batch, use_cache=False).loss.item() for batch in batches]
        result.append(math.exp(sum(losses) / len(losses)))
    return result


def print_table(lengths: list[int], rows: dict[str, list[float]]) -> None:
    width = max(map(len, rows))
    print("perplexity".ljust(width), *(f"{n:>9}" for n in lengths))
    for name, row in rows.items():
        print(name.ljust(width), *(f"{p:9.3f}" for p in row))


def plot(lengths: list[int], run: Run, bases: torch.nn.ModuleList, prior: str, path: Path) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, row in run.perplexity.items():
        left.plot(lengths, row, marker="o", label=name)
    every = [p for row in run.perplexity.values() for p in row]
    left.set(xscale="log", yscale="log" if max(every) > 10 * min(every) else "linear", xlabel="tokens in a window",
             ylabel="perplexity", xticks=lengths)
    left.set_xticklabels(lengths)
    left.minorticks_off()
    left.legend()
    unscaled = unscaled_inv_freq(bases[0])
    longest, last = lengths[-1] / bases[0].original_length, len(bases) - 1
    right.plot(torch.tensor(run.prior) / unscaled, marker=".", label=prior)
    for layer, basis in enumerate(bases):  # from light to dark
        name = "learned" if last == 0 else f"learned, layer {layer}" if layer in (0, last) else None
        right.plot(basis(longest).detach() / unscaled, marker=".", label=name, color="C1", alpha=(layer + 1) / (last + 1))
    right.set(yscale="log", xlabel="pair", ylabel=f"alpha at t = {longest:g}")
    right.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"tune_basis: {error}")
