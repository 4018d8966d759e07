# SPDX-License-Identifier: MIT
"""How a model's own function rotates a head, and the rotations that a patched model passes to it instead of cos and sin."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .rotation import rotate, rotate_by_axes, rotate_by_table

# The convention by which a model's own function rotates a head --------------------------------------------------------


class Convention(NamedTuple):
    """The convention of a function apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim)."""

    interleaved: bool  # pairs (2i, 2i + 1) instead of (i, i + pairs)
    is_inverse: bool  # by the negative angle
    is_table_doubled: bool  # cos and sin hold each pair's number twice
    repeats_lanes: bool  # they hold them as c0 c0 c1 c1 instead of c0 c1 c0 c1
    splits: bool  # the result has the first lanes of all pairs, then the second ones

    def tables(self, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """The model's cos and sin as [..., pairs], for a rotation by the positive angle."""
        if self.is_table_doubled:
            once = slice(None, None, 2) if self.repeats_lanes else slice(cos.shape[-1] // 2)
            cos, sin = cos[..., once], sin[..., once]
        return cos, -sin if self.is_inverse else sin

    def positions(self, position_ids: Tensor) -> Tensor:
        """The model's positions, for a rotation by the positive angle."""
        return -position_ids if self.is_inverse else position_ids

    def laid_out(self, rotated: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Rotated heads in the layout that the function returns."""
        if not self.splits:
            return rotated
        return tuple(torch.cat((one[..., ::2], one[..., 1::2]), -1) for one in rotated)


_KNOWN = {  # 1 2 3 4 rotated by a quarter turn
    (-3.0, -4.0, 1.0, 2.0): (False, False, False), (3.0, 4.0, -1.0, -2.0): (False, True, False),
    (-2.0, 1.0, -4.0, 3.0): (True, False, False), (2.0, -1.0, 4.0, -3.0): (True, True, False),
    (-2.0, -4.0, 1.0, 3.0): (True, False, True)}


def convention_of(function) -> Convention | None:
    """The convention of a model's own function, from its result for a head of four lanes; None if it is not a rotation."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], device="cpu").reshape(1, 1, 1, 4)
    for width in (4, 2):
        zeros, ones = torch.zeros(1, 1, width, device="cpu"), torch.ones(1, 1, width, device="cpu")
        try:
            rotated = function(x, x, zeros, ones)[0].flatten().tolist()
        except (RuntimeError, TypeError):
            continue
        if tuple(rotated) in _KNOWN:
            interleaved, is_inverse, splits = _KNOWN[tuple(rotated)]
            repeats_lanes = False
            if width == 4 and interleaved and not splits:
                of_lanes = function(x, x, zeros, torch.tensor([[[1.0, 1.0, 2.0, 2.0]]], device="cpu"))[0].flatten().tolist()
                repeats_lanes = of_lanes[2:] != rotated[2:]
            return Convention(interleaved, is_inverse, width == 4, repeats_lanes, splits)
    return None


# Objects that a patched model passes from its rotary embedding to its attention -------------------------------------


class Opaque:
    """Passed through a model in place of a tensor, to a replaced function."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise ValueError(f"apply_to: this model calls {getattr(function, '__name__', function)} on cos or sin before it "
                         "rotates by them, so that it cannot be patched; the kernel of examples/transformers_kernels can "
                         "serve it")

    def __getitem__(self, index):
        self.__torch_function__("an index", ())


@dataclass
class Rotation(Opaque):
    position_ids: Tensor
    inv_freq: Tensor
    attention_factor: Tensor

    def apply(self, *x: Tensor, heads_first: bool, convention: Convention) -> tuple[Tensor, ...]:
        return rotate(*x, position_ids=convention.positions(self.position_ids), inv_freq=self.inv_freq,
                      attention_factor=self.attention_factor, interleaved=convention.interleaved, heads_first=heads_first)


@dataclass
class TableRotation(Opaque):
    cos: Tensor
    sin: Tensor

    def apply(self, *x: Tensor, heads_first: bool, convention: Convention) -> tuple[Tensor, ...]:
        cos, sin = convention.tables(self.cos, self.sin)
        return rotate_by_table(*x, cos=cos, sin=sin, interleaved=convention.interleaved, heads_first=heads_first)


@dataclass
class AxesRotation(Opaque):
    """Angles of positions with several axes, each pair rotated by one of them."""

    position_ids: Tensor  # [axes, batch, tokens]
    axis_of_pair: Tensor
    inv_freq: Tensor
    attention_factor: Tensor

    def apply(self, *x: Tensor, heads_first: bool, convention: Convention) -> tuple[Tensor, ...]:
        return rotate_by_axes(*x, position_ids=convention.positions(self.position_ids), axis_of_pair=self.axis_of_pair,
                              inv_freq=self.inv_freq, attention_factor=self.attention_factor,
                              interleaved=convention.interleaved, heads_first=heads_first)
