# SPDX-License-Identifier: MIT
"""CLEX and the table as functions of JAX."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from cordage_jax import ClexSettings, clex, inv_freq, learned_table, rotate

SETTINGS = ClexSettings(original_length=64, t_max=8.0, tolerance=1e-8)


def weights(scale):
    up, down = jax.random.normal(jax.random.key(0), (12, 8)), jax.random.normal(jax.random.key(1), (8, 12))
    return up / 3, scale * down


def test_zero_weights_give_the_prior():
    up, down = weights(0.0)
    log_alpha, factors = clex(up, down, jnp.array([1.0, 2.0, 7.5]), SETTINGS)
    wanted = -np.outer(np.log([1.0, 2.0, 7.5]), 2 * np.arange(8) / 14)  # NTK-aware, t^(-2i/(d-2)), d = 16
    assert np.abs(np.asarray(log_alpha) - wanted).max() < 1e-6
    assert (factors == 1).all()


def test_gradients_reach_the_weights_through_the_rotation():
    up, down = weights(0.05)
    x = jax.random.normal(jax.random.key(2), (1, 6, 2, 16))
    ids = jnp.arange(6, dtype=jnp.int32)

    @jax.jit
    def loss(up, down):
        log_alpha, _ = clex(up, down, 4.0, SETTINGS)
        q, = rotate(x, position_ids=ids, inv_freq=inv_freq(16), log_alpha=log_alpha)
        return (q * jnp.arange(16)).sum()
    check_grads(loss, (up, down), order=1, modes=["rev"], atol=2e-2, rtol=2e-2, eps=2e-3)
    before = loss(up, down)
    for _ in range(3):
        of_up, of_down = jax.grad(loss, (0, 1))(up, down)
        up, down = up - 0.001 * of_up / jnp.linalg.norm(of_up), down - 0.001 * of_down / jnp.linalg.norm(of_down)
    assert loss(up, down) < before


def test_vmap_over_weights():
    up, down = weights(0.05)
    both = jax.vmap(lambda d: clex(up, d, 4.0, SETTINGS)[0])(jnp.stack([down, 2 * down]))
    assert (both[1] == clex(up, 2 * down, 4.0, SETTINGS)[0]).all()


@pytest.mark.parametrize("t_max", [3.7, 3.3])
def test_the_largest_t_is_taken_where_float32_rounds_it(t_max):
    up, down = weights(0.05)
    settings = SETTINGS._replace(t_max=t_max)  # once, float32's 3.7 was larger than t_max
    log_alpha, _ = clex(up, down, t_max, settings)
    grads = jax.grad(lambda d: clex(up, d, t_max, settings)[0].sum())(down)
    assert np.allclose(log_alpha, clex(up, down, t_max, SETTINGS)[0], atol=1e-5) and np.isfinite(grads).all()
    with pytest.raises(Exception, match="must be in"):
        jax.block_until_ready(clex(up, down, t_max + 0.01, settings))


def test_table():
    offsets = jnp.array([[1.0, -1.0], [2.0, 0.5]])
    at = lambda t, o=offsets: learned_table(o, (2.0, 8.0), t, original_length=9.0)
    gated = offsets * jnp.array([1 / 10, 1 / 1.09])  # theta is 1 and 0.01
    assert (at(1.0) == 0).all()
    assert np.allclose(at(2.0), gated[0]) and np.allclose(at(8.0), gated[1]) and np.allclose(at(99.0), gated[1])
    assert np.allclose(at(4.0), (gated[0] + gated[1]) / 2)
    grad = jax.grad(lambda o: at(4.0, o).sum())(offsets)
    assert np.allclose(grad, [[0.05, 0.5 / 1.09]] * 2)
    with pytest.raises(ValueError, match="learned_table: knots"):
        learned_table(offsets, (2.0,), 1.0, original_length=9.0)
    for t in (0.5, jnp.float32(0.5), np.nan):
        with pytest.raises(ValueError, match="learned_table: t (0.5|nan) must be >= 1"):
            at(t)
    assert (jax.jit(at)(0.5) == 0).all()  # as documented


@pytest.mark.parametrize("change,message", [
    ({"field": "other"}, "CLEX: field 'other' must be 'paper', 'log_length' or 'released'"),
    ({"field": "log_time"}, "'released'; 'log_length' is 'log_time' in other units"),
    ({"activation": "relu"}, "CLEX: activation 'relu' must be 'silu' or 'tanh'"),
    ({"prior": "none"}, "CLEX: prior 'none' must be"),
    ({"t_max": 0.5}, "t_max"),
])
def test_bad_settings_are_named(change, message):
    up, down = weights(0.0)
    with pytest.raises(Exception, match=message):
        jax.block_until_ready(clex(up, down, 1.0, SETTINGS._replace(**change)))
    with pytest.raises(ValueError, match="clex: W_up"):
        clex(up, down.T, 1.0, SETTINGS)
    with pytest.raises(ValueError, match="clex: W_up bfloat16 .* both float32 or both float64"):
        clex(up.astype(jnp.bfloat16), down.astype(jnp.bfloat16), 1.0, SETTINGS)
