# SPDX-License-Identifier: MIT
"""Calls that do more than rotate, of q, k and v in rows of one bf16 tensor: RMSNorm before the rotation, in place; and
the rotation with a store in fp8, of k and v in the pages of a cache. Each kind has cordage's call and a package's."""
import dataclasses
import functools
import typing

import gpu_case
import torch
from case import HALF_SPLIT, HEAD_DIM, INTERLEAVED, exact_rotation
from gpu_case import HEADS, KV_HEADS
from gpu_libraries import LibraryRotation, peers_of

EPSILON, PAGE = 1e-6, 16


class RowSet:
    """qkv [tokens, HEADS + 2 KV_HEADS, HEAD_DIM] in `flat`, and for a cache q, k and v in fp8."""

    def __init__(self, case, seed):
        self.case, self.seed = case, seed
        self.flat = torch.empty(case.tokens * (HEADS + 2 * KV_HEADS) * HEAD_DIM, dtype=torch.bfloat16, device=case.device)
        self.qkv = self.flat.view(case.tokens, HEADS + 2 * KV_HEADS, HEAD_DIM)
        self.q, self.k, self.v = self.qkv.split((HEADS, KV_HEADS, KV_HEADS), dim=1)
        self.fp8 = None
        if case.kind.has_cache:
            self.pages = -(-case.tokens // PAGE)
            q_size, cache_size = case.tokens * HEADS * HEAD_DIM, self.pages * PAGE * KV_HEADS * HEAD_DIM
            self.fp8 = torch.zeros(q_size + 2 * cache_size, dtype=torch.uint8, device=case.device).view(torch.float8_e4m3fn)
            q, keys, values = self.fp8.split((q_size, cache_size, cache_size))
            self.q_fp8 = q.view(case.tokens, HEADS, HEAD_DIM)
            self.keys, self.values = (x.view(self.pages, PAGE, KV_HEADS, HEAD_DIM) for x in (keys, values))
        self.fill()

    fill = gpu_case.TensorSet.fill

    def pointers(self):
        return self.flat.data_ptr(), None if self.fp8 is None else self.fp8.data_ptr()

    def results(self):
        if self.fp8 is None:
            return self.q, self.k
        return tuple(x.view(-1, x.shape[-2], HEAD_DIM)[: self.case.tokens] for x in (self.q_fp8, self.keys, self.values))


class FusedCase(gpu_case.GpuCase):
    """A case of a kind, whose sets are RowSets."""

    def __init__(self, *sizes, kind):
        self.kind = kind
        super().__init__(*sizes)

    def make_set(self, seed):
        return RowSet(self, seed)

    def error(self, style, found):
        """Largest error of the results of set 0 against float64."""
        sample = self.sample()
        rows = sample.to(self.device)
        tensors, largest = self.sets[0], 0.0
        for before, after in zip((tensors.q, tensors.k, tensors.v), found):
            exact = self.kind.exact(before[rows].cpu().double(), sample, style, before is tensors.v)
            largest = max(largest, (after.float()[rows].cpu().double() - exact).abs().max().item())
        return largest


def normalized_and_rotated(x, sample, style, _):
    return exact_rotation(x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt(), sample, style)


def rotated_or_kept(x, sample, style, is_v):
    return x if is_v else exact_rotation(x, sample, style)


def vllm(style):
    def prepare(case):
        from vllm import _custom_ops

        weight = torch.ones(HEAD_DIM, dtype=torch.bfloat16, device=case.device)
        cos_sin, positions = case.cos_sin.to(torch.bfloat16), case.positions.long()

        def call(tensors):
            _custom_ops.fused_qk_norm_rope(tensors.flat.view(case.tokens, -1), HEADS, KV_HEADS, KV_HEADS, HEAD_DIM, EPSILON,
                                           weight, weight, cos_sin, style == HALF_SPLIT, positions)
            return tensors.results()

        return call

    return prepare


def flashinfer(style):
    def prepare(case):
        from flashinfer.rope import rope_quantize_fp8_append_paged_kv_cache

        pages = -(-case.tokens // PAGE)
        numbers = functools.partial(torch.tensor, dtype=torch.int32, device=case.device)
        page_of, first_page = numbers(range(pages)), numbers([0, pages])
        row_of = torch.zeros_like(case.positions)

        def call(tensors):
            none = tensors.q[..., :0]
            rope_quantize_fp8_append_paged_kv_cache(
                tensors.q, tensors.k, none, tensors.k[..., :0], tensors.v, case.cos_sin, case.positions,
                (tensors.keys, tensors.values), page_of, first_page, row_of, case.positions, is_neox=style == HALF_SPLIT,
                quantize_dtype=torch.float8_e4m3fn, page_size=PAGE, q_rope_out=tensors.q_fp8)
            return tensors.results()

        return call

    return prepare


@dataclasses.dataclass
class Kind:
    name: str
    table: str
    has_cache: bool
    exact: typing.Callable
    copied: int  # half of what the call reads and writes, in twelfths of q, k and v
    libraries: dict  # the name of what it has, by library
    package: str
    prepare: typing.Callable
    largest_error: float

    def copy(self, _):
        """A copy that reads and writes as many bytes as the call."""
        return lambda tensors: tensors.flat[: tensors.flat.numel() * self.copied // 12].clone()

    def makers(self, folder):
        """(name, style, function) of cordage's call, of another library's and of the package's."""
        def of_library(library, style):
            def prepare(case):
                peers = peers_of(folder / f"lib{library}_gpu_peer.so", self.table)
                return LibraryRotation(next(peer for peer in peers if peer.style == style), case)

            return prepare

        for style in (HALF_SPLIT, INTERLEAVED):
            for library, name in self.libraries.items():
                yield name, style, of_library(library, style)
            yield self.package, style, self.prepare(style)


KINDS = (Kind("norm,", "gpu_norm_peers", False, normalized_and_rotated, 10,
              {"cordage": "cordage exact", "sglang": "sglang fused"}, "vllm", vllm, 2e-1),
         Kind("to fp8,", "gpu_fp8_cache_peers", True, rotated_or_kept, 9,
              {"cordage": "cordage exact", "flashinfer": "flashinfer fused"}, "flashinfer's Python", flashinfer, 4e-1))
