# SPDX-License-Identifier: MIT
"""torch.compile sees through the operators: one graph, the same values and gradients."""
import pytest
import torch
from small_models import TRAINED, small, tokens

from cordage_torch import CLEX, apply_to, rotate, rotate_by_table


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def test_rotate_and_clex_are_one_graph():
    torch.manual_seed(1)
    q, k = (torch.randn(2, heads, 9, 16, dtype=torch.float64, requires_grad=True) for heads in (4, 2))
    clex = CLEX(16, original_length=32)
    ids = torch.rand(9, dtype=torch.float64).mul(20).requires_grad_()

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
def test_operators_keep_torchs_contracts(operator):
    inv_freq = torch.tensor([1.0, 0.1], dtype=torch.float64, requires_grad=True)
    ids, factor = torch.arange(5), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    q = torch.randn(2, 5, 3, 6, requires_grad=True)
    k = torch.randn(2, 5, 2, 8)[..., 2:].requires_grad_()  # not dense
    table = torch.randn(1, 5, 2)
    arguments = {"rotate": ([q, k], ids, inv_freq, factor, True), "rotate_by_table": ([q, k], table, table, True, False)}
    torch.library.opcheck(getattr(torch.ops.cordage, operator).default, arguments[operator])


@pytest.mark.parametrize("method", ["default", "dynamic", "longrope", "clex"])
def test_a_patched_model_is_one_graph(method):
    model = small("llama", "default" if method == "clex" else method)
    apply_to(model, CLEX.for_config(model.config) if method == "clex" else None)
    compiled = torch.compile(lambda ids: model(ids, use_cache=False).logits, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for length in (TRAINED // 2, 2 * TRAINED):
            torch.testing.assert_close(compiled(tokens(length)), model(tokens(length), use_cache=False).logits)


def test_table_under_compile():
    q, table = torch.randn(1, 2, 5, 4), torch.randn(1, 5, 2)
    compiled = torch.compile(lambda q: rotate_by_table(q, cos=table, sin=table)[0], fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(q), rotate_by_table(q, cos=table, sin=table)[0])
