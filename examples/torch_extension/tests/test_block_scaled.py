# SPDX-License-Identifier: MIT
"""Caches in MXFP8, MXFP4 and NVFP4: bytes, moves, one graph, errors."""
import functools
import re
from pathlib import Path

import pytest
import torch

from cordage_torch import PagedCache, RMSNorm, move, rotate, rotate_and_store

GOLDEN = Path(__file__).resolve().parents[3] / "tests/tensors/block_scaled_bytes.hpp"
FORMATS = {"mxfp8_e4m3": (torch.float8_e4m3fn, torch.float8_e8m0fnu), "mxfp8_e5m2": (torch.float8_e5m2, torch.float8_e8m0fnu),
           "mxfp4": (torch.float4_e2m1fn_x2, torch.float8_e8m0fnu), "nvfp4": (torch.float4_e2m1fn_x2, torch.float8_e4m3fn)}
HEAD_DIM, BLOCKS, BLOCK_SIZE, HEADS = 64, 3, 4, 2
INV_FREQ = 1e4 ** -torch.linspace(0, 1, 24, dtype=torch.float64)  # 48 of 64 lanes are rotated
SLOTS = torch.tensor([6, 0, -1, 7, 11])
IDS = torch.tensor([40, 41, 42, 43, 1_000_000])


def cache_of(name, device="cpu", **options):
    dtype, scales_dtype = FORMATS[name]
    return PagedCache.zeros(BLOCKS, BLOCK_SIZE, HEADS, HEAD_DIM, dtype, device, scales_dtype=scales_dtype, **options)


def drawn(device="cpu", dtype=torch.float32):
    torch.manual_seed(1)
    return tuple(torch.randn(1, heads, 5, HEAD_DIM).to(device, dtype) for heads in (3, HEADS, HEADS))


def in_bytes(cache):
    return [x.cpu().view(torch.uint8) for x in cache[:4]]


def numbers(codes, scales, tensor_scale=1.0):
    """What codes and scales say, in float64: [.., head_dim]."""
    if codes.dtype == torch.float4_e2m1fn_x2:
        of_code = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)
        bits = codes.cpu().view(torch.uint8).long()
        plain = torch.cat((of_code, -of_code))[torch.stack((bits & 15, bits >> 4), -1).flatten(-2)]
    else:
        plain = codes.cpu().double()
    scales = scales.cpu().float().double() * tensor_scale
    return (plain.unflatten(-1, (scales.shape[-1], -1)) * scales[..., None]).flatten(-2)


@functools.cache
def recorded():
    """The numbers of block_scaled_bytes.hpp by name."""
    text = re.sub("//.*", "", GOLDEN.read_text())
    found = {}
    for space, body in re.findall(r"namespace (\w+) {\n(inline.*?)\n}  ", text, re.DOTALL):
        for name, values in re.findall(r"(codes|scales)\[\] = {(.*?)}", body, re.DOTALL):
            found[space, name] = torch.tensor([int(x) for x in values.split(",") if x.strip()], dtype=torch.uint8)
    inputs = re.search(r"inputs\[\] = {(.*?)}", text, re.DOTALL).group(1)
    bits = torch.tensor([int(x.strip().rstrip("u"), 0) for x in inputs.split(",")], dtype=torch.int64)
    return found | {"inputs": bits.to(torch.uint32).view(torch.float32)}


# Bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("golden, name, head_dim, options", [
    ("mxfp8_e4m3_floor", "mxfp8_e4m3", 64, {}), ("mxfp8_e4m3_rceil", "mxfp8_e4m3", 64, {"scales_round_up": True}),
    ("mxfp8_e5m2_floor", "mxfp8_e5m2", 32, {}), ("mxfp8_e5m2_rceil", "mxfp8_e5m2", 64, {"scales_round_up": True}),
    ("mxfp4_floor", "mxfp4", 64, {}), ("mxfp4_rceil", "mxfp4", 64, {"scales_round_up": True}),
    ("nvfp4", "nvfp4", 64, {}), ("nvfp4_tensor", "nvfp4", 16, {"value_tensor_scale": 17.25 / 2688}),
    ("ue8m0_64", "mxfp8_e4m3", 64, {"lanes_of_scale": 64, "scales_round_up": True, "scale_least": 1e-4}),
    ("ue8m0_128", "mxfp8_e4m3", 128, {"lanes_of_scale": 128, "scales_round_up": True, "scale_least": 1e-4})])
def test_bytes_are_torchaos(golden, name, head_dim, options, device):
    dtype, scales_dtype = FORMATS[name]
    v = recorded()["inputs"].to(device).view(1, -1, 1, head_dim)
    tokens = v.shape[1]
    cache = PagedCache.zeros(tokens, 1, 1, head_dim, dtype, device, scales_dtype=scales_dtype, **options)
    k = torch.zeros_like(v)
    rotate_and_store(k, k, v, cache=cache, slot_mapping=torch.arange(tokens, device=device), inv_freq=INV_FREQ[:head_dim // 2],
                     position_ids=torch.arange(tokens, device=device), heads_first=False)
    scales, expected = cache.value_scales.cpu().view(torch.uint8).flatten(), recorded()[golden, "scales"]
    v = v.cpu().view(len(scales), -1)
    is_nan = v.isnan().any(-1) & bool(options.get("scale_least"))  # DeepGEMM makes a power of two of NaN
    assert torch.equal(scales[~is_nan], expected[~is_nan])
    # torchao stores blocks of the least power of two as if it were another, and what stands beside a NaN is no number
    is_compared = ~v.isnan().any(-1) & ((expected != 0) | (scales_dtype != torch.float8_e8m0fnu))
    codes, wanted = (x.view(len(scales), -1)[is_compared] for x in
                     (cache.values.cpu().view(torch.uint8), recorded()[golden, "codes"]))
    assert torch.equal(codes, wanted) and is_compared.sum() > len(scales) / 2


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_keys_are_rotated_and_stored_as_values_are(dtype, name, interleaved):
    q, k, v = drawn(dtype=dtype)
    for norm in (None, RMSNorm(torch.full((HEAD_DIM,), 0.5), torch.full((HEAD_DIM,), 0.25))):
        cache, other = cache_of(name), cache_of(name)
        if other.key_scales.dtype == torch.float8_e8m0fnu:  # or their bytes
            other = PagedCache(other.keys, other.values, *(x.view(torch.uint8) for x in other[2:4]))
        angles = {"position_ids": IDS, "inv_freq": INV_FREQ, "interleaved": interleaved}
        got = rotate_and_store(q, k, v, cache=cache, slot_mapping=SLOTS, norm=norm, **angles)
        assert torch.equal(got, rotate(q, k, norm=norm, **angles)[0])
        rotated = rotate(q.float(), k.float(), norm=norm, **angles)[1]
        rotate_and_store(q.float(), rotated, rotated, cache=other, slot_mapping=SLOTS, **angles)
        assert torch.equal(in_bytes(cache)[0], in_bytes(other)[1]) and torch.equal(in_bytes(cache)[2], in_bytes(other)[3])
        assert in_bytes(cache)[1].flatten(0, 1)[[1, 2, 3, 4, 5, 8, 9, 10]].eq(0).all()  # the other slots


def test_pages_of_bytes_and_heads_before_tokens():
    # A page as in vLLM: codes of K, scales of K, codes of V, scales of V, each head after head.
    codes, scales = HEADS * BLOCK_SIZE * HEAD_DIM // 2, HEADS * BLOCK_SIZE * HEAD_DIM // 16
    pages = torch.full((BLOCKS, 2 * (codes + scales)), 9, dtype=torch.uint8)

    def part(first, lanes, dtype):
        row = HEAD_DIM // lanes
        return pages[:, first:first + HEADS * BLOCK_SIZE * row].view(BLOCKS, HEADS, BLOCK_SIZE, row).transpose(1, 2).view(dtype)

    fours, e4m3 = FORMATS["nvfp4"]
    paged = PagedCache(part(0, 2, fours), part(codes + scales, 2, fours), part(codes, 16, e4m3),
                       part(2 * codes + scales, 16, e4m3), key_tensor_scale=0.001, value_tensor_scale=0.002)
    plain = cache_of("nvfp4", key_tensor_scale=0.001, value_tensor_scale=0.002)
    q, k, v = drawn()
    for cache in (paged, plain):
        rotate_and_store(q, k, v, cache=cache, slot_mapping=SLOTS, position_ids=IDS, inv_freq=INV_FREQ)
        move(cache, SLOTS, SLOTS - (SLOTS > 7).long(), from_position_ids=IDS, position_ids=IDS - 1, inv_freq=INV_FREQ)
    stored = [0, 6, 7, 10]
    for mine, theirs in zip(in_bytes(paged), in_bytes(plain), strict=True):
        assert torch.equal(mine.flatten(0, 1)[stored], theirs.flatten(0, 1)[stored])
        assert mine.flatten(0, 1)[[2, 3, 9]].eq(9).all()


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn])
def test_groups_of_lanes_with_scales_in_float(dtype):
    q, k, v = drawn()
    cache = PagedCache.zeros(BLOCKS, BLOCK_SIZE, HEADS, HEAD_DIM, dtype, lanes_of_scale=16)
    rotate_and_store(q, k, v, cache=cache, slot_mapping=SLOTS, position_ids=IDS, inv_freq=INV_FREQ)
    at, kept = SLOTS[SLOTS >= 0], v[0].transpose(0, 1)[SLOTS >= 0].unflatten(-1, (4, 16))
    largest = 127 if dtype == torch.int8 else 448
    assert torch.equal(cache.value_scales.flatten(0, 1)[at], (kept.abs().amax(-1).double() / largest).float())
    off = (numbers(cache.values, cache.value_scales).flatten(0, 1)[at].unflatten(-1, (4, 16)) - kept).abs()
    assert (off <= kept.abs().amax(-1, keepdim=True) / 25).all()


# Keys that move ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_moved_keys_are_those_of_other_positions(name, interleaved, device):
    q, k, v = drawn(device)
    options = {"key_tensor_scale": 0.01, "value_tensor_scale": 0.02} if name == "nvfp4" else {"scales_round_up": True}
    cache, other = cache_of(name, device, **options), cache_of(name, device, **options)
    old, new, ids = torch.tensor([3, 4, 6, 9, 10]), torch.tensor([2, 3, 4, -1, 5]), IDS.to(device)
    angles = {"inv_freq": INV_FREQ, "interleaved": interleaved}
    rotate_and_store(q, k, v, cache=cache, slot_mapping=old.to(device), position_ids=ids, **angles)
    before = [x.clone() for x in cache[:4]]
    move(cache, old.to(device), new.to(device), from_position_ids=ids, position_ids=ids - 7, **angles)
    kept = new >= 0
    for moved, was in ((cache.values, before[1]), (cache.value_scales, before[3])):
        moved, was = (x.cpu().view(torch.uint8).flatten(0, 1) for x in (moved, was))
        assert torch.equal(moved[new[kept]], was[old[kept]])
    # Keys are rotated from what was stored and rounded once.
    stored = numbers(before[0], before[2], options.get("key_tensor_scale", 1.0)).flatten(0, 1)[old].float()[None].to(device)
    turned, = rotate(stored, position_ids=torch.full((5,), -7, device=device), heads_first=False, **angles)
    rotate_and_store(turned, turned, turned, cache=other._replace(value_tensor_scale=other.key_tensor_scale),
                     slot_mapping=new.to(device), position_ids=ids, heads_first=False, **angles)
    for mine, theirs in ((cache.keys, other.values), (cache.key_scales, other.value_scales)):
        mine, theirs = (x.cpu().view(torch.uint8).flatten(0, 1)[new[kept]] for x in (mine, theirs))
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("name", FORMATS)
def test_keys_that_are_not_rotated_keep_their_bytes(name, device):
    q, k, v = drawn(device)
    cache, old, new = cache_of(name, device), torch.tensor([5, 4, 3, 2, 1]), torch.tensor([9, 8, 7, 6, 0])
    ids = IDS.to(device)
    rotate_and_store(q, k, v, cache=cache, slot_mapping=old.to(device), position_ids=ids, inv_freq=INV_FREQ)
    move(cache, old.to(device), new.to(device), from_position_ids=ids, position_ids=ids, inv_freq=INV_FREQ)
    for tensor in in_bytes(cache):
        assert torch.equal(tensor.flatten(0, 1)[new], tensor.flatten(0, 1)[old])


# Under torch.compile ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_step_that_stores_and_moves_is_one_graph(name, backend, device):
    if backend == "inductor" and name != "nvfp4" and tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15):
        pytest.skip("Inductor before 2.15 does not compile e8m0")
    torch._dynamo.reset()
    q, k, v = drawn(device)
    old, new, ids = (x.to(device) for x in (torch.tensor([2, 3, 4, 5, 7]), torch.tensor([1, 2, 3, 4, 6]), IDS))

    def step(cache, q, k, v):
        rotated = rotate_and_store(2 * q, k, v, cache=cache, slot_mapping=old, position_ids=ids, inv_freq=INV_FREQ)
        move(cache, old, new, from_position_ids=ids, position_ids=ids - 1, inv_freq=INV_FREQ)
        return rotated + 1

    options = {"key_tensor_scale": 0.5} if name == "nvfp4" else {"scales_round_up": True, "scale_least": 1e-4}
    mine, theirs = cache_of(name, device, **options), cache_of(name, device, **options)
    expected = step(mine, q, k, v)
    assert torch.equal(torch.compile(step, fullgraph=True, backend=backend)(theirs, q, k, v), expected)
    assert all(torch.equal(a, b) for a, b in zip(in_bytes(mine), in_bytes(theirs), strict=True))


def test_operators_keep_torchs_contracts(device):
    q, k, v = (x.transpose(1, 2) for x in drawn(device))
    slots, angles = SLOTS.to(device), (IDS.to(device), INV_FREQ, torch.tensor(1.0, dtype=torch.float64))
    cache = cache_of("mxfp8_e4m3", device)
    utilities = "test_autograd_registration", "test_faketensor"  # the others compare by allclose, which fp8 does not have
    torch.library.opcheck(torch.ops.cordage.rotate_and_store.default,
                          (q, k, v, *cache[:4], slots, [], None, *[False] * 4, *angles, False, True, 1e-4), test_utils=utilities)
    torch.library.opcheck(torch.ops.cordage.move.default, (*cache[:4], slots, slots, *angles, angles[0] + 1, *angles[1:], False),
                          test_utils=utilities)


# Errors -----------------------------------------------------------------------------------------------------------


def with_fields(name, **fields):
    return cache_of(name)._replace(**fields)


def ones(*sizes, dtype=torch.float8_e8m0fnu):
    return torch.ones(*sizes, dtype=dtype)


E4M3, E8M0, FLOAT4 = torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2


@pytest.mark.parametrize("cache, words", [
    (with_fields("mxfp4", key_scales=None), "key_scales must be given for keys of type Float4_e2m1fn_x2: float8_e8m0fnu"),
    (with_fields("mxfp4", key_scales=torch.ones(3, 4, 2, 2)), r"key_scales of type Float \[3, 4, 2, 2\] must be float8_e8m0fnu"),
    (with_fields("mxfp8_e4m3", key_scales=ones(3, 4, 2, 2, dtype=E4M3)), r"must be float32 or float8_e8m0fnu \(MXFP8\)"),
    (with_fields("mxfp8_e4m3", **dict.fromkeys(("keys", "values"), torch.zeros(3, 4, 2, 64, dtype=torch.int8))),
     "key_scales of type Float8_e8m0fnu .* must be float32"),
    (with_fields("mxfp4", value_scales=ones(3, 4, 2, 4, dtype=E4M3)), "value_scales of type Float8_e4m3fn must have the type of"),
    (with_fields("mxfp4", key_scales=ones(3, 4, 2, 3)), r"key_scales \[3, 4, 2, 3\] has 3 groups of lanes, must have a divisor"),
    (with_fields("mxfp4", key_scales=ones(3, 4, 2, 64)), "lanes_of_scale 1 must be even and divide head_dim 64"),
    (with_fields("nvfp4", key_scales=ones(3, 4, 2, 2, dtype=E4M3)), "has 2 groups of lanes, must have one for each 16"),
    (with_fields("nvfp4", key_scales=ones(3, 4, 2, dtype=E4M3)), "has 1 groups of lanes, must have one for each 16"),
    (with_fields("mxfp4", key_scales=ones(3, 4, 2, 4)[..., ::2]), "key_scales with strides .* a last stride of 1"),
    (with_fields("mxfp4", key_scales=ones(3, 4, 1, 2).expand(3, 4, 2, 2)), "a separate element for each token and head"),
    (with_fields("nvfp4", scales_round_up=True), "scales_round_up true and scale_least 0 must be false and 0 unless scales are"),
    (PagedCache.zeros(3, 4, 2, 64, scales_round_up=True), "scales_round_up true and scale_least 0 must be false and 0 unless"),
    (with_fields("nvfp4", scale_least=1.0), "scales_round_up false and scale_least 1 must be false and 0 unless"),
    (with_fields("mxfp4", scale_least=-1.0), "keys's least -1 must be finite and not negative"),
    (with_fields("mxfp4", key_tensor_scale=2.0), "key_tensor_scale 2 and value_tensor_scale 1 must be 1 unless"),
    (with_fields("nvfp4", value_tensor_scale=0.0), "values's tensor_scale 0 must be positive and finite"),
    (PagedCache.zeros(BLOCKS, BLOCK_SIZE, HEADS, HEAD_DIM)._replace(scales_round_up=True), "scales_round_up true"),
    (PagedCache.zeros(BLOCKS, BLOCK_SIZE, HEADS, 2 * HEAD_DIM, FLOAT4, scales_dtype=E8M0),
     r"keys \[3, 4, 2, 64\] must have the heads and head_dim, half of it in bytes of fp4, of k \[1, 5, 2, 64\]"),
    (PagedCache.zeros(BLOCKS, BLOCK_SIZE, HEADS, HEAD_DIM, torch.uint8)._replace(key_scales=None, value_scales=None),
     r"keys of type Byte must be .*float4_e2m1fn_x2 \(codes in uint8: x.view\(torch.float8_e4m3fn\)\)"),
])
def test_errors_name_the_field(cache, words):
    q, k, v = drawn()
    with pytest.raises(ValueError, match="rotate_and_store: .*" + words):
        rotate_and_store(q, k, v, cache=cache, slot_mapping=SLOTS, position_ids=IDS, inv_freq=INV_FREQ)
    if "of k" not in words and "of q" not in words:
        with pytest.raises(ValueError, match="move: .*" + words):
            move(cache, SLOTS, SLOTS, from_position_ids=IDS, position_ids=IDS - 1, inv_freq=INV_FREQ)
    assert cache.keys.view(torch.uint8).eq(0).all()


@pytest.mark.parametrize("arguments, words", [
    ({"dtype": FLOAT4}, r"scales_dtype must be given for torch.float4_e2m1fn_x2: float8_e8m0fnu \(MXFP4\) or float8_e4m3fn"),
    ({"dtype": torch.bfloat16, "scales_dtype": E8M0}, "must be None for torch.bfloat16, which has no scales"),
    ({"dtype": E4M3, "scales_dtype": E8M0}, "head_dim 48 must be a multiple of 32, the lanes of a scale"),
    ({"dtype": torch.int8, "lanes_of_scale": 20}, "head_dim 48 must be a multiple of 20"),
    ({"dtype": torch.int8, "lanes_of_scale": -8}, "lanes_of_scale -8 must be >= 1, or None"),
])
def test_errors_of_zeros(arguments, words):
    with pytest.raises(ValueError, match=words):
        PagedCache.zeros(BLOCKS, BLOCK_SIZE, HEADS, 48, **arguments)
