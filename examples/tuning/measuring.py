# SPDX-License-Identifier: MIT
"""Losses of text, and pass keys, in windows that a model has not learned from."""
from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import DynamicCache

from .report import Row
from .windows import read, step, window_at

KEYS = 8  # of a window
SENTENCE = " The pass key is {key}. Remember it. {key} is the pass key."
QUESTION = " What is the pass key? The pass key is "


@torch.no_grad()
def measured_row(model: nn.Module, text: Tensor, windows: int, tokens: int, dense_tokens: int, length: int, whole: int,
                 begin: int | None, encode, seed: int) -> Row:
    """Of `windows` windows of `tokens` tokens, evenly distributed over the text: losses in chunks to `length`, of their first
    `dense_tokens` at true positions, and pass keys in chunks; of the last `whole` windows of `length` tokens at true positions.

    Args:
        encode: the tokenizer's, of a text without special tokens, as a list
    """
    draw = torch.Generator().manual_seed(seed)
    row: Row = {name: [] for name in ("dense", "chunks", "digits", "found", "asked")}
    for index in range(windows):
        at = (len(text) - tokens) * index // max(1, windows - 1)
        dense = window_at(text, at, dense_tokens, dense_tokens, begin, draw)
        row["dense"].append(_of_text(read(model, dense).losses, dense))
        chunks = window_at(text, at, tokens, length, begin, draw)
        losses, cache = read(model, chunks)
        row["chunks"].append(_of_text(losses, chunks))
        answers = [ask(model, cache, chunks, encode, draw) for _ in range(KEYS)] if cache and _has_room(chunks, encode) else []
        if answers:
            row["digits"].append(sum(loss for loss, _ in answers) / len(answers))
            row["found"].append(float(sum(found for _, found in answers)))
            row["asked"].append(float(len(answers)))
    for index in range(whole):
        window = window_at(text, len(text) - (index + 1) * length, length, length, begin, draw)
        row.setdefault("whole", []).append(_of_text(read(model, window).losses, window))
    return {name: numbers for name, numbers in row.items() if numbers}


def _of_text(losses: Tensor, window) -> float:
    return losses[:window.again - window.behind - 1].mean().item()


def _has_room(window, encode) -> bool:
    return 2 * len(encode(SENTENCE.format(key="12345"))) < window.behind


def ask(model: nn.Module, cache: DynamicCache, window, encode, draw: torch.Generator) -> tuple[float, bool]:
    """The loss of the digits of a random key, and whether each of them is the most probable token (as if generated greedily). Its
    sentence takes the place of as many tokens of the cache before the last part; the question stands behind the window."""
    device = next(model.parameters()).device
    key = "".join(str(digit) for digit in torch.randint(10, (5,), generator=draw).tolist())
    sentence = torch.tensor([encode(SENTENCE.format(key=key))], device=device)
    question, digits = encode(QUESTION), encode(key)
    count = sentence.shape[1]
    place = int(torch.randint(1, window.behind - count, (), generator=draw))
    cut = DynamicCache()
    for index, layer in enumerate(cache.layers):
        cut.update(layer.keys[..., :place, :], layer.values[..., :place, :], index)
    step(model, sentence, window.positions[None, place:place + count].to(device), cut, logits_to_keep=1)
    for own, layer in zip(cut.layers, cache.layers):
        own.keys = torch.cat([own.keys, layer.keys[..., place + count:, :]], -2)
        own.values = torch.cat([own.values, layer.values[..., place + count:, :]], -2)
    ids = torch.tensor([question + digits], device=device)
    positions = window.positions[-1].item() + 1 + torch.arange(ids.shape[1], device=device)[None]
    logits = step(model, ids, positions, cut)[0, len(question) - 1:-1].float()
    wanted = torch.tensor(digits, device=device)
    return cross_entropy(logits, wanted).item(), bool((logits.argmax(-1) == wanted).all())
