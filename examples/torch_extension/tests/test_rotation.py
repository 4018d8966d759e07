# SPDX-License-Identifier: MIT
"""rotate and rotate_by_table: values, gradients, layouts, errors."""
import math
import re

import pytest
import torch
from gradients import check_gradients
from torch.autograd import gradcheck

from cordage_torch import CLEX, RMSNorm, rotate, rotate_by_table

PAIRS = 3
INV_FREQ = torch.tensor([1.0, 0.31, 0.017], dtype=torch.float64)


def plain(x, position_ids, inv_freq, factor=1.0, interleaved=False):
    """The formula in torch's own operations; x [batch, heads, tokens, head_dim]."""
    angle = position_ids.to(inv_freq.dtype)[..., None] * inv_freq
    if angle.dim() == 2:
        angle = angle[None]
    cos, sin = (factor * angle.cos())[:, None].to(x.dtype), (factor * angle.sin())[:, None].to(x.dtype)
    pairs = inv_freq.shape[0]
    lanes, rest = x[..., :2 * pairs], x[..., 2 * pairs:]
    x0, x1 = (lanes[..., 0::2], lanes[..., 1::2]) if interleaved else (lanes[..., :pairs], lanes[..., pairs:])
    y0, y1 = x0 * cos - x1 * sin, x0 * sin + x1 * cos
    rotated = torch.stack((y0, y1), -1).flatten(-2) if interleaved else torch.cat((y0, y1), -1)
    return torch.cat((rotated, rest), -1)


def q_and_k(dtype=torch.float64, head_dim=8, requires_grad=False, device="cpu"):
    torch.manual_seed(1)
    q, k = (torch.randn(2, heads, 5, head_dim, dtype=dtype).to(device) for heads in (3, 1))
    return q.requires_grad_(requires_grad), k.requires_grad_(requires_grad)


def widest(device):
    """The widest type of a device's kernels, and what they may be off the formula by."""
    return (torch.float64, 1e-11) if device.type == "cpu" else (torch.float32, 2e-6)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("ids", [torch.arange(5), torch.arange(5, dtype=torch.int32) - 2,
                                 torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 11, 400]]),
                                 torch.tensor([0.0, 0.5, 1.25, 3.0, -2.5]),
                                 torch.tensor([0.0, 0.5, 1.25, 3.0, 1e4], dtype=torch.float64)])
def test_values_are_the_formulas(ids, interleaved, device):
    dtype, allowed = widest(device)
    q, k = q_and_k(dtype)
    for got, x in zip(rotate(q.to(device), k.to(device), position_ids=ids.to(device), inv_freq=INV_FREQ,
                             attention_factor=1.25, interleaved=interleaved), (q, k), strict=True):
        assert got.dtype == dtype and got.device.type == device.type
        torch.testing.assert_close(got.cpu().double(), plain(x.double(), ids, INV_FREQ, 1.25, interleaved), rtol=0, atol=allowed)


def test_no_tokens_have_gradients_too(device):
    q, _ = q_and_k(torch.float32, requires_grad=True, device=device)
    rotate(q[:, :, :0], position_ids=torch.arange(0, device=device), inv_freq=INV_FREQ)[0].sum().backward()
    assert torch.equal(q.grad, torch.zeros_like(q))


@pytest.mark.parametrize("dtype, allowed", [(torch.float32, 1e-6), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
def test_other_types_are_rounded_once(dtype, allowed, device):
    q, k = q_and_k(dtype, device=device)
    got, _ = rotate(q, k, position_ids=torch.arange(5, device=device), inv_freq=INV_FREQ)
    assert got.dtype == dtype
    torch.testing.assert_close(got.cpu().double(), plain(q.cpu().double(), torch.arange(5), INV_FREQ), rtol=0, atol=allowed)


def test_angles_are_exact_at_far_positions(device):
    x, far = torch.tensor([[[[1.0, 0.0]]]], device=device), 2**31 - 5
    got, = rotate(x, position_ids=torch.tensor([far], device=device), inv_freq=torch.ones(1, dtype=torch.float64))
    torch.testing.assert_close(got.flatten().cpu().double(), torch.tensor([math.cos(far), math.sin(far)], dtype=torch.float64),
                               rtol=0, atol=1e-7)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("rows", [1, 2])
def test_gradients_to_everything(interleaved, rows, device):
    q, k = q_and_k(requires_grad=True)
    inv_freq = INV_FREQ.clone().requires_grad_()
    factor = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    ids = torch.rand(rows, 5, dtype=torch.float64).mul(9).requires_grad_()

    def rotated(q, k, ids, inv_freq, factor):
        return rotate(q, k, position_ids=ids, inv_freq=inv_freq, attention_factor=factor, interleaved=interleaved)

    check_gradients(rotated, (q, k, ids, inv_freq, factor), device)


@pytest.mark.parametrize("dtype, allowed", [(torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
def test_gradients_of_narrow_heads(dtype, allowed, device):
    if device.type == "cpu":
        pytest.skip("finite differences need float64; see test_gradients_to_everything")
    q, k = q_and_k(requires_grad=True)
    ids, inv_freq = torch.arange(5.0, dtype=torch.float64, requires_grad=True), INV_FREQ.clone().requires_grad_()
    check_gradients(lambda q, k, ids, inv_freq: rotate(q, k, position_ids=ids, inv_freq=inv_freq), (q, k, ids, inv_freq),
                    device, dtype, allowed)


def test_gradient_where_only_some_want_one(device):
    dtype, allowed = widest(device)
    q, k = q_and_k(dtype, device=device)
    inv_freq = INV_FREQ.clone().requires_grad_()
    rotated, _ = rotate(q, k, position_ids=torch.arange(5, device=device), inv_freq=inv_freq)  # k's result is not used
    weights = torch.randn_like(rotated)
    (rotated * weights).sum().backward()
    reference = INV_FREQ.clone().requires_grad_()
    (plain(q.cpu().double(), torch.arange(5), reference) * weights.cpu().double()).sum().backward()
    torch.testing.assert_close(inv_freq.grad, reference.grad, rtol=10 * allowed, atol=0)
    assert q.grad is None


def test_views_are_rotated_where_they_lie(device):
    torch.manual_seed(2)
    dtype, allowed = widest(device)
    fused = torch.randn(2, 5, 4 * 8, dtype=dtype, device=device, requires_grad=True)  # [batch, tokens, (q q k v) * head_dim]
    ids = torch.arange(5, device=device)
    q, k = (part.view(2, 5, -1, 8).transpose(1, 2) for part in (fused[..., :16], fused[..., 16:24]))
    assert not q.is_contiguous()
    rotate(q, k, position_ids=ids, inv_freq=INV_FREQ)  # a GPU is given the frequencies now
    with torch.profiler.profile() as profile:
        got = rotate(q, k, position_ids=ids, inv_freq=INV_FREQ)
    called = {event.name for event in profile.events()}
    assert "cordage::rotate" in called and not called & {"aten::copy_", "aten::clone", "aten::contiguous"}
    assert got[0].stride() == (80, 8, 16, 1)  # tokens before heads, as q lies
    ((got[0].sum() + got[1].pow(2).sum())).backward()
    mine, fused.grad = fused.grad, None
    theta = INV_FREQ.to(device)
    (plain(q, ids, theta).sum() + plain(k, ids, theta).pow(2).sum()).backward()
    torch.testing.assert_close(mine, fused.grad, rtol=10 * allowed, atol=10 * allowed)
    swapped = rotate(q.transpose(1, 2), position_ids=ids, inv_freq=INV_FREQ, heads_first=False)[0]
    assert torch.equal(swapped.transpose(1, 2), got[0])


def test_bits_do_not_depend_on_the_number_of_threads():
    torch.manual_seed(3)
    x, weights = torch.randn(2, 3, 700, 8), torch.randn(2, 3, 700, 8)
    before, results = torch.get_num_threads(), []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        inv_freq = INV_FREQ.clone().requires_grad_()
        y, = rotate(x, position_ids=torch.arange(700), inv_freq=inv_freq)
        (y * weights).sum(-1).sum(-1).backward(torch.ones(2, 3))
        results.append((y.detach(), inv_freq.grad))
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("tokens_before_heads", [False, True])
def test_without_a_last_stride_of_one(tokens_before_heads, device):
    """Such heads are copied once, forward and backward."""
    q, _ = q_and_k(torch.float32, 16, device=device)
    ids, weights = torch.arange(5, device=device), torch.randn(2, 3, 5, 16, device=device)
    x = (q.transpose(1, 2) if tokens_before_heads else q)[..., ::2].requires_grad_()
    got, = rotate(x, position_ids=ids, inv_freq=INV_FREQ, heads_first=not tokens_before_heads)
    seen = x.transpose(1, 2) if tokens_before_heads else x
    expected = plain(seen, ids, INV_FREQ.to(device))
    torch.testing.assert_close(got.transpose(1, 2) if tokens_before_heads else got, expected, rtol=0, atol=2e-6)
    weights = weights[..., ::2]
    mine, = torch.autograd.grad(got, x, weights.transpose(1, 2) if tokens_before_heads else weights)
    torch.testing.assert_close(mine, torch.autograd.grad(expected, x, weights)[0], rtol=0, atol=2e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_table_from_torch_gives_torchs_bits(dtype):
    q, k = q_and_k(dtype, requires_grad=True)
    angle = (torch.arange(5)[:, None] * INV_FREQ)[None]
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
    rotated = rotate_by_table(q, k, cos=cos, sin=sin)
    for got, x in zip(rotated, (q, k), strict=True):
        pairs = torch.cat((x[..., :PAIRS], x[..., PAIRS:2 * PAIRS]), -1)
        halves = torch.cat((-x[..., PAIRS:2 * PAIRS], x[..., :PAIRS]), -1)
        expected = pairs * torch.cat((cos, cos), -1)[:, None] + halves * torch.cat((sin, sin), -1)[:, None]
        assert torch.equal(got[..., :2 * PAIRS], expected) and torch.equal(got[..., 2 * PAIRS:], x[..., 2 * PAIRS:])
    if dtype == torch.float64:
        assert gradcheck(lambda q, k: rotate_by_table(q, k, cos=cos, sin=sin), (q, k))


@pytest.mark.parametrize("dtype, allowed", [(torch.float32, 2e-6), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)])
@pytest.mark.parametrize("interleaved", [False, True])
def test_a_table_on_both_devices(interleaved, dtype, allowed, device):
    q, k = q_and_k(dtype, requires_grad=True, device=device)
    angle = (torch.arange(5)[:, None] * INV_FREQ)[None]
    table = {"cos": angle.cos().float().to(device), "sin": angle.sin().float().to(device)}
    rotated = rotate_by_table(q, k, **table, interleaved=interleaved)
    for got, x in zip(rotated, (q, k), strict=True):
        expected = plain(x.detach().cpu().double(), torch.arange(5), INV_FREQ, interleaved=interleaved)
        torch.testing.assert_close(got.detach().cpu().double(), expected, rtol=0, atol=allowed)
    back, = rotate(rotated[0].detach(), position_ids=-torch.arange(5, device=device), inv_freq=INV_FREQ, interleaved=interleaved)
    mine, = torch.autograd.grad(rotated[0], q, rotated[0].detach())  # the rotation back
    torch.testing.assert_close(mine, back, rtol=0, atol=2 * allowed)


def test_second_derivatives_are_refused(device):
    q, k = q_and_k(torch.float32, requires_grad=True, device=device)
    rotated, _ = rotate(q, k, position_ids=torch.arange(5, device=device), inv_freq=INV_FREQ)
    first, = torch.autograd.grad(rotated.pow(3).sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        first.sum().backward()


@pytest.mark.parametrize("change, words", [
    ({"x": []}, "x must be at least one"),
    ({"x": [torch.zeros(5, 8)]}, r"x\[0\] \[5, 8\] must be \[batch, heads, tokens, head_dim\]"),
    ({"x": [torch.zeros(1, 1, 5, 8, dtype=torch.int32)]}, "x of type Int must be float32"),
    ({"x": [torch.zeros(1, 1, 5, 8), torch.zeros(1, 1, 5, 8, dtype=torch.float64)]}, r"x\[1\] of type Double must have the type"),
    ({"x": [torch.zeros(1, 1, 5, 4)]}, "rotary_dim 6 must be <= head_dim 4"),
    ({"position_ids": torch.arange(4)}, r"angles \[1, 4\] must be"),
    ({"position_ids": torch.zeros(1, 1, 5)}, "position_ids has 3 dimensions"),
    ({"position_ids": torch.zeros(5, dtype=torch.bool)}, "position_ids of type Bool"),
    ({"inv_freq": INV_FREQ.float()}, r"inv_freq torch.float32 \[3\] must be float64"),
    ({"inv_freq": INV_FREQ * math.nan}, r"inv_freq\[0\] -?nan must be finite"),
    ({"attention_factor": 0.0}, r"attention_factor 0 must be 2\^-60 to 2\^60 in magnitude"),
    ({"attention_factor": torch.ones(2)}, r"attention_factor torch.float32 \[2\]"),
])
def test_errors_name_the_argument(change, words):
    arguments = {"x": [torch.zeros(1, 1, 5, 8)], "position_ids": torch.arange(5), "inv_freq": INV_FREQ} | change
    with pytest.raises(ValueError, match=words):
        rotate(*arguments.pop("x"), **arguments)


@pytest.mark.parametrize("x, table, words", [
    (torch.zeros(1, 1, 5, 8), torch.ones(5, 3), r"cos \[5, 3\] and sin \[5, 3\] must both be"),
    (torch.zeros(1, 1, 5, 8), torch.ones(1, 4, 3), r"angles \[1, 4\] must be"),
    (torch.zeros(1, 1, 5, 8), torch.ones(1, 5, 3, dtype=torch.float64), "cos of type Double .* must be of x's type, Float on"),
    (torch.zeros(1, 1, 5, 8, dtype=torch.bfloat16), torch.ones(1, 5, 3, dtype=torch.float64),
     "cos of type Double .* must be of x's type, BFloat16, or float32, on cpu"),
])
def test_errors_of_tables_name_the_argument(x, table, words):
    with pytest.raises(ValueError, match=words):
        rotate_by_table(x, cos=table, sin=table)


X = torch.zeros(1, 5, 2, 8)  # tokens before heads, as the operators take it
FACTOR = torch.ones((), dtype=torch.float64)


@pytest.mark.parametrize("y, words", [
    # Read past its end once: an operator may be called by anyone.
    ([X.half()], r"y\[0\] of type Half must have the type of grad_y\[0\], Float"),
    ([X[0]], r"y\[0\] has 3 dimensions"),
    ([X[:, :4]], r"y \[1, 4, 2, 8\] must have the shape of grad_y, \[1, 5, 2, 8\]"),
    ([X, X], "y has 2 tensors, must have 1"),
    ([], "y has 0 tensors, must have 1"),
])
def test_the_backward_operator_compares_its_tensors(y, words):
    with pytest.raises(ValueError, match=words):
        torch.ops.cordage.rotate_backward([X], y, torch.arange(5), INV_FREQ, FACTOR, False, [False, True, False])


def test_the_operators_compare_sizes_of_their_numbers():
    for factor in (FACTOR.float(), torch.ones(2, dtype=torch.float64)):
        with pytest.raises(ValueError, match=r"attention_factor of type .* must be float64 \[\] on cpu"):
            torch.ops.cordage.rotate([X], torch.arange(5), INV_FREQ, factor, False)
    up, down, t = torch.zeros(4, 3), torch.zeros(3, 4), torch.ones(2, dtype=torch.float64)
    settings = (10000.0, 32.0, 4.0, "paper", "silu", "ntk_aware", [], 1e-6, 0.0)
    for size in (3, 5, 7):  # [ts, pairs] has 6
        with pytest.raises(ValueError, match=f"grad_inv_freq has {size} numbers, must have 2"):
            torch.ops.cordage.clex_backward(torch.ones(size, dtype=torch.float64), up, down, t, *settings)


@pytest.mark.parametrize("name", ["x[1]", "position_ids", "inv_freq", "attention_factor", "weights[1]"])
@pytest.mark.parametrize("norm", [None, RMSNorm(torch.ones(8), torch.ones(8))])
def test_an_argument_on_meta_is_refused(name, norm):
    """Once, torch ran the fake kernel, whose result is not initialised."""
    x, given = list(q_and_k()), {"position_ids": torch.arange(5), "inv_freq": INV_FREQ, "attention_factor": FACTOR}
    if name == "x[1]":
        x[1] = x[1].to("meta")
    elif name in given:
        given[name] = given[name].to("meta")
    elif norm is None:
        return
    else:
        norm = RMSNorm(norm.weights[0], norm.weights[1].to("meta"))
    with pytest.raises(ValueError, match=re.escape(f"rotate: {name} on meta must be on cpu")):
        rotate(*x, norm=norm, **given)


def test_a_call_on_meta_has_the_shapes():
    x = [one.to("meta") for one in q_and_k()]
    for inv_freq in (INV_FREQ, INV_FREQ.to("meta")):
        y = rotate(*x, position_ids=torch.arange(5, device="meta"), inv_freq=inv_freq)
        assert all(one.is_meta and one.shape == of.shape for one, of in zip(y, x, strict=True))


@pytest.mark.parametrize("name", ["x[1]", "cos", "sin"])
def test_a_table_on_meta_is_refused(name):
    x, given = list(q_and_k(torch.float32)), {"cos": torch.ones(1, 5, PAIRS), "sin": torch.ones(1, 5, PAIRS)}
    if name == "x[1]":
        x[1] = x[1].to("meta")
    else:
        given[name] = given[name].to("meta")
    with pytest.raises(ValueError, match=re.escape(f"rotate_by_table: {name} on meta must be on cpu")):
        rotate_by_table(*x, **given)


def test_forward_mode_derivatives_are_refused():
    """torch takes those of custom operators as 0."""
    x, table = torch.randn(1, 1, 5, 8, dtype=torch.float64), torch.randn(1, 5, PAIRS, dtype=torch.float64)
    ids, ones = torch.arange(5), torch.ones(8)
    calls = [lambda x: rotate(x, position_ids=ids, inv_freq=INV_FREQ)[0],
             lambda x: rotate(x, norm=RMSNorm(ones.double()), position_ids=ids, inv_freq=INV_FREQ)[0],
             lambda x: rotate_by_table(x, cos=table, sin=table)[0]]
    for call in calls:
        with pytest.raises(NotImplementedError, match="forward-mode derivatives .* are not supported; use reverse mode"):
            torch.func.jvp(call, (x,), (torch.ones_like(x),))
    with pytest.raises(NotImplementedError, match="rotate: forward-mode"):
        torch.func.jvp(lambda f: rotate(x, position_ids=ids, inv_freq=f)[0], (INV_FREQ,), (torch.ones_like(INV_FREQ),))
    clex = CLEX(8, original_length=16)
    with pytest.raises(NotImplementedError, match="CLEX: forward-mode"):
        torch.func.jvp(lambda w: torch.func.functional_call(clex, {"W_down": w}, (2.0,)), (clex.W_down,),
                       (torch.ones_like(clex.W_down),))


def test_a_table_has_no_gradient():
    x, table = torch.randn(1, 1, 5, 8), torch.randn(1, 5, PAIRS)
    with pytest.raises(ValueError, match="rotate_by_table: cos and sin must not require a gradient"):
        rotate_by_table(x, cos=table.clone().requires_grad_(), sin=table)
    rotate_by_table(x.requires_grad_(), cos=table, sin=table)[0].sum().backward()
