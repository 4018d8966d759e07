# SPDX-License-Identifier: MIT
"""The kernels for CUDA against those of the CPU, where the package has them and a GPU is found."""
import pytest
import torch
from small_models import TRAINED, small, tokens

from cordage_torch import CLEX, apply_to, rotate

compiled = torch._C._dispatch_has_kernel_for_dispatch_key("cordage::rotate", "CUDA")
pytestmark = pytest.mark.skipif(not (compiled and torch.cuda.is_available()), reason="needs a GPU and CUDA kernels")


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype, allowed", [(torch.float32, 1e-6), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
def test_values_and_gradients_are_the_cpus(dtype, allowed, interleaved):
    torch.manual_seed(1)
    inv_freq = torch.tensor([1.0, 0.31, 0.017], dtype=torch.float64)
    q, k, weights = torch.randn(2, 4, 70, 8), torch.randn(2, 2, 70, 8), torch.randn(2, 4, 70, 8)
    results = []
    for device in ("cpu", "cuda"):
        inputs = [q.to(device, dtype).requires_grad_(), k.to(device, dtype).requires_grad_(),
                  inv_freq.clone().requires_grad_(), torch.tensor(1.25, dtype=torch.float64, requires_grad=True),
                  torch.arange(70.0, device=device).requires_grad_()]
        turned = rotate(*inputs[:2], inv_freq=inputs[2], attention_factor=inputs[3], position_ids=inputs[4],
                        interleaved=interleaved)
        ((turned[0] * weights.to(device, dtype)).sum() + turned[1].sum()).backward()
        results.append([x.detach().cpu().double() for x in (*turned, *(x.grad for x in inputs))])
        assert inputs[2].grad.device.type == "cpu" and inputs[4].grad.device.type == device
    for mine, expected in zip(results[1], results[0], strict=True):
        assert (mine - expected).abs().max() <= allowed * expected.abs().max()


@pytest.mark.parametrize("method", ["default", "dynamic", "clex"])
def test_a_patched_model(method):
    logits = []
    for device in ("cpu", "cuda"):
        model = small("llama", "default" if method == "clex" else method).to(device)
        torch.manual_seed(2)
        apply_to(model, CLEX.for_config(model.config).to(device) if method == "clex" else None)
        with torch.no_grad():
            logits.append(model(tokens(2 * TRAINED).to(device), use_cache=False).logits.cpu())
    assert (logits[1] - logits[0]).abs().max() <= 1e-4 * logits[0].abs().max()


def test_float64_is_refused():
    with pytest.raises(ValueError, match="on a GPU must be float32"):
        rotate(torch.zeros(1, 1, 2, 4, dtype=torch.float64, device="cuda"), position_ids=torch.arange(2, device="cuda"),
               inv_freq=torch.ones(2, dtype=torch.float64))
