# SPDX-License-Identifier: MIT
"""RMSNorm with the rotation, the store into a paged cache, and keys that move: values, gradients, one graph, errors."""
import itertools
import math

import pytest
import torch
from gradients import check_gradients
from test_rotation import INV_FREQ, plain, widest

from cordage_torch import PagedCache, RMSNorm, move, rotate, rotate_and_store

HEAD_DIM, BLOCKS, BLOCK_SIZE, KV_HEADS = 8, 3, 4, 2
SLOTS = torch.tensor([6, 0, -1, 7, 11])
IDS = torch.tensor([40, 41, 42, 43, 1_000_000])
ALLOWED = {torch.float64: 1e-11, torch.float32: 2e-6, torch.bfloat16: 3e-2, torch.float16: 4e-3}
SWITCHES = ("adds_one", "over_all_heads", "after_rotation")


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def drawn(*heads, dtype=torch.float64, batch=1, device="cpu"):
    torch.manual_seed(1)
    return tuple(torch.randn(batch, count, 5, HEAD_DIM, dtype=torch.float64).to(device, dtype) for count in heads)


def weights_of(*heads, over_all_heads=False, dtype=torch.float64, device="cpu"):
    torch.manual_seed(2)
    return [torch.randn((count, HEAD_DIM) if over_all_heads else (HEAD_DIM,), dtype=dtype).to(device) for count in heads]


def exact(x):
    """x in float64 on the CPU, where the formulas are computed."""
    return x.detach().cpu().double()


def plain_norm(x, weight, eps=1e-6, adds_one=False, over_all_heads=False):
    """x [batch, heads, tokens, head_dim]"""
    mean = x.square().mean((1, 3) if over_all_heads else 3, keepdim=True)
    factor = 1 if weight is None else weight + adds_one
    if weight is not None and over_all_heads:
        factor = factor[:, None]
    return x / (mean + eps).sqrt() * factor


def plain_both(x, weight, ids, inv_freq=INV_FREQ, factor=1.0, interleaved=False, after_rotation=False, **norm):
    if after_rotation:
        return plain_norm(plain(x, ids, inv_freq, factor, interleaved), weight, **norm)
    return plain(plain_norm(x, weight, **norm), ids, inv_freq, factor, interleaved)


def cache_of(dtype, head_major=False, device="cpu"):
    """A cache filled with numbers that show which entries were written."""
    cache = PagedCache.zeros(BLOCKS, BLOCK_SIZE, KV_HEADS, HEAD_DIM, dtype=dtype, device=device)
    if head_major:
        cache = cache._replace(keys=cache.keys.transpose(1, 2).contiguous().transpose(1, 2))
        assert not cache.keys.is_contiguous()
    for tensor in cache[:4]:
        if tensor is not None:
            tensor.copy_(torch.full(tensor.shape, 3.0))
    return cache


def in_slots(cache, scales=None, slots=SLOTS):
    """The content of the slots that were stored to, in float64, [heads, tokens, head_dim]."""
    stored = exact(cache.flatten(0, 1))
    if scales is not None:
        stored = stored * exact(scales.flatten(0, 1))[..., None]
    return stored[slots[slots >= 0]].transpose(0, 1)


def is_untouched(cache, slots=SLOTS):
    others = [slot for slot in range(BLOCKS * BLOCK_SIZE) if slot not in slots.tolist()]
    return all((exact(tensor.flatten(0, 1))[others] == 3.0).all() for tensor in cache[:4] if tensor is not None)


# Norm and rotation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("switches", list(itertools.product([False, True], repeat=3)))
def test_norm_and_rotation_are_the_formulas(switches, interleaved, device):
    settings = dict(zip(SWITCHES, switches, strict=True))
    for dtype, allowed in ALLOWED.items():
        if dtype == torch.float64 and device.type == "cuda":
            continue
        x = drawn(3, 1, dtype=dtype, device=device)
        weights = weights_of(3, 1, over_all_heads=settings["over_all_heads"], dtype=dtype, device=device)
        for count, ids in itertools.product((1, 2), (IDS, IDS.double())):
            got = rotate(*x[:count], norm=RMSNorm(*weights[:count], eps=0.01, **settings), position_ids=ids.to(device),
                         inv_freq=INV_FREQ, attention_factor=1.25, interleaved=interleaved)
            for y, one, weight in zip(got, x, weights):
                assert y.dtype == dtype and y.shape == one.shape and y.device.type == device.type
                expected = plain_both(exact(one), exact(weight), IDS, factor=1.25, interleaved=interleaved, eps=0.01, **settings)
                torch.testing.assert_close(exact(y), expected, rtol=allowed, atol=allowed)


def test_norms_without_weights_and_with_weights_of_other_types(device):
    q, = drawn(3, dtype=torch.float32, device=device)
    weight, = weights_of(3, dtype=torch.bfloat16, device=device)
    for norm, w in ((RMSNorm(), None), (RMSNorm(weight), exact(weight)), (RMSNorm(weight.double()), exact(weight))):
        got, = rotate(q, norm=norm, position_ids=IDS.to(device), inv_freq=INV_FREQ)
        torch.testing.assert_close(exact(got), plain_both(exact(q), w, IDS), rtol=2e-6, atol=2e-6)


def test_rounded_between_is_as_two_calls(device):
    q, = drawn(3, dtype=torch.bfloat16, device=device)
    weight, = weights_of(3, device=device)
    ids = IDS.to(device)
    got, = rotate(q, norm=RMSNorm(weight, rounded_between=True), position_ids=ids, inv_freq=INV_FREQ)
    expected, = rotate(plain_norm(q.double(), weight).bfloat16(), position_ids=ids, inv_freq=INV_FREQ)
    once, = rotate(q, norm=RMSNorm(weight), position_ids=ids, inv_freq=INV_FREQ)
    assert (got == expected).double().mean() > 0.99 and (once == expected).double().mean() < 0.99


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("switches", list(itertools.product([False, True], repeat=3)))
def test_gradients_to_everything(switches, interleaved, device):
    settings = dict(zip(SWITCHES, switches, strict=True))
    q, k = (x.requires_grad_() for x in drawn(2, 1, batch=2))
    w_q, w_k = (w.requires_grad_() for w in weights_of(2, 1, over_all_heads=settings["over_all_heads"]))
    inv_freq = INV_FREQ.clone().requires_grad_()
    factor = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    ids = torch.rand(5, dtype=torch.float64).mul(9).requires_grad_()

    def rotated(q, k, w_q, w_k, ids, inv_freq, factor):
        return rotate(q, k, norm=RMSNorm(w_q, w_k, eps=0.01, **settings), position_ids=ids, inv_freq=inv_freq,
                      attention_factor=factor, interleaved=interleaved)

    check_gradients(rotated, (q, k, w_q, w_k, ids, inv_freq, factor), device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_gradients_in_other_types(dtype, device):
    torch.manual_seed(3)
    direction = torch.randn(1, 3, 5, HEAD_DIM, dtype=torch.float64)
    results = []
    for where, here in (("cpu", torch.float64), (device, dtype)):
        inputs = [x.detach().to(where, here, copy=True) for x in (*drawn(3, dtype=dtype), *weights_of(3, dtype=dtype))]
        q, weight, inv_freq = (x.requires_grad_() for x in (*inputs, INV_FREQ.clone()))
        rotated, = rotate(q, norm=RMSNorm(weight), position_ids=IDS.to(where), inv_freq=inv_freq)
        rotated.backward(direction.to(dtype).to(where, here))
        results.append([x.grad for x in (q, weight, inv_freq)])
    assert [grad.dtype for grad in results[1]] == [dtype, dtype, torch.float64]
    for expected, grad in zip(*results, strict=True):
        assert (exact(grad) - expected).abs().max() <= 2 * ALLOWED[dtype] * expected.abs().max()


def test_gradient_where_only_some_want_one(device):
    dtype, allowed = widest(device)
    q, k = drawn(2, 1, dtype=dtype, device=device)
    w_q, w_k = weights_of(2, 1, dtype=dtype, device=device)
    w_k.requires_grad_()
    ids = IDS.to(device)
    _, rotated = rotate(q, k, norm=RMSNorm(w_q, w_k), position_ids=ids, inv_freq=INV_FREQ)
    rotated.sum().backward()
    reference = exact(w_k).requires_grad_()
    plain_both(exact(k), reference, IDS).sum().backward()
    torch.testing.assert_close(exact(w_k.grad), reference.grad, rtol=10 * allowed, atol=10 * allowed)
    assert w_q.grad is None and q.grad is None
    x, = drawn(2, dtype=dtype, device=device)
    y, = rotate(x.requires_grad_(), norm=RMSNorm(), position_ids=ids, inv_freq=INV_FREQ)
    assert torch.autograd.grad(y.sum(), x)[0].shape == x.shape


def test_bits_of_gradients_do_not_depend_on_the_number_of_threads():
    torch.manual_seed(3)
    x, direction = torch.randn(2, 3, 700, HEAD_DIM), torch.randn(2, 3, 700, HEAD_DIM)
    before, results = torch.get_num_threads(), []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        weight, inv_freq = torch.ones(HEAD_DIM, requires_grad=True), INV_FREQ.clone().requires_grad_()
        y, = rotate(x, norm=RMSNorm(weight), position_ids=torch.arange(700), inv_freq=inv_freq)
        y.backward(direction)
        results.append((y.detach(), weight.grad, inv_freq.grad))
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_second_derivatives_are_refused(device):
    q, = drawn(2, dtype=torch.float32, device=device)
    rotated, = rotate(q.requires_grad_(), norm=RMSNorm(), position_ids=IDS.to(device), inv_freq=INV_FREQ)
    first, = torch.autograd.grad(rotated.pow(3).sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        first.sum().backward()


# Into the cache ---------------------------------------------------------------------------------------------------

STORED = [(x, x) for x in (torch.float32, torch.bfloat16, torch.float16)] + [
    (torch.float32, torch.bfloat16), (torch.float32, torch.float16)] + list(itertools.product(
        (torch.float32, torch.bfloat16, torch.float16), (torch.int8, torch.float8_e4m3fn, torch.float8_e5m2)))
# Tolerance of a stored number, relative to the largest of its head and to itself.
OFF = {torch.float32: (2e-6, 2e-6), torch.bfloat16: (2**-9, 2**-8), torch.float16: (2**-12, 2**-11),
       torch.int8: (0.502 / 127, 0), torch.float8_e4m3fn: (2**-10 / 448, 2**-4 + 1e-5),
       torch.float8_e5m2: (2**-17 / 57344, 2**-3 + 1e-5)}


def assert_stored(stored, expected, dtype, more=0.0):
    of_largest, of_itself = OFF[dtype]
    allowed = (of_largest + more) * expected.abs().amax(-1, keepdim=True) + (of_itself + more) * expected.abs()
    assert ((stored - expected).abs() <= allowed).all()


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype, stored", STORED)
def test_what_is_stored(dtype, stored, interleaved, norm, device):
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=dtype, device=device)
    # On a GPU keys at positions that are no integers, and with weights of another type than theirs, are rounded to their type
    # before they are stored.
    rounded = 2e-6 if device.type == "cpu" else 2 * ALLOWED[dtype]
    for ids, of_weights, more in ((IDS, dtype, 2e-6), (IDS.double(), dtype, rounded), (IDS, torch.float64, rounded)):
        weights = weights_of(3, KV_HEADS, dtype=of_weights, device=device)
        cache = cache_of(stored, head_major=interleaved, device=device)
        got = rotate_and_store(q, k, v, cache=cache, slot_mapping=SLOTS.to(device, torch.int32 if norm else torch.int64),
                               norm=RMSNorm(*weights) if norm else None, position_ids=ids.to(device), inv_freq=INV_FREQ,
                               attention_factor=1.25, interleaved=interleaved)

        def expected(x, weight):
            if norm:
                return plain_both(exact(x), exact(weight), IDS, factor=1.25, interleaved=interleaved)
            return plain(exact(x), IDS, INV_FREQ, 1.25, interleaved)

        assert got.dtype == dtype and got.shape == q.shape and got.device == q.device
        torch.testing.assert_close(exact(got), expected(q, weights[0]), rtol=ALLOWED[dtype], atol=ALLOWED[dtype])
        kept = SLOTS >= 0
        assert_stored(in_slots(cache.keys, cache.key_scales), expected(k, weights[1])[0][:, kept], stored, more)
        assert_stored(in_slots(cache.values, cache.value_scales), exact(v)[0][:, kept], stored)
        assert is_untouched(cache)


@pytest.mark.parametrize("stored, largest", [(torch.int8, 127.0), (torch.float8_e4m3fn, 448.0), (torch.float8_e5m2, 57344.0)])
def test_scales_and_codes_of_values(stored, largest, device):
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32, device=device)
    cache = cache_of(stored, device=device)
    rotate_and_store(q, k, v, cache=cache, slot_mapping=SLOTS.to(device), position_ids=IDS.to(device), inv_freq=INV_FREQ)
    cache, v = PagedCache(*(x.cpu() for x in cache[:4])), v.cpu()
    kept = v[0].transpose(0, 1)[SLOTS >= 0]  # [tokens, heads, head_dim]
    scales = (kept.abs().amax(-1).double() / largest).float()
    at = SLOTS[SLOTS >= 0]
    assert torch.equal(cache.value_scales.flatten(0, 1)[at], scales)
    scaled = kept * (1 / scales.double()).float()[..., None]
    codes = scaled.clamp(-largest, largest)
    codes = codes.round().to(stored) if stored == torch.int8 else codes.to(stored)
    assert torch.equal(cache.values.flatten(0, 1)[at].view(torch.uint8), codes.view(torch.uint8))


def test_views_batches_and_other_sizes_of_values(device):
    torch.manual_seed(4)
    fused = torch.randn(2, 5, 4 * HEAD_DIM + 2 * 6, device=device)  # [batch, tokens, (q q k k v v)], heads of v have 6 lanes
    q, k = (part.unflatten(-1, (2, HEAD_DIM)) for part in (fused[..., :16], fused[..., 16:32]))
    v = fused[..., 32:].unflatten(-1, (2, 6))
    cache = PagedCache(*(torch.zeros(BLOCKS, BLOCK_SIZE, 2, lanes, device=device) for lanes in (HEAD_DIM, 6)))
    slots, ids = torch.arange(10, device=device).flip(0).view(2, 5), torch.arange(5, device=device)
    got = rotate_and_store(q, k, v, cache=cache, slot_mapping=slots, position_ids=ids, inv_freq=INV_FREQ, heads_first=False)
    rotated = rotate(q, k, position_ids=ids, inv_freq=INV_FREQ, heads_first=False)
    assert torch.equal(got, rotated[0])
    assert torch.equal(cache.keys.flatten(0, 1)[slots], rotated[1]) and torch.equal(cache.values.flatten(0, 1)[slots], v)


def test_no_tokens_and_keys_and_values_of_one_tensor(device):
    both = torch.full((2, BLOCKS, BLOCK_SIZE, KV_HEADS, HEAD_DIM), 3.0, device=device)
    cache, slots, ids = PagedCache(both[0], both[1]), SLOTS.to(device), IDS.to(device)
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32, device=device)
    none = rotate_and_store(q[:, :, :0], k[:, :, :0], v[:, :, :0], cache=cache, slot_mapping=slots[:0], position_ids=ids[:0],
                            inv_freq=INV_FREQ)
    assert none.shape == (1, 3, 0, HEAD_DIM) and (both == 3.0).all()
    rotate_and_store(q, k, v, cache=cache, slot_mapping=slots, position_ids=ids, inv_freq=INV_FREQ)
    assert torch.equal(in_slots(cache.values), exact(v)[0][:, SLOTS >= 0]) and is_untouched(cache)


# Keys that move ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.float8_e4m3fn,
                                    torch.float8_e5m2])
def test_moved_keys_are_those_of_other_positions(stored, interleaved, device):
    q, k, v = drawn(1, KV_HEADS, KV_HEADS, dtype=torch.float32, device=device)
    cache, old, new = cache_of(stored, device=device), torch.tensor([3, 4, 6, 9, 10]), torch.tensor([2, 3, 4, -1, 5])
    ids = IDS.to(device)
    rotate_and_store(q, k, v, cache=cache, slot_mapping=old.to(device), position_ids=ids, inv_freq=INV_FREQ,
                     interleaved=interleaved)
    before = [None if x is None else x.clone() for x in cache[:4]]
    other_basis = INV_FREQ.flip(0)
    move(cache, old.to(device), new.to(device), from_position_ids=ids, position_ids=ids - 7, from_inv_freq=INV_FREQ,
         inv_freq=other_basis, attention_factor=1.5, from_attention_factor=1.0, interleaved=interleaved)
    kept = new >= 0
    expected = plain(exact(k), IDS - 7, other_basis, 1.5, interleaved)[0][:, kept]
    of_largest, of_itself = OFF[stored]
    off = 2 * (of_largest + of_itself) + 4e-6
    stored_keys = in_slots(cache.keys, cache.key_scales, new)
    assert ((stored_keys - expected).abs() <= 2.0 * off * expected.abs().amax(-1, keepdim=True)).all()
    values = [x if x is None else x.view(torch.uint8) if x.dim() == 4 else x for x in (before[1], cache.values)]
    assert torch.equal(values[1].flatten(0, 1)[new[kept]], values[0].flatten(0, 1)[old[kept]])


@pytest.mark.parametrize("stored", [torch.int8, torch.float8_e4m3fn])
def test_keys_that_are_not_rotated_keep_their_bytes(stored, device):
    q, k, v = drawn(1, KV_HEADS, KV_HEADS, dtype=torch.float32, device=device)
    cache, old, new = cache_of(stored, device=device), torch.tensor([5, 4, 3, 2, 1]), torch.tensor([9, 8, 7, 6, 0])
    old, new, ids = (x.to(device) for x in (old, new, IDS))
    rotate_and_store(q, k, v, cache=cache, slot_mapping=old, position_ids=ids, inv_freq=INV_FREQ)
    move(cache, old, new, from_position_ids=ids, position_ids=ids, inv_freq=INV_FREQ)
    for tensor in cache[:4]:
        flat = tensor.flatten(0, 1).view(torch.uint8)
        assert torch.equal(flat[new], flat[old])


# Under torch.compile ----------------------------------------------------------------------------------------------


def test_norm_and_rotation_are_one_graph(device):
    dtype, _ = widest(device)
    q, k = (x.requires_grad_() for x in drawn(2, 2, dtype=dtype, device=device))
    w_q, w_k = (w.requires_grad_() for w in weights_of(2, 2, dtype=dtype, device=device))
    inv_freq, ids = INV_FREQ.clone().requires_grad_(), IDS.to(device)
    inputs = (q, k, w_q, w_k, inv_freq)

    def loss(q, k, w_q, w_k, inv_freq):
        q, k = rotate(2 * q, k, norm=RMSNorm(w_q, w_k, adds_one=True), position_ids=ids, inv_freq=inv_freq)
        return (q * k * q).sum()

    expected = loss(*inputs)
    gradients = torch.autograd.grad(expected, inputs)
    got = torch.compile(loss, fullgraph=True, backend="aot_eager")(*inputs)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(torch.autograd.grad(got, inputs), gradients)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("stored", [torch.float32, torch.int8])
def test_a_step_that_stores_and_moves_is_one_graph(stored, backend, device):
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32, device=device)
    weights = weights_of(3, KV_HEADS, dtype=torch.float32, device=device)
    old, new = torch.tensor([2, 3, 4, 5, 7], device=device), torch.tensor([1, 2, 3, 4, 6], device=device)
    ids = IDS.to(device)

    def step(cache, q, k, v):
        rotated = rotate_and_store(2 * q, k, v, cache=cache, slot_mapping=old, norm=RMSNorm(*weights), position_ids=ids,
                                  inv_freq=INV_FREQ)
        move(cache, old, new, from_position_ids=ids, position_ids=ids - 1, inv_freq=INV_FREQ)
        return rotated + 1

    mine, theirs = cache_of(stored, device=device), cache_of(stored, device=device)
    expected = step(mine, q, k, v)
    got = torch.compile(step, fullgraph=True, backend=backend)(theirs, q, k, v)
    assert torch.equal(got, expected)
    assert all(torch.equal(a, b) for a, b in zip(mine[:4], theirs[:4], strict=True) if a is not None)


ANGLES = (IDS, INV_FREQ, torch.tensor(1.5, dtype=torch.float64))
SWITCHES_OFF = (False, False, False, False)


def test_operators_keep_torchs_contracts(device):
    q, k, v = (x.transpose(1, 2) for x in drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32, device=device))
    weights = [w.requires_grad_() for w in weights_of(3, KV_HEADS, dtype=torch.float32, device=device)]
    ids, slots = IDS.to(device), SLOTS.to(device)
    angles = (ids, INV_FREQ.clone().requires_grad_(), ANGLES[2].clone().requires_grad_())
    check = torch.library.opcheck
    for heads_first in (False, True):
        inputs = [(x.transpose(1, 2) if heads_first else x).clone().requires_grad_() for x in (q, k)]
        check(torch.ops.cordage.rotate_normalized.default, (inputs, weights, 1e-6, *SWITCHES_OFF, *angles, True, heads_first))
    for stored in (torch.bfloat16, torch.int8):
        cache = cache_of(stored, device=device)
        check(torch.ops.cordage.rotate_and_store.default,
              (q, k, v, *cache[:4], slots, [w.detach() for w in weights], 1e-6, *SWITCHES_OFF, ids, *ANGLES[1:], False))
        check(torch.ops.cordage.move.default, (*cache[:4], slots, slots, ids, *ANGLES[1:], ids + 1, *ANGLES[1:], False))


def test_that_a_cache_was_written_is_noted(device):
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32, device=device)
    cache = cache_of(torch.int8, device=device)
    before = [x._version for x in cache[:4]]
    rotate_and_store(q, k, v, cache=cache, slot_mapping=SLOTS.to(device), position_ids=IDS.to(device), inv_freq=INV_FREQ)
    assert all(x._version > version for x, version in zip(cache[:4], before, strict=True))


def test_a_cache_made_in_inference_mode_is_written_in_it():
    """Once, torch's error came after the cache was written."""
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32)
    with torch.inference_mode():
        cache = cache_of(torch.float32)
    arguments = {"slot_mapping": SLOTS, "position_ids": IDS, "inv_freq": INV_FREQ}
    with torch.no_grad():
        with pytest.raises(ValueError, match="keys made in inference mode must be written in it"):
            rotate_and_store(q, k, v, cache=cache, **arguments)
        with pytest.raises(ValueError, match="keys made in inference mode must be written in it"):
            move(cache, SLOTS, SLOTS, from_position_ids=IDS, position_ids=IDS + 1, inv_freq=INV_FREQ)
    assert is_untouched(cache, torch.tensor([-1]))
    with torch.inference_mode():
        rotate_and_store(q, k, v, cache=cache, **arguments)
    assert is_untouched(cache) and not is_untouched(cache, torch.tensor([-1]))


# Errors -----------------------------------------------------------------------------------------------------------


def test_what_ends_at_a_cache_has_no_gradient():
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32)
    cache, arguments = cache_of(torch.float32), {"slot_mapping": SLOTS, "position_ids": IDS, "inv_freq": INV_FREQ}
    for name in ("attention_factor", "from_attention_factor"):
        factor = {name: torch.tensor(1.3, dtype=torch.float64, requires_grad=True)}
        with pytest.raises(ValueError, match=f"move: {name} must not require a gradient"):
            move(cache, SLOTS, SLOTS, from_position_ids=IDS, position_ids=IDS, inv_freq=INV_FREQ, **factor)
    with pytest.raises(ValueError, match="q must not require a gradient, which ends at a cache; call it under torch.no_grad"):
        rotate_and_store(q.requires_grad_(), k, v, cache=cache, **arguments)
    with pytest.raises(ValueError, match=r"norm.weights\[1\] must not require a gradient"):
        norm = RMSNorm(torch.ones(HEAD_DIM), torch.ones(HEAD_DIM, requires_grad=True))
        rotate_and_store(q.detach(), k, v, cache=cache, norm=norm, **arguments)
    assert is_untouched(cache, torch.tensor([-1]))
    with torch.no_grad():
        rotate_and_store(q, k, v, cache=cache, **arguments)
    rotated = torch.ops.cordage.rotate_and_store(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), *cache[:4], SLOTS, [],
                                                None, *SWITCHES_OFF, *ANGLES, False)
    with pytest.raises(RuntimeError, match="cordage::rotate_and_store"):
        rotated.sum().backward()


@pytest.mark.parametrize("norm, words", [
    (torch.nn.RMSNorm(HEAD_DIM), r"norm of type RMSNorm must be cordage_torch.RMSNorm\(q_weight, k_weight\)"),
    (RMSNorm(torch.ones(HEAD_DIM)), "weights has 1 tensors, must have one for each of 2, or none"),
    (RMSNorm(torch.ones(HEAD_DIM), torch.ones(4)), r"weights\[1\] \[4\] must be \[head_dim\] = \[8\]"),
    (RMSNorm(*[torch.ones(HEAD_DIM)] * 2, over_all_heads=True), r"weights\[0\] \[8\] must be \[heads, head_dim\] = \[3, 8\]"),
    (RMSNorm(*[torch.ones(HEAD_DIM, dtype=torch.int32)] * 2), r"weights\[0\] of type Int must be float32"),
    (RMSNorm(*[torch.ones(HEAD_DIM, device="meta")] * 2), r"weights\[0\] on meta must be on cpu"),
    (RMSNorm(eps=-1.0), "epsilon -1 must be finite and >= 0"),
    (RMSNorm(eps=math.nan), "epsilon -?nan must be finite and >= 0"),
])
def test_errors_of_norms(norm, words):
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32)
    with pytest.raises(ValueError, match=words):
        rotate(q, k, norm=norm, position_ids=IDS, inv_freq=INV_FREQ)
    cache = cache_of(torch.int8)
    with pytest.raises(ValueError, match=words):
        rotate_and_store(q, k, v, cache=cache, slot_mapping=SLOTS, norm=norm, position_ids=IDS, inv_freq=INV_FREQ)
    assert is_untouched(cache, torch.tensor([-1]))


def test_the_backward_operator_compares_its_tensors():
    x = torch.zeros(1, 5, 2, 8)

    def backward(grad_y, x, weights=()):
        return torch.ops.cordage.rotate_normalized_backward(grad_y, x, list(weights), 1e-6, *SWITCHES_OFF, *ANGLES, False,
                                                            [False] * 3, True)

    for others, words in (([x.half()], r"x\[0\] of type Half must have the type of grad_y\[0\], Float"),
                          ([x[:, :4]], r"x \[1, 4, 2, 8\] must have the shape of grad_y"), ([x[0]], r"x\[0\] has 3 dimensions"),
                          ([x, x], "x has 2 tensors, must have 1"), ([], "x has 0 tensors, must have 1")):
        with pytest.raises(ValueError, match=words):
            backward([x], others)
    with pytest.raises(ValueError, match=r"weights\[0\] \[7\] must be"):
        backward([x], [x], [torch.ones(7)])
    with pytest.raises(ValueError, match="position_ids entry 4 .* must be at most 2.53"):
        rotate(x, norm=RMSNorm(), position_ids=IDS * 2**40, inv_freq=INV_FREQ, heads_first=False)


def changed(**fields):
    return lambda a: a | fields


def cache_with(stored=torch.int8, **fields):
    return lambda a: a | {"cache": cache_of(stored)._replace(**fields)}


OVERLAPPING = torch.zeros(BLOCKS, BLOCK_SIZE, KV_HEADS, HEAD_DIM)


@pytest.mark.parametrize("change, words", [
    (changed(q=torch.zeros(3, 5, 8)), r"q \[3, 5, 8\] must be \[batch, heads, tokens, head_dim\]"),
    (changed(k=torch.zeros(1, 2, 5, 8, dtype=torch.float16)), "k of type Half must have the type of q, Float"),
    (changed(v=torch.zeros(1, 2, 5, 8, device="meta")), "v on meta must be on cpu"),
    (changed(v=torch.zeros(1, 2, 4, 8)), "must have the same batch and tokens"),
    (changed(v=torch.zeros(1, 3, 5, 8)), r"values \[3, 4, 2, 8\] must have the heads and head_dim of v \[1, 5, 3, 8\]"),
    (changed(k=torch.zeros(1, 2, 5, 6)), r"keys \[3, 4, 2, 8\] must have the heads and head_dim of k \[1, 5, 2, 6\]"),
    (lambda a: a | {x: a[x].double() for x in "qkv"}, "q of type Double must be float32, float16 or bfloat16"),
    (lambda a: cache_with(torch.float32)(a | {x: a[x].half() for x in "qkv"}), "keys of type Float must be of q's type, Half"),
    (changed(cache=cache_of(torch.float64)), "keys of type Double must be of q's type, Float, or float16, bfloat16, int8"),
    (cache_with(keys=torch.zeros(3, 4, 2, 8, device="meta")), "keys on meta must be on cpu"),
    (cache_with(keys=torch.zeros(12, 2, 8, dtype=torch.int8)), r"keys \[12, 2, 8\] must be \[blocks, block_size, heads"),
    (cache_with(values=torch.zeros(3, 4, 2, 8)), r"values Float \[3, 4, 2, 8\] must have the type, blocks and block_size of"),
    (cache_with(values=torch.zeros(3, 5, 2, 8, dtype=torch.int8)), "must have the type, blocks and block_size of keys"),
    (cache_with(keys=torch.zeros(3, 4, 2, 16, dtype=torch.int8)[..., ::2]), "keys with strides .* a last stride of 1"),
    (cache_with(torch.float32, keys=OVERLAPPING[:1].expand(3, -1, -1, -1)), "must not overlap itself"),
    (cache_with(torch.float32, keys=OVERLAPPING, values=OVERLAPPING), "must not overlap where one of them is written"),
    (cache_with(key_scales=None), "key_scales must be given for keys of type Char: float32"),
    (cache_with(torch.float32, value_scales=torch.ones(3, 4, 2)), "value_scales must not be given for values of type Float"),
    (cache_with(key_scales=torch.ones(3, 4, 1)), r"key_scales of type Float \[3, 4, 1\] must be float32"),
    (cache_with(key_scales=torch.ones(3, 4, 2).double()), "key_scales of type Double"),
    (cache_with(key_scales=torch.ones(3, 4, 2, device="meta")), "key_scales on meta must be on cpu"),
    (cache_with(key_scales=torch.ones(3, 4, 1).expand(3, 4, 2)), "key_scales with strides .* a separate element"),
    (cache_with(key_scales=OVERLAPPING[..., 0], value_scales=OVERLAPPING[..., 0]), "value_scales must not overlap key_scales"),
    (lambda a: cache_with(value_scales=a["q"].view(-1)[:24].view(3, 4, 2))(a), "value_scales must not overlap q"),
    (changed(slot_mapping=SLOTS.float()), r"slot_mapping of type Float \[5\] must be int32 or int64 \[1, 5\]"),
    (changed(slot_mapping=SLOTS[:4]), r"slot_mapping of type Long \[4\]"),
    (changed(slot_mapping=SLOTS.to("meta")), "slot_mapping on meta must be on cpu"),
    (changed(inv_freq=INV_FREQ.to("meta")), "inv_freq on meta must be on cpu"),
    (changed(attention_factor=torch.ones((), dtype=torch.float64, device="meta")), "attention_factor on meta must be on cpu"),
    (changed(slot_mapping=torch.tensor([0, 1, 2, 3, 12])), r"slot \[0, 4\] 12 must be one of the cache's 12 slots"),
    (changed(slot_mapping=torch.tensor([0, 1, 2, 3, 1])), r"slot \[0, 4\] 1 must be listed once"),
    (changed(position_ids=torch.arange(4)), r"angles \[1, 4\] must be"),
    (changed(position_ids=torch.arange(5.0) * math.inf), "position_ids.* must be finite"),
    (changed(inv_freq=INV_FREQ.float()), r"inv_freq torch.float32 \[3\] must be float64"),
    (changed(inv_freq=torch.ones(5, dtype=torch.float64)), "rotary_dim 10 must be <= head_dim 8"),
    (changed(attention_factor=0.0), "attention_factor 0 must be"),
])
def test_errors_name_the_argument_before_anything_is_written(change, words):
    q, k, v = drawn(3, KV_HEADS, KV_HEADS, dtype=torch.float32)
    arguments = change({"q": q, "k": k, "v": v, "cache": cache_of(torch.int8), "slot_mapping": SLOTS, "position_ids": IDS,
                        "inv_freq": INV_FREQ})
    versions = [x._version for x in arguments["cache"][:4] if x is not None]
    before = [x if x is None or x.is_meta else x.clone() for x in arguments["cache"][:4]]
    with pytest.raises(ValueError, match=words):
        rotate_and_store(**arguments)
    assert all(torch.equal(x, y) for x, y in zip(before, arguments["cache"][:4], strict=True) if x is not None and not x.is_meta)
    assert versions == [x._version for x in arguments["cache"][:4] if x is not None]


@pytest.mark.parametrize("change, words", [
    (changed(from_slots=SLOTS.float()), r"from_slots of type Float \[5\] must be int32 or int64 \[5\]"),
    (changed(to_slots=SLOTS[:4]), r"to_slots of type Long \[4\] must be int32 or int64 \[5\]"),
    (changed(from_position_ids=IDS[:4]), r"position_ids \[4\] of from must be \[tokens\] = \[5\]"),
    (changed(position_ids=IDS[None]), r"position_ids \[1, 5\] of to must be"),
    (changed(from_inv_freq=INV_FREQ[:2]), "angle_difference: from"),
    (changed(inv_freq=INV_FREQ.to("meta")), "move: inv_freq on meta must be on cpu"),
    (changed(from_inv_freq=INV_FREQ.to("meta")), "move: from_inv_freq on meta must be on cpu"),
    (changed(from_attention_factor=math.nan), "attention_factor -?nan must be"),
    (changed(to_slots=torch.tensor([1, 2, 3, 4, 12])), "12 must be one of the cache's 12 slots"),
    (changed(from_slots=torch.tensor([0, 1, 2, 3, 4]), to_slots=torch.tensor([1, 2, 3, 4, 5])),
     "slot 1 is written by token .* which must come first"),
    (changed(cache=cache_of(torch.float64)), "keys of type Double must be float32, float16 or bfloat16, or int8"),
    (cache_with(key_scales=None), "key_scales must be given"),
])
def test_errors_of_moves(change, words):
    arguments = change({"cache": cache_of(torch.int8), "from_slots": torch.tensor([2, 3, 4, 5, 6]),
                        "to_slots": torch.tensor([1, 2, 3, 4, 5]), "from_position_ids": IDS, "position_ids": IDS - 1,
                        "inv_freq": INV_FREQ})
    versions = [x._version for x in arguments["cache"][:4] if x is not None]
    with pytest.raises(ValueError, match=words):
        move(**arguments)
    assert is_untouched(arguments["cache"], torch.tensor([-1])) and versions == [
        x._version for x in arguments["cache"][:4] if x is not None]
