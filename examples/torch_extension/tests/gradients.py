# SPDX-License-Identifier: MIT
"""Gradients of a function of tensors, on the CPU by finite differences, on a GPU beside those of the CPU."""
import torch
from torch.autograd import gradcheck


def leaf(x, device, dtype=None):
    """The numbers of x on a device, in a type; a new tensor, also where x is there and of the type."""
    return x.detach().to(device, dtype or x.dtype, copy=True).requires_grad_(x.requires_grad)


def check_gradients(function, inputs, device, dtype=torch.float32, allowed=2e-5):
    """Checks the gradients of function(*inputs), a tuple of tensors. inputs are float64 on the CPU; on a GPU those of four
    dimensions, the heads, are of `dtype`, as its kernels do not compute in float64."""
    if device.type == "cpu":
        assert gradcheck(function, inputs)
        return
    results = []
    inputs = [leaf(leaf(x, "cpu", dtype), "cpu", x.dtype) if x.dim() == 4 else x for x in inputs]  # rounded
    for where, heads in (("cpu", torch.float64), (device, dtype)):
        here = [leaf(x, where, heads if x.dim() == 4 else None) for x in inputs]
        outputs = function(*here)
        weights = [torch.linspace(-1, 2, y.numel(), dtype=torch.float64).view(y.shape) for y in outputs]
        loss = sum((y * w.to(y)).sum() for y, w in zip(outputs, weights, strict=True))
        grads = torch.autograd.grad(loss, [x for x in here if x.requires_grad])
        assert [x.device.type for x in grads] == [x.device.type for x in here if x.requires_grad]
        results.append([x.detach().cpu().double() for x in (*outputs, *grads)])
    for mine, expected in zip(results[1], results[0], strict=True):
        assert (mine - expected).abs().max() <= allowed * expected.abs().max()
