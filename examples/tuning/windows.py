# SPDX-License-Identifier: MIT
"""Windows of text whose positions span a length, and the losses of a model in them."""
from __future__ import annotations

from typing import NamedTuple

import torch
from cordage_torch.conventions import Rotation
from cordage_torch.patching import CordageRotary
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import DynamicCache

CHUNKS = 8
LAST = 6  # of so many parts of a window, the last one has the losses that count
AGAIN = 4  # of so many parts of these tokens, the last one repeats an earlier passage


class Window(NamedTuple):
    """Dense text, cut into chunks with gaps between them (as PoSE, Zhu et al. 2024)."""

    ids: Tensor  # [tokens]
    positions: Tensor  # [tokens]; they increase, by 1 within a chunk
    behind: int  # the first token of the last part, which is contiguous
    again: int  # the first token of the passage that is repeated at the end


def window_at(text: Tensor, at: int, tokens: int, length: int, begin: int | None, draw: torch.Generator) -> Window:
    """`tokens` tokens of a text from `at` on, at positions 0 to length - 1. With length == tokens there are no gaps.

    The last part ends with a passage of the parts before it: a loss of looking up that needs no labels.

    Args:
        begin: replaces the first token, which many models need; or None
    """
    ids = text[at:at + tokens].clone()
    last = tokens // LAST
    behind, repeated = tokens - last, last // AGAIN
    source = int(torch.randint(1, behind - repeated + 1, (), generator=draw))
    ids[tokens - repeated:] = ids[source:source + repeated]
    if begin is not None:
        ids[0] = begin
    places = 1 + torch.randperm(behind - last // AGAIN - 1, generator=draw)[:CHUNKS - 1].sort().values
    gaps = -torch.rand(len(places), generator=draw, dtype=torch.float64).log()
    ends = (gaps.cumsum(0) / gaps.sum() * (length - tokens)).round().long()
    positions = torch.arange(tokens)
    for place, gap in zip(places, ends.diff(prepend=torch.zeros(1, dtype=torch.long))):
        positions[place:] += gap
    return Window(ids, positions, behind, tokens - repeated)


def drawn_window(text: Tensor, tokens: int, length: int, begin: int | None, draw: torch.Generator) -> Window:
    at = int(torch.randint(len(text) - tokens + 1, (), generator=draw))
    return window_at(text, at, tokens, length, begin, draw)


class Reading(NamedTuple):
    losses: Tensor  # of the tokens behind the first one of the last part
    cache: DynamicCache | None  # of the whole window


def read(model: nn.Module, window: Window, with_gradient_of=None) -> Reading:
    """The losses of a window's last part.

    Only the last part has a gradient, to the numbers of a basis: the tokens before it are read without one, and their cached keys
    are turned by an angle of 0 that has the gradient of their own rotation (PrefixKeys).

    Args:
        with_gradient_of: None, or a PrefixKeys
    """
    device = next(model.parameters()).device
    ids, positions = window.ids[None].to(device), window.positions[None].to(device)
    if not has_plain_cache(model) or (with_gradient_of is not None and not with_gradient_of.can_turn):
        logits = model(ids, position_ids=positions, use_cache=False, attention_mask=torch.ones_like(ids)).logits
        return Reading(_losses(logits[0, window.behind:-1], ids[0, window.behind + 1:]), None)
    cache = DynamicCache()
    with torch.no_grad():
        step(model, ids[:, :window.behind], positions[:, :window.behind], cache, logits_to_keep=1)
    if with_gradient_of is not None:
        with_gradient_of.turn(cache, positions[:, :window.behind])
    logits = step(model, ids[:, window.behind:], positions[:, window.behind:], cache)
    return Reading(_losses(logits[0, :-1], ids[0, window.behind + 1:]), cache)


def has_plain_cache(model: nn.Module) -> bool:
    """Whether rotated keys are cached as they are, which those of latent attention are not."""
    return not hasattr(model.config.get_text_config(), "qk_nope_head_dim")


def step(model: nn.Module, ids: Tensor, positions: Tensor, cache: DynamicCache, **more) -> Tensor:
    """Logits. With a cache, transformers does not take a gap between positions for the beginning of another text."""
    return model(ids, position_ids=positions, past_key_values=cache, use_cache=True, **more).logits


def _losses(logits: Tensor, ids: Tensor) -> Tensor:
    return cross_entropy(logits.float(), ids, reduction="none")


class PrefixKeys:
    """The gradient of cached keys to the basis by which they were rotated.

    A key k rotated by p w equals the same rotated once more by p (w - w'), w' the constant w: an angle of 0, whose gradient to w
    is that of the first rotation. So keys can be cached without a graph.
    """

    def __init__(self, model: nn.Module, basis, t: float) -> None:
        rotaries = [one for one in model.modules() if isinstance(one, CordageRotary)]
        settings = model.config.get_text_config()
        # Elsewhere, as where layers share keys, a whole window has a gradient.
        self.can_turn = len(rotaries) == 1 and has_plain_cache(model) and not getattr(settings, "num_kv_shared_layers", 0)
        self.modeling, self.layer_types = rotaries[0].modeling, getattr(settings, "layer_types", None)
        self.by_type = bool(getattr(rotaries[0].original, "layer_types", None))
        self.basis, self.t = basis, t

    def turn(self, cache: DynamicCache, positions: Tensor) -> None:
        inv_freq, factor = self.basis.basis(self.t)
        rotation = Rotation(positions, inv_freq - inv_freq.detach(), factor / factor.detach())
        for index, layer in enumerate(cache.layers):
            if not self.by_type or self.layer_types[index] == "full_attention":
                layer.keys = self.modeling.apply_rotary_pos_emb(layer.keys, None, rotation, rotation)[0]
