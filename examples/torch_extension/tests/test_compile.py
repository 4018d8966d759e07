# SPDX-License-Identifier: MIT
"""torch.compile sees through the operators: one graph, the same values and gradients."""
import pytest
import torch
from small_models import TRAINED, small, tokens
from test_rotation import widest

from cordage_torch import CLEX, apply_to, rotate, rotate_by_table


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def test_rotate_and_clex_are_one_graph(device):
    torch.manual_seed(1)
    dtype, _ = widest(device)
    q, k = (torch.randn(2, heads, 9, 16, dtype=dtype, device=device, requires_grad=True) for heads in (4, 2))
    clex = CLEX(16, original_length=32).to(device)
    ids = torch.rand(9, dtype=torch.float64, device=device).mul(20).requires_grad_()

    def loss(q, k, ids, t):
        inv_freq, factor = clex.basis(t)
        q, k = rotate(2 * q, k, position_ids=ids, inv_freq=inv_freq, attention_factor=factor)
        return ((q[:, :2] * k) * q[:, 2:]).sum()  # products only, as other operations that torch compiles are not under test

    inputs = (q, k, ids, *clex.parameters())
    t = torch.tensor(3.0, dtype=torch.float64)
    expected = loss(q, k, ids, t)
    gradients = torch.autograd.grad(expected, inputs)
    compiled = torch.compile(loss, fullgraph=True)
    got = compiled(q, k, ids, t)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(torch.autograd.grad(got, inputs), gradients)


@pytest.mark.parametrize("operator", ["rotate", "rotate_by_table"])
@pytest.mark.parametrize("heads_first", [False, True])
def test_operators_keep_torchs_contracts(operator, heads_first, device):
    inv_freq = torch.tensor([1.0, 0.1], dtype=torch.float64, requires_grad=True)
    ids, factor = torch.arange(5, device=device), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    q, k = torch.randn(2, 5, 3, 6, device=device), torch.randn(2, 5, 2, 8, device=device)[..., 2:]  # not dense
    q, k = ((x.transpose(1, 2) if heads_first else x).requires_grad_() for x in (q, k))
    table = torch.randn(1, 5, 2, device=device)
    arguments = {"rotate": ([q, k], ids, inv_freq, factor, True, heads_first),
                 "rotate_by_table": ([q, k], table, table, True, False, heads_first)}
    torch.library.opcheck(getattr(torch.ops.cordage, operator).default, arguments[operator])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_tensors_of_stride_0_have_the_strides_that_torch_expects(axis, device):
    sizes = [2, 3, 5, 8]
    x = torch.randn([1 if i == axis else size for i, size in enumerate(sizes)], device=device).expand(sizes)
    inv_freq, factor = torch.tensor([1.0, 0.1], dtype=torch.float64), torch.tensor(1.5, dtype=torch.float64)
    for heads_first in (False, True):
        ids = torch.arange(sizes[2 if heads_first else 1], device=device)
        torch.library.opcheck(torch.ops.cordage.rotate.default, ([x], ids, inv_freq, factor, False, heads_first))


@pytest.mark.parametrize("method", ["default", "dynamic", "longrope", "clex"])
def test_a_patched_model_is_one_graph(method, device):
    model = small("llama", "default" if method == "clex" else method).to(device)
    apply_to(model, CLEX.for_config(model.config) if method == "clex" else None)
    compiled = torch.compile(lambda ids: model(ids, use_cache=False).logits, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for length in (TRAINED // 2, 2 * TRAINED):
            ids = tokens(length).to(device)
            torch.testing.assert_close(compiled(ids), model(ids, use_cache=False).logits)


def test_table_under_compile(device):
    q, table = torch.randn(1, 2, 5, 4, device=device), torch.randn(1, 5, 2, device=device)
    compiled = torch.compile(lambda q: rotate_by_table(q, cos=table, sin=table)[0], fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(q), rotate_by_table(q, cos=table, sin=table)[0])
