# SPDX-License-Identifier: MIT
"""The input of every implementation on the device: sets of q and k at positions 0, 1, ..., and the exact result."""
import dataclasses

import torch
from case import DTYPES, HEAD_DIM, exact_cos_sin, exact_rotation

HEADS, KV_HEADS = 32, 8
COLD_BYTES = 512 << 20  # of all sets together: far more than a cache of the second level holds
MOST_SETS, CHAIN = 64, 100
SAMPLED_TOKENS = 128  # first and last ones, whose error is looked at


def case_name(tokens, decodes):
    return f"{'decode' if decodes else 'prefill'} {tokens}"


class TensorSet:
    """q [tokens, HEADS, HEAD_DIM] and k [tokens, KV_HEADS, HEAD_DIM], one after the other in `flat`."""

    def __init__(self, case, seed):
        shapes = [(case.tokens, heads, HEAD_DIM) for heads in (HEADS, KV_HEADS)]
        sizes = [case.tokens * heads * HEAD_DIM for heads in (HEADS, KV_HEADS)]
        self.flat = torch.empty(sum(sizes), dtype=DTYPES[case.dtype], device=case.device)
        self.q, self.k = (part.view(shape) for part, shape in zip(self.flat.split(sizes), shapes))
        self.seed = seed
        self.fill()

    def fill(self):
        generator = torch.Generator(self.flat.device).manual_seed(self.seed)
        self.flat.normal_(generator=generator)

    def pointers(self):
        """Addresses of q and k, as a library's run takes them."""
        return self.q.data_ptr(), self.k.data_ptr()

    def results(self):
        """The result of a call that works in place."""
        return self.q, self.k


@dataclasses.dataclass
class GpuCase:
    """Prompts use several sets, too large for the cache together; decode steps rotate one set again and again."""

    tokens: int
    dtype: str
    decodes: bool = False
    device: str = "cuda"

    def __post_init__(self):
        self.name = case_name(self.tokens, self.decodes)
        self.positions = torch.arange(self.tokens, dtype=torch.int32, device=self.device)
        cos, sin = (torch.from_numpy(part).float() for part in exact_cos_sin(self.positions.cpu()))
        self.cos, self.sin = cos.to(self.device), sin.to(self.device)
        self.cos_sin = torch.cat((self.cos, self.sin), dim=1).contiguous()
        size = self.tokens * (HEADS + KV_HEADS) * HEAD_DIM * DTYPES[self.dtype].itemsize
        count = 1 if self.decodes else min(MOST_SETS, max(2, -(-COLD_BYTES // size)))
        self.sets = [self.make_set(seed) for seed in range(count)]
        self.calls = CHAIN if self.decodes else count

    def make_set(self, seed):
        return TensorSet(self, seed)

    def fill(self):
        for tensors in self.sets:
            tensors.fill()

    def sample(self):
        """The first and the last tokens."""
        part = min(self.tokens, SAMPLED_TOKENS)
        return torch.cat((torch.arange(part), torch.arange(self.tokens - part, self.tokens))).unique()

    def error(self, style, rotated):
        """Largest error of the rotated q and k of set 0 against float64."""
        sample = self.sample()
        largest = 0.0
        for before, after in zip((self.sets[0].q, self.sets[0].k), rotated):
            exact = exact_rotation(before[sample.to(self.device)].cpu(), sample, style)
            largest = max(largest, (after[sample.to(self.device)].cpu().double() - exact).abs().max().item())
        return largest


def sizes(dtypes, prompts=(512, 2048, 4096, 16384), steps=(1, 8, 64, 256)):
    """(tokens, dtype, decodes) of every case."""
    for dtype in dtypes:
        yield from ((tokens, dtype, True) for tokens in steps)
        yield from ((tokens, dtype, False) for tokens in prompts)
