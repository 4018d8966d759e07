# SPDX-License-Identifier: MIT
import ml_dtypes
import numpy as np
import pytest
from formula import rotated

import cordage

INV_FREQ = 1e4 ** -(np.arange(24) / 24)
IDS = np.array([0, 1, -3, 100000, 2**31 - 1])
FACTOR = 1.25
ANGLES = cordage.Angles(cordage.Basis(INV_FREQ, FACTOR), IDS)
TOLERANCES = {np.float32: 1e-6, np.float64: 1e-9, np.float16: 4e-3, ml_dtypes.bfloat16: 4e-2}  # 2e-19 * 2^31 of an angle


def numbers(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)


@pytest.fixture(params=["baseline", "avx2", "avx512"], autouse=True)
def selected(request):
    """Every test by every instruction set that the processor has."""
    try:
        cordage.select_kernels(request.param)
    except ValueError as error:
        pytest.skip(str(error))
    assert cordage.kernels() == request.param
    yield
    cordage.select_kernels("best")


@pytest.mark.parametrize("pairing", ["half_split", "interleaved"])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_forward_and_inverse_are_the_formula(dtype, pairing):
    q, k = numbers((5, 4, 64), dtype), numbers((5, 2, 48), dtype, 1)
    given = q.copy()
    new_q, new_k = cordage.rotate(q, k, angles=ANGLES, pairing=pairing)
    assert new_q.dtype == q.dtype and (q == given).all()
    for x, y in (q, new_q), (k, new_k):
        wanted = rotated(x, INV_FREQ, IDS, pairing, FACTOR)
        assert np.abs(y.astype(np.float64) - wanted).max() < TOLERANCES[dtype]
    back, = cordage.rotate_inverse(new_q, angles=ANGLES, pairing=pairing)
    assert np.abs(back.astype(np.float64) - q.astype(np.float64)).max() < 2 * TOLERANCES[dtype]
    result = cordage.rotate(q, angles=ANGLES, pairing=pairing, out=q)
    assert result[0] is q and q.tobytes() == new_q.tobytes()


def test_strides_threads_and_batches_change_nothing():
    x = numbers((2, 5, 3, 64))
    expected = np.stack(cordage.rotate(x[0], x[1], angles=ANGLES, pairing="half_split"))
    heads_first = np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    for given in x, heads_first:
        y, = cordage.rotate(given, angles=ANGLES, pairing="half_split", threads=3)
        assert (y == expected).all()


def test_each_row_and_each_token_has_its_basis():
    bases = [cordage.Basis(INV_FREQ), cordage.Basis(INV_FREQ / 4)]
    x = numbers((2, 5, 3, 48))
    y, = cordage.rotate(x, angles=cordage.Angles(bases, IDS), pairing="half_split")
    for row in range(2):
        assert np.abs(y[row] - rotated(x[row], INV_FREQ / 4**row, IDS, "half_split")).max() < 1e-6
    which = np.array([0, 1, 1, 0, 1])
    flat, = cordage.rotate(x[0], angles=cordage.Angles(bases, IDS, basis_of_token=which), pairing="half_split")
    for token, of in enumerate(which):
        wanted = rotated(x[0, token:token + 1], INV_FREQ / 4**of, IDS[token:token + 1], "half_split")
        assert np.abs(flat[token] - wanted[0]).max() < 1e-6


def test_axes_of_positions():
    axis_of_pair = np.arange(24) % 3
    ids = np.array([[1, 2], [30, 40], [500, 600]])
    x = numbers((2, 3, 48))
    y, = cordage.rotate(x, angles=cordage.Angles(cordage.Basis(INV_FREQ), ids, axis_of_pair=axis_of_pair),
                        pairing="half_split")
    for token in range(2):
        per_pair = ids[axis_of_pair, token] * INV_FREQ  # as positions of one basis
        assert np.abs(y[token] - rotated(x[token:token + 1], per_pair, [1], "half_split")[0]).max() < 1e-6


@pytest.mark.parametrize("pairing", ["half_split", "interleaved"])
def test_gradients_are_differences(pairing):
    ids = np.array([0.0, 1.5, -3.0, 70.0, 7.25])
    q, w = numbers((5, 2, 64), np.float64), numbers((5, 2, 64), np.float64, 1)

    def loss(inv_freq, position_ids, factor):
        y, = cordage.rotate(q, angles=cordage.Angles(cordage.Basis(inv_freq, factor), position_ids), pairing=pairing)
        return (y * w).sum(), y

    y = loss(INV_FREQ, ids, FACTOR)[1]
    angles = cordage.Angles(cordage.Basis(INV_FREQ, FACTOR), ids)
    grads = cordage.rotate_backward(w, angles=angles, pairing=pairing, y=y)
    scale = np.where(np.arange(64) < 48, FACTOR**2, 1.0)  # the other lanes are copied
    assert np.abs(grads.x[0] - scale * cordage.rotate_inverse(w, angles=angles, pairing=pairing)[0]).max() < 1e-12
    h = 1e-6
    for i in 0, 5, 23:
        step = h * (np.arange(24) == i)
        slope = (loss(INV_FREQ + step, ids, FACTOR)[0] - loss(INV_FREQ - step, ids, FACTOR)[0]) / (2 * h)
        assert grads.inv_freq[0, i] == pytest.approx(slope, rel=1e-5, abs=1e-5)
    for i in range(5):
        step = h * (np.arange(5) == i)
        slope = (loss(INV_FREQ, ids + step, FACTOR)[0] - loss(INV_FREQ, ids - step, FACTOR)[0]) / (2 * h)
        assert grads.position_ids[i] == pytest.approx(slope, rel=1e-5, abs=1e-5)
    assert grads.attention_factor[0] == pytest.approx((y * w)[..., :48].sum() / FACTOR)
    alone = cordage.rotate_backward(w, angles=angles, pairing=pairing)
    assert (alone.x[0] == grads.x[0]).all() and alone.inv_freq is None


def test_gradients_of_positions_have_their_shape():
    ids = np.array([0.0, 1.5, -3.0])
    w = numbers((2, 3, 2, 64), np.float64)
    y = numbers((2, 3, 2, 64), np.float64, 1)
    basis = cordage.Basis(INV_FREQ)
    rows = cordage.rotate_backward(w, angles=cordage.Angles(basis, np.stack([ids, ids])), pairing="half_split", y=y)
    one = cordage.rotate_backward(w, angles=cordage.Angles(basis, ids), pairing="half_split", y=y)
    assert rows.position_ids.shape == (2, 3) and one.position_ids.shape == (3,)
    assert np.allclose(rows.position_ids.sum(0), one.position_ids, rtol=1e-12)


def test_gradients_of_no_tokens_are_zero():
    basis, none = cordage.Basis([1.0, 0.1]), np.ones((0, 2, 4), np.float32)
    angles = cordage.Angles(basis, np.zeros(0, np.int64))
    grads = cordage.rotate_backward(none, angles=angles, pairing="half_split", y=none)  # once, an error
    assert grads.x[0].shape == (0, 2, 4) and grads.position_ids.shape == (0,)
    assert (grads.inv_freq == 0).all() and (grads.attention_factor == 0).all()


def test_moved_keys_are_those_rotated_there():
    k = numbers((5, 2, 48))
    new = cordage.Angles(cordage.Basis(INV_FREQ / 2, 1.5), IDS[::-1] - 5)
    keys, = cordage.rotate(k, angles=ANGLES, pairing="interleaved")
    wanted, = cordage.rotate(k, angles=new, pairing="interleaved")
    cordage.move(keys, angles=new - ANGLES, pairing="interleaved", out=keys)
    assert np.abs(keys - wanted).max() < 2e-6
    with pytest.raises(ValueError, match="difference"):
        cordage.move(keys, angles=new, pairing="interleaved", out=keys)


def test_quantised_keys_that_are_not_rotated_keep_their_bytes():
    codes, scales = np.full((1, 5, 2, 48), 50, np.int8), np.full((1, 5, 2), 0.01, np.float32)
    keys = cordage.Heads(codes, scales=scales)
    cordage.move(keys, angles=ANGLES - ANGLES, pairing="half_split", out=keys)
    assert (codes == 50).all() and (scales == np.float32(0.01)).all()


def test_norm_rotation_and_a_quantised_cache_in_one_pass():
    k, weight = numbers((5, 2, 64)), numbers(64, seed=2)
    wanted = k / np.sqrt((k.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6) * weight
    wanted = rotated(wanted, INV_FREQ, IDS, "half_split", FACTOR)
    slots = np.array([7, 0, -1, 12, 3])
    cache, scales = np.zeros((4, 4, 2, 64), np.int8), np.zeros((4, 4, 2), np.float32)
    operand = cordage.Operand(k, out=cordage.Heads(cache, slot_mapping=slots, scales=scales), norm=cordage.RMSNorm(weight))
    cordage.rotate(operand, angles=ANGLES, pairing="half_split")
    stored = (cache * scales[..., None].astype(np.float64)).reshape(16, 2, 64)
    for token, slot in enumerate(slots):
        if slot >= 0:
            assert np.abs(stored[slot] - wanted[token]).max() < scales.reshape(16, 2)[slot].max()
    assert not stored[[s for s in range(16) if s not in slots]].any()

    blocks = np.zeros((5, 2, 2 * 34), np.uint8)  # q8_0: a scale and 32 codes
    cordage.rotate(cordage.Operand(k, out=cordage.Heads(blocks, dtype="q8_0")), angles=ANGLES, pairing="half_split")
    parts = blocks.reshape(5, 2, 2, 34)
    plain = (parts[..., 2:].view(np.int8) * parts[..., :2].copy().view(np.float16).astype(np.float64)).reshape(5, 2, 64)
    assert np.abs(plain - rotated(k, INV_FREQ, IDS, "half_split", FACTOR)).max() < 0.03


@pytest.mark.parametrize("scales_dtype, lanes, options, factor, room", [
    ("float8_e8m0fnu", 32, {"scales_round_up": True}, lambda scale: 2.0 ** (scale.astype(np.float64) - 127), 0.2),
    ("float8_e4m3fn", 16, {"tensor_scale": 0.002},  # no subnormal number is met: a scale is at least 2^-6
     lambda scale: 0.002 * (1 + (scale & 7) / 8) * 2.0 ** (scale >> 3).astype(np.float64) * 2.0 ** -7, 0.18)])
def test_fp4_with_scales_of_one_byte(scales_dtype, lanes, options, factor, room):
    k = numbers((5, 2, 64))
    codes, scales = np.zeros((5, 2, 32), np.uint8), np.zeros((1, 5, 2, 64 // lanes), np.uint8)
    out = cordage.Heads(codes, dtype="float4_e2m1fn_x2", scales=scales, scales_dtype=scales_dtype, **options)
    cordage.rotate(cordage.Operand(k, out=out), angles=ANGLES, pairing="half_split")
    number = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])
    found = number[np.stack([codes & 15, codes >> 4], -1)].reshape(5, 2, -1, lanes) * factor(scales[0])[..., None]
    wanted = rotated(k, INV_FREQ, IDS, "half_split", FACTOR).reshape(found.shape)
    assert (np.abs(found - wanted) <= room * np.abs(wanted).max(-1, keepdims=True)).all()


def test_first_lane_and_unrotated_values():
    x = numbers((5, 2, 64))
    y, v = cordage.rotate(x, cordage.Operand(x, is_unrotated=True), angles=ANGLES, pairing="half_split", first_lane=16)
    assert (y[..., :16] == x[..., :16]).all() and (v == x).all()
    assert np.abs(y[..., 16:] - rotated(x[..., 16:], INV_FREQ, IDS, "half_split", FACTOR)).max() < 1e-6
