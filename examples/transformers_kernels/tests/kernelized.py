# SPDX-License-Identifier: MIT
"""Compares a model with and without the kernel."""
import contextlib
import importlib
from pathlib import Path

import torch
from kernels import LocalLayerRepository, Mode, kernelize, use_kernel_mapping
from small_families import apart, asking, result, small

ROTARY = LocalLayerRepository(Path(__file__).resolve().parent.parent / "repository", layer_name="rotary_pos_emb")


@contextlib.contextmanager
def kernelized(model, mode=Mode.TRAINING, device="cpu"):
    """The model with the kernel, and all of its family, until the end."""
    with use_kernel_mapping({"rotary_pos_emb": {"cpu": ROTARY, "cuda": ROTARY}}, inherit_mapping=False):
        kernelize(model, mode=mode, device=device)
    try:
        yield model
    finally:
        with use_kernel_mapping({}, inherit_mapping=False):
            kernelize(model, mode=mode, device=device)


def function_of(family):
    return importlib.import_module(asking()[family]).apply_rotary_pos_emb


def differences(family, dtype=torch.float32):
    """Of the family's small model: whether the function was called, and how far output and gradients are from eager's,
    of the largest number of each."""
    model, inputs = small(family, dtype)
    eager, eager_gradients = result(model, inputs)
    with kernelized(model):
        served = function_of(family)
        calls, forward = [], served.forward
        served.forward = lambda *arguments, **named: calls.append(1) or forward(*arguments, **named)
        got, gradients = result(model, inputs)
    return len(calls), apart([got], [eager]), apart(gradients, eager_gradients)
