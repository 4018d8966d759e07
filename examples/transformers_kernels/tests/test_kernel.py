# SPDX-License-Identifier: MIT
"""The kernel rotary_pos_emb in models of transformers: outputs and gradients against eager, for every family with it."""
import subprocess

import pytest
import torch
from kernelized import ROTARY, differences, function_of, kernelized
from kernels import Mode
from page_example import ROOT, commands_of, debian_packages, environment_of, example_of, needed_packages
from small_families import NOT_CALLED, asking, result, small

AGREEMENT = 1e-6  # of the largest gradient, float32: sums of the backward pass in another order


@pytest.mark.parametrize("family", asking())
def test_outputs_are_eagers_bit_for_bit_and_gradients_are_eagers(family):
    calls, output, gradient = differences(family)
    assert (calls == 0) == (family in NOT_CALLED), NOT_CALLED.get(family)
    if calls == 0:
        return
    assert output == 0.0 and gradient <= AGREEMENT


def test_bfloat16_is_rounded_once():
    exact, inputs = small("llama")
    expected, _ = result(exact, inputs)
    model, _ = small("llama", torch.bfloat16)
    eager, _ = result(model, inputs)
    with kernelized(model):
        got, gradients = result(model, inputs)
    assert float((got.float() - expected).abs().mean()) <= 1.05 * float((eager.float() - expected).abs().mean())
    assert gradients[0].dtype == torch.bfloat16 and not torch.equal(got, eager)


def test_a_family_shares_one_function_and_gets_it_back():
    (model, inputs), (other, _) = small("llama"), small("llama")
    eager = result(other, inputs)[0]
    own = function_of("llama").forward.__func__
    with kernelized(model, Mode.INFERENCE):
        assert function_of("llama").forward.__func__ is not own  # of every Llama, the other one too
        assert torch.equal(result(other, inputs)[0], eager)
    assert function_of("llama").forward.__func__ is own


def test_one_graph_under_compile():
    model, inputs = small("llama")
    eager, eager_gradients = result(model, inputs)
    with kernelized(model, Mode.TRAINING | Mode.TORCH_COMPILE):
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        got, gradients = result(compiled, inputs)
    assert torch.allclose(got, eager, atol=1e-5) and len(gradients) == len(eager_gradients)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("family", ["llama", "gpt_oss"])
def test_a_model_on_a_gpu(family):
    if not torch._C._dispatch_has_kernel_for_dispatch_key("cordage::rotate_by_table", "CUDA"):
        pytest.skip("cordage_torch was built without CUDA")
    model, inputs = small(family)
    model, inputs = model.cuda(), {name: one.cuda() if isinstance(one, torch.Tensor) else one for name, one in inputs.items()}
    own = function_of(family).forward.__func__
    with torch.no_grad():
        eager = model(**inputs)[0]
        with kernelized(model, Mode.INFERENCE, "cuda"):
            assert function_of(family).forward.__func__ is not own
            got = model(**inputs)[0]
    assert float((got - eager).abs().max()) <= 1e-5 * float(eager.abs().max())  # products and sums in one rounding


X, TABLE = torch.zeros(1, 2, 5, 16), torch.zeros(1, 5, 16)


@pytest.mark.parametrize("arguments, words", [
    ({"q": X[0]}, r"q \[2, 5, 16\] and k \[1, 2, 5, 16\] must have four dimensions"),
    ({"cos": torch.zeros(1, 5, 8), "sin": torch.zeros(1, 5, 8)}, "cos is for heads of 8 lanes, and q has 16, k 16"),
    ({"cos": TABLE.clone().requires_grad_()}, "cos and sin must not require a gradient"),
    ({"unsqueeze_dim": 0, "cos": TABLE, "sin": TABLE}, r"cos \[1, 5, 16\] with unsqueeze_dim 0 must be"),
    ({"cos": TABLE.double(), "sin": TABLE.double()}, "cos of torch.float64 must not be wider"),
    ({"q": X.to(torch.float8_e4m3fn)}, "Float8_e4m3fn"),
])
def test_errors_name_the_argument(arguments, words):
    model, _ = small("llama")
    with kernelized(model), pytest.raises(ValueError, match=words):
        function_of("llama")(**({"q": X, "k": X, "cos": TABLE, "sin": TABLE} | arguments))


def test_a_function_that_is_no_rotation_is_refused():
    layer = ROTARY.load()

    class Doubling:
        def forward(self, q, k, cos, sin, unsqueeze_dim=1):
            return 2 * q, 2 * k

    with pytest.raises(ValueError, match="must rotate pairs of lanes"):
        layer.forward(Doubling(), X, X, TABLE, TABLE)


def test_the_pages_commands_and_program(tmp_path):
    """The page's program runs with only what the page installs."""
    commands, (code, output) = commands_of("transformers by kernels"), example_of("transformers by kernels")
    assert debian_packages(commands) == needed_packages()
    run = subprocess.run([environment_of(commands, tmp_path), "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == output, run.stderr
