# SPDX-License-Identifier: MIT
"""From the projection to the cache: RMSNorm of q and k, the rotation, k and v into slots, rounded or quantised. cordage in
one call, torch in the same steps, eager and by torch.compile."""
import ctypes
import os
import sys

import torch
from case import DTYPES, HALF_SPLIT, HEAD_DIM, exact_cos_sin, exact_rotation
from libraries import RopeCase, rope_case
from rounds import Calls, interleaved

BLOCK_SIZE, EPS = 16, 1e-6
STORED = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "int8": torch.int8,
          "fp8": torch.float8_e4m3fn}
LARGEST_CODE = {"int8": 127.0, "fp8": 448.0}
KINDS = (("fp32", "fp32"), ("fp32", "bf16"), ("bf16", "bf16"), ("bf16", "fp8"), ("bf16", "int8"))
# Of a head whose largest lane is about 4, and which is right, if not precise.
LARGEST_ERROR = {"fp32": 2e-3, "bf16": 1e-1, "fp8": 5e-1, "int8": 1e-1}


class CacheCase(ctypes.Structure):
    _fields_ = [("of", RopeCase), ("blocks", ctypes.c_int64), ("block_size", ctypes.c_int64), ("stored", ctypes.c_int32),
                *((name, ctypes.c_void_p) for name in ("slots", "q_norm", "k_norm", "q", "k", "v", "q_out", "keys", "values",
                                                       "key_scales", "value_scales"))]


class Problem:
    """A case of case.py with weights, v, and a cache twice as large as the tokens, whose blocks lie in any order."""

    def __init__(self, case, stored):
        self.case, self.stored, tokens = case, stored, len(case.positions)
        self.blocks = 2 * -(-tokens // BLOCK_SIZE)
        in_order = torch.arange(tokens)
        self.slots = torch.randperm(self.blocks)[in_order // BLOCK_SIZE] * BLOCK_SIZE + in_order % BLOCK_SIZE
        self.q_norm, self.k_norm = (1.0 + 0.1 * torch.randn(HEAD_DIM) for _ in range(2))
        self.v = torch.randn_like(case.k.float()).to(case.k.dtype)

    def new_cache(self):
        """keys, values, key_scales, value_scales, each with a row a slot."""
        rows = self.blocks * BLOCK_SIZE
        caches = [torch.zeros(rows, self.case.kv_heads, HEAD_DIM).to(STORED[self.stored]) for _ in range(2)]
        return caches + [torch.ones(rows, self.case.kv_heads) for _ in range(2)]

    def error(self, q, keys, values, key_scales, value_scales):
        """The largest errors of q and of the stored keys and values against float64."""

        def exact(x, weight):
            x = x.double()
            normalized = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight.double()
            return exact_rotation(normalized, self.case.positions, HALF_SPLIT)

        def read(cache, scales):
            return cache[self.slots].double() * scales[self.slots][..., None].double()

        def distance(a, b):
            return (a.double() - b).abs().max().item()

        of_cache = max(distance(read(keys, key_scales), exact(self.case.k, self.k_norm)),
                       distance(read(values, value_scales), self.v.double()))
        return distance(q, exact(self.case.q, self.q_norm)), of_cache


class CordageCall:
    RUNS_A_LOAD = None

    def __init__(self, library, problem, loops_in_python):
        self.name = "cordage_by_ctypes" if loops_in_python else "cordage"
        self.function, self.problem = ctypes.CDLL(os.path.abspath(library)).cordage_cache_path, problem
        self.q, self.cache, self.loops_in_python = torch.empty_like(problem.case.q), problem.new_cache(), loops_in_python
        tensors = (problem.slots, problem.q_norm, problem.k_norm, problem.case.q, problem.case.k, problem.v, self.q,
                   *self.cache)
        self.c_case = CacheCase(rope_case(problem.case), problem.blocks, BLOCK_SIZE, list(STORED).index(problem.stored),
                                *(tensor.data_ptr() for tensor in tensors))

    def run(self, repeats):
        for count in [1] * repeats if self.loops_in_python else [repeats]:
            if self.function(ctypes.byref(self.c_case), ctypes.c_int64(count)) != 0:
                raise NotImplementedError("cordage_cache_path refuses the case")

    def result(self):
        self.run(1)
        return self.q, *self.cache


def torch_call(problem, compiled):
    """The same steps in torch's operations; cos and sin are made before the clock starts."""
    case, dtype, stored = problem.case, DTYPES[problem.case.dtype], problem.stored
    cos, sin = (torch.from_numpy(part).float().to(dtype)[:, None] for part in exact_cos_sin(case.positions))
    q_norm, k_norm = problem.q_norm.to(dtype), problem.k_norm.to(dtype)
    cache = problem.new_cache()

    def rotated(x, weight):
        x0, x1 = torch.nn.functional.rms_norm(x, (HEAD_DIM,), weight, EPS).chunk(2, -1)
        return torch.cat((x0 * cos - x1 * sin, x1 * cos + x0 * sin), -1)

    def store(x, slots, to, scales):
        if stored in LARGEST_CODE:
            scale = x.float().abs().amax(-1, keepdim=True) / LARGEST_CODE[stored]
            x = x.float() / scale
            scales[slots] = scale[..., 0]
        if stored == "int8":
            x = x.round()
        to[slots] = x.to(to.dtype)

    def steps(q, k, v, slots, keys, values, key_scales, value_scales):
        store(rotated(k, k_norm), slots, keys, key_scales)
        store(v, slots, values, value_scales)
        return rotated(q, q_norm)

    torch._dynamo.reset()
    call = torch.compile(steps, dynamic=False) if compiled else steps
    inputs = (case.q, case.k, problem.v, problem.slots, *cache)
    entry = Calls("torch_compiled" if compiled else "torch_eager", torch.no_grad()(lambda: call(*inputs)))
    entry.result = lambda: (entry.call(), *cache)
    return entry


def compare(library, case, stored, rounds, shortest):
    """{"times": {name: [seconds]}, "errors": {name: [of q, of the cache]}}"""
    problem = Problem(case, stored)
    entries = [CordageCall(library, problem, False), CordageCall(library, problem, True), torch_call(problem, False),
               torch_call(problem, True)]
    errors = {entry.name: problem.error(*entry.result()) for entry in entries}
    for name, (of_q, of_cache) in errors.items():
        if not (of_q < LARGEST_ERROR[case.dtype] and of_cache < max(LARGEST_ERROR[case.dtype], LARGEST_ERROR[stored])):
            sys.exit(f"{case.name}/{case.dtype}/{stored}: {name} is wrong: errors {of_q} of q, {of_cache} of the cache")
    return {"times": interleaved(entries, rounds, shortest), "errors": errors}
