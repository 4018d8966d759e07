# SPDX-License-Identifier: MIT
"""The kernels for CUDA against those of the CPU, if the package has them and a GPU is found."""
import pytest
import torch
from small_models import TRAINED, small, tokens

from cordage_torch import CLEX, apply_to, rotate

compiled = torch._C._dispatch_has_kernel_for_dispatch_key("cordage::rotate", "CUDA")
pytestmark = pytest.mark.skipif(not (compiled and torch.cuda.is_available()), reason="needs a GPU and CUDA kernels")


def leaf(values, device, dtype):
    """A tensor of its own that gradients go to: `to` gives `values` itself where device and dtype are theirs."""
    return values.to(device, dtype).detach().clone().requires_grad_()


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype, allowed", [(torch.float32, 1e-6), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
def test_values_and_gradients_are_the_cpus(dtype, allowed, interleaved):
    torch.manual_seed(1)
    inv_freq = torch.tensor([1.0, 0.31, 0.017], dtype=torch.float64)
    q, k, weights = torch.randn(2, 4, 70, 8), torch.randn(2, 2, 70, 8), torch.randn(2, 4, 70, 8)
    results = []
    for device in ("cpu", "cuda"):
        inputs = [leaf(q, device, dtype), leaf(k, device, dtype), leaf(inv_freq, "cpu", torch.float64),
                  leaf(torch.tensor(1.25), "cpu", torch.float64), leaf(torch.arange(70.0), device, torch.float32)]
        rotated = rotate(*inputs[:2], inv_freq=inputs[2], attention_factor=inputs[3], position_ids=inputs[4],
                        interleaved=interleaved)
        ((rotated[0] * weights.to(device, dtype)).sum() + rotated[1].sum()).backward()
        results.append([x.detach().cpu().double() for x in (*rotated, *(x.grad for x in inputs))])
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


def test_a_call_waits_for_nothing_and_can_be_captured():
    torch.manual_seed(3)
    q, ids = torch.randn(1, 2, 70, 8, device="cuda", requires_grad=True), torch.arange(70, device="cuda")
    weights = torch.randn_like(q)

    def rotated(theta):
        y, = rotate(q, position_ids=ids, inv_freq=torch.tensor([1.0, theta], dtype=torch.float64))
        return y.detach(), torch.autograd.grad(y, q, weights)[0]

    expected = rotated(0.31)
    torch.cuda.set_sync_debug_mode("error")
    try:
        rotated(0.31)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # 0.017 is on no device yet
        captured = rotated(0.31), rotated(0.017)
    for i in range(200):  # other bases in their places
        rotated(1.0 / (i + 7))
    with torch.no_grad():
        q.mul_(2)
    graph.replay()
    for theta, got in zip((0.31, 0.017), captured, strict=True):
        for mine, wanted in zip(got, rotated(theta), strict=True):
            assert torch.equal(mine, wanted)
    torch.testing.assert_close(captured[0][0], 2 * expected[0])


@pytest.mark.parametrize("name", ["inv_freq", "attention_factor"])
def test_numbers_on_the_gpu_are_refused(name):
    numbers = {"inv_freq": torch.ones(2, dtype=torch.float64), "attention_factor": torch.ones((), dtype=torch.float64)}
    numbers[name] = numbers[name].cuda()
    with pytest.raises(ValueError, match=f"{name} .*on cuda:0 must be"):
        rotate(torch.zeros(1, 1, 2, 4, device="cuda"), position_ids=torch.arange(2, device="cuda"), **numbers)
