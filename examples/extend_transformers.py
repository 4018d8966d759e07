# SPDX-License-Identifier: MIT
"""Extends a model's context without touching its weights: a CLEX learns the basis for 8 times the length.

The model is a small Llama, trained here for some seconds on the bytes of this repository's pages.
"""
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from cordage_torch import CLEX, apply_to

L = 64
pages = sorted(Path(__file__).parent.parent.rglob("docs/*.md"))
text = torch.tensor(list(b"".join(page.read_bytes() for page in pages)))


def windows(count: int, length: int) -> torch.Tensor:
    return torch.stack([text[i:i + length] for i in torch.randint(len(text) - length, (count,))])


def train(model: torch.nn.Module, weights: list[torch.nn.Parameter], steps: int, length: int, rate: float) -> None:
    optimizer = torch.optim.Adam(weights, lr=rate)
    for _ in range(steps):
        ids = windows(1024 // length, length)
        optimizer.zero_grad()
        model(ids, labels=ids).loss.backward()
        optimizer.step()


@torch.no_grad()
def report(name: str) -> float:
    torch.manual_seed(1)  # the same windows in every run
    losses = [sum(model(ids, labels=ids).loss.item() for ids in windows(8, n).split(4)) / 2 for n in (L, 8 * L)]
    print(f"{name:24} loss at {L} tokens {losses[0]:.3f}, at {8 * L} tokens {losses[1]:.3f}")
    return losses[1]


torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                     num_attention_heads=4, max_position_embeddings=L))
train(model, list(model.parameters()), steps=250, length=L, rate=3e-3)
before = report("no scaling")

model.requires_grad_(False)
clex = CLEX.for_config(model.config, field="log_length", prior=("by_parts", 0.5, 4.0))
patch = apply_to(model, clex)
by_parts = report("by parts, not learned")
train(model, list(clex.parameters()), steps=40, length=8 * L, rate=0.05)
after = report("CLEX, 40 steps")
patch.undo()
assert after < by_parts and after < before, "the learned basis must be the best at 8 times the length"
