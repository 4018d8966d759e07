# SPDX-License-Identifier: MIT
"""The devices of the tests. (test_wheel.py runs where torch is not installed.)"""
import pytest


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """Of tests that run on both."""
    return _device(request.param)


@pytest.fixture
def gpu():
    """Of tests that are of a GPU alone."""
    return _device("cuda")


def _device(name):
    import torch

    import cordage_torch  # noqa: F401  its operators
    if name == "cuda":
        if not torch._C._dispatch_has_kernel_for_dispatch_key("cordage::rotate", "CUDA"):
            pytest.skip("cordage_torch was built without CUDA")
        if not torch.cuda.is_available():
            pytest.skip("no CUDA device")
    return torch.device(name)
