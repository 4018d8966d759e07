# SPDX-License-Identifier: MIT
"""The row of transformers in docs/engines.md, as JSON: differences over all families, and the time of a rotation of q and k."""
import json
import time
from importlib.metadata import version

import torch
from conftest import ROOT  # noqa: F401  the path to the small models
from kernelized import differences, function_of, kernelized
from small_families import NOT_CALLED, asking, small


def times(dtype):
    """Milliseconds of q and k, 512 tokens of 32 and 8 heads of 128 lanes, rotated and their gradients: eager, kernel."""
    model, _ = small("llama")
    angle = torch.rand(1, 512, 64).repeat(1, 1, 2) * 100
    q, k = (torch.randn(1, 512, heads, 128, dtype=dtype).transpose(1, 2).requires_grad_() for heads in (32, 8))
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
    rotation, taken = function_of("llama"), ([], [])

    def once():
        start = time.perf_counter()
        torch.autograd.backward(rotation(q, k, cos, sin), (q.detach(), k.detach()))
        return (time.perf_counter() - start) * 1e3

    for _ in range(25):
        taken[0].append(once())
        with kernelized(model):
            taken[1].append(once())
    return [float(torch.tensor(one[2:]).median()) for one in taken]


def main():
    families = [family for family in asking() if family not in NOT_CALLED]
    found = [differences(family)[1:] for family in families]
    torch.set_num_threads(1)
    (eager, kernel), (eager16, kernel16) = times(torch.float32), times(torch.bfloat16)
    print(json.dumps({
        "engine": "transformers by kernels", "version": f"{version('transformers')}, kernels {version('kernels')}",
        "replaced": f"`rotary_pos_emb` of {len(families)} families, with gradients",
        "difference": f"outputs {max(one for one, _ in found):.1e}, gradients {max(one for _, one in found):.1e}",
        "equal": f"outputs of {sum(one == 0.0 for one, _ in found)} of {len(families)} families, bit for bit",
        "time": f"512×(32+8) with gradients: float32 {kernel:.1f} ms, eager {eager:.1f}; bfloat16 {kernel16:.1f}, eager "
                f"{eager16:.1f}"}))


if __name__ == "__main__":
    main()
