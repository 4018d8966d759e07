# SPDX-License-Identifier: MIT
"""Rotations of the PyPI packages on a device, each called as its users call it, with cos and sin made beforehand. A
function takes a case and returns the call that rotates a set of it: rotated q and k, [tokens, heads, HEAD_DIM]."""
import importlib.util
import pathlib

import torch
from case import DTYPES, HALF_SPLIT, INTERLEAVED


def copy(_):
    """A copy that reads and writes as many bytes as a rotation."""
    return lambda tensors: tensors.flat.clone()


def head_major(tensors):
    """Views [1, heads, tokens, HEAD_DIM] of token-major tensors."""
    return (x[None].transpose(1, 2) for x in (tensors.q, tensors.k))


def token_major(rotated):
    return tuple(y.transpose(1, 2)[0] for y in rotated)


def doubled_cos_sin(case):
    """[1, tokens, HEAD_DIM] in the type of q, as transformers' modules make them."""
    return (torch.cat((part, part), dim=-1)[None].to(DTYPES[case.dtype]) for part in (case.cos, case.sin))


def transformers_eager(case, compiled=False):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    cos, sin = doubled_cos_sin(case)
    rotate = apply_rotary_pos_emb
    if compiled:
        torch._dynamo.reset()
        rotate = torch.compile(rotate, dynamic=False)
    return lambda tensors: token_major(rotate(*head_major(tensors), cos, sin))


def transformers_compiled(case):
    return transformers_eager(case, compiled=True)


def module_of(folder, path):
    """Imports one file of a package without the package's other requirements."""
    file = pathlib.Path(folder) / path
    if not file.exists():
        raise FileNotFoundError(f"{file} is not there: run.sh build found no package to take it from")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def liger(folder):
    def prepare(case):
        rope_forward = module_of(folder, "liger_kernel/ops/rope.py").rope_forward
        cos, sin = doubled_cos_sin(case)
        return lambda tensors: token_major(rope_forward(*head_major(tensors), cos, sin)[:2])

    return prepare


def flash_attn(folder, interleaved):
    def prepare(case):
        apply_rotary = module_of(folder, "flash_attn/ops/triton/rotary.py").apply_rotary
        return lambda tensors: tuple(
            apply_rotary(x[None], case.cos, case.sin, interleaved=interleaved, inplace=True)[0]
            for x in (tensors.q, tensors.k))

    return prepare


def peers(folder):
    """(name, style, function) of each."""
    return [("transformers eager", HALF_SPLIT, transformers_eager),
            ("transformers torch.compile", HALF_SPLIT, transformers_compiled),
            ("liger-kernel", HALF_SPLIT, liger(folder)),
            ("flash-attn triton", HALF_SPLIT, flash_attn(folder, interleaved=False)),
            ("flash-attn triton", INTERLEAVED, flash_attn(folder, interleaved=True))]
