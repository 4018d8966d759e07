# SPDX-License-Identifier: MIT
"""rotate and move against float64 of numpy, and their gradients against finite differences."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from cordage_jax import inv_freq, move, rotate

SHAPE = (2, 5, 3, 32)
IDS = np.array([[0, 1, 7, 99_999, 1_000_000], [3, 2, 1, 0, 12_345]], np.int32)


def heads(seed=0, shape=SHAPE, dtype=jnp.float32):
    return jax.random.normal(jax.random.key(seed), shape).astype(dtype)


def by_numpy(x, ids, frequencies, interleaved=False, factor=1.0):
    x = np.asarray(x, np.float64)
    pairs = len(frequencies)
    angle = (np.broadcast_to(ids, x.shape[:2]).astype(np.float64)[..., None] * frequencies)[:, :, None]
    first, second = (x[..., 0:2 * pairs:2], x[..., 1:2 * pairs:2]) if interleaved else \
        (x[..., :pairs], x[..., pairs:2 * pairs])
    y0 = factor * (first * np.cos(angle) - second * np.sin(angle))
    y1 = factor * (second * np.cos(angle) + first * np.sin(angle))
    y = x.copy()
    y[..., :2 * pairs] = np.stack([y0, y1], -1).reshape(*y0.shape[:-1], -1) if interleaved else \
        np.concatenate([y0, y1], -1)
    return y


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype,tolerance", [(jnp.float32, 1e-6), (jnp.bfloat16, 2e-2), (jnp.float16, 3e-3)])
@pytest.mark.parametrize("rotary_dim", [32, 20])
def test_rotates_as_numpy_does_in_float64(interleaved, dtype, tolerance, rotary_dim):
    assert not jax.config.jax_enable_x64
    q, k = heads(0, dtype=dtype), heads(1, (2, 5, 1, 32), dtype)
    f = inv_freq(rotary_dim)
    rotated = jax.jit(lambda *x: rotate(*x, position_ids=IDS, inv_freq=f, interleaved=interleaved,
                                       attention_factor=1.25))(q, k)
    for x, y in zip((q, k), rotated, strict=True):
        assert y.dtype == dtype and y.shape == x.shape
        assert np.abs(np.asarray(y, np.float64) - by_numpy(x, IDS, f, interleaved, 1.25)).max() < 4 * tolerance


@pytest.mark.parametrize("ids", [IDS[0], IDS[:1], IDS.astype(np.float32), IDS[0].astype(np.float32) + 0.25])
def test_positions_of_all_types_and_shapes(ids):
    y, = rotate(heads(), position_ids=ids, inv_freq=inv_freq(32))
    assert np.abs(np.asarray(y) - by_numpy(heads(), ids, inv_freq(32))).max() < 4e-6


def test_gradients_are_those_of_finite_differences():
    ids = jnp.array([[0.5, 1.25, 3.0, 7.75, 2.0]] * 2)
    log_alpha = 0.1 * jax.random.normal(jax.random.key(3), (16,))

    def rotated(x, ids, log_alpha):
        return rotate(x, 2 * x[:, :, :1], position_ids=ids, inv_freq=inv_freq(32), log_alpha=log_alpha,
                      attention_factor=1.5)
    check_grads(rotated, (heads(), ids, log_alpha), order=1, modes=["rev"], atol=3e-2, rtol=3e-2)
    check_grads(lambda x: rotated(x, ids, log_alpha), (heads(),), order=1, modes=["rev"], atol=3e-2, rtol=3e-2)


def test_the_gradient_of_log_alpha_by_a_formula():
    f, x, g = inv_freq(32), heads(), heads(5)
    grad = jax.grad(lambda l: (rotate(x, position_ids=IDS % 100, inv_freq=f, log_alpha=l)[0] * g).sum())(jnp.zeros(16))
    y, g = by_numpy(x, IDS % 100, f), np.asarray(g, np.float64)
    to_angle = (g[..., 16:] * y[..., :16] - g[..., :16] * y[..., 16:]).sum(2)
    wanted = (to_angle * (IDS % 100)[..., None] * f).sum((0, 1))
    assert np.abs(np.asarray(grad) - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_each_row_has_its_log_alpha():
    rows = jnp.stack([jnp.zeros(16), jnp.full(16, -0.5)])
    y, = rotate(heads(), position_ids=IDS, inv_freq=inv_freq(32), log_alpha=rows)
    wanted = by_numpy(heads(), IDS, inv_freq(32) * np.exp(np.float64(np.float32(-0.5))))
    assert np.abs(np.asarray(y)[1] - wanted[1]).max() < 4e-6
    assert (y[0] == rotate(heads(), position_ids=IDS, inv_freq=inv_freq(32))[0][0]).all()
    grad = jax.grad(lambda l: rotate(heads(), position_ids=IDS % 9, inv_freq=inv_freq(32), log_alpha=l)[0][0].sum())(rows)
    assert np.abs(grad[0]).max() > 0 and (grad[1] == 0).all()


def test_keys_move_to_other_positions_and_another_basis():
    f, slower = inv_freq(32), inv_freq(32) / 4
    keys, = rotate(heads(), position_ids=IDS, inv_freq=f)
    new = IDS[::-1] + 1000
    moved = move(keys, old_positions=IDS, new_positions=new, inv_freq=f, new_inv_freq=slower, new_attention_factor=1.5)
    assert np.abs(np.asarray(moved) - by_numpy(heads(), new, slower, factor=1.5)).max() < 1e-5


def test_where_jaxs_own_float32_angles_are_wrong():
    ids, f = np.full((1, 1), 100_000, np.int32), inv_freq(128)
    x = heads(2, (1, 1, 1, 128))
    angle = (jnp.asarray(ids, jnp.float32)[..., None] * jnp.asarray(f, jnp.float32))[:, :, None]
    own = jnp.concatenate([x[..., :64] * jnp.cos(angle) - x[..., 64:] * jnp.sin(angle),
                           x[..., 64:] * jnp.cos(angle) + x[..., :64] * jnp.sin(angle)], -1)
    exact = by_numpy(x, ids, f)
    assert np.abs(np.asarray(own) - exact).max() > 1e-3
    assert np.abs(np.asarray(rotate(x, position_ids=ids, inv_freq=f)[0]) - exact).max() < 1e-6


@pytest.mark.parametrize("arguments,message", [
    ({"inv_freq": np.zeros((2, 2))}, r"rotate: inv_freq \(2, 2\) must be finite numbers \[rotary_dim/2\]"),
    ({"inv_freq": inv_freq(32).astype(np.float32)}, "rotate: inv_freq float32 must be float64"),
    ({"inv_freq": jnp.ones(16)}, "rotate: inv_freq float32 must be float64"),
    ({"inv_freq": np.full(17, 1.0)}, "rotate: inv_freq of 17 pairs must have at most head_dim/2 = 16"),
    ({"inv_freq": np.full(4, np.nan)}, "rotate: inv_freq .* must be finite"),
    ({"position_ids": IDS[:, :3]}, r"rotate: position_ids \(2, 3\) must be \[tokens\] or \[batch, tokens\]"),
    ({"position_ids": IDS.astype(np.int8)}, "rotate: position_ids int8 must be int32"),
    ({"log_alpha": jnp.zeros(15)}, r"rotate: log_alpha \(15,\) must be \[pairs\] or \[batch, pairs\], pairs 16"),
    ({"log_alpha": jnp.zeros(16, jnp.bfloat16)}, "rotate: log_alpha bfloat16 must be float32 or float64"),
    ({"attention_factor": 0.0}, "rotate: attention_factor 0.0 must be"),
])
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        rotate(heads(), **({"position_ids": IDS, "inv_freq": inv_freq(32)} | arguments))


@pytest.mark.parametrize("arguments,message", [
    ({"new_inv_freq": inv_freq(30)}, "move: new_inv_freq of 15 pairs must have as many as inv_freq, 16"),
    ({"new_inv_freq": inv_freq(32).astype(np.float32)}, "move: new_inv_freq float32 must be float64"),
    ({"new_inv_freq": np.full(16, np.inf)}, "move: new_inv_freq .* must be finite"),
    ({"new_attention_factor": 0.0}, "move: new_attention_factor 0.0 must be 2"),
    ({"new_attention_factor": np.nan}, "move: new_attention_factor nan must be"),
    ({"new_attention_factor": np.inf}, "move: new_attention_factor inf must be"),
])
def test_bad_arguments_of_a_move_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):  # once, an error of XLA, later
        move(heads(), old_positions=IDS, new_positions=IDS, inv_freq=inv_freq(32), **arguments)


def test_traced_frequencies_and_wrong_heads_are_named():
    with pytest.raises(ValueError, match="inv_freq must be numbers that are known when the function is traced"):
        jax.jit(lambda f: rotate(heads(), position_ids=IDS, inv_freq=f))(jnp.ones(16))
    with pytest.raises(ValueError, match=r"rotate: x\[1\] \(5, 3, 32\) must be \[batch, tokens, heads, head_dim\]"):
        rotate(heads(), heads()[0], position_ids=IDS, inv_freq=inv_freq(32))
    with pytest.raises(ValueError, match="int32 must be float32"):
        rotate(jnp.zeros(SHAPE, jnp.int32), position_ids=IDS, inv_freq=inv_freq(32))
