# SPDX-License-Identifier: MIT
"""vmap, donation, arrays over two devices, and x64."""
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from cordage_jax import inv_freq, move, rotate

F = inv_freq(32)
IDS = jnp.arange(6, dtype=jnp.int32) + 1000


def heads(*shape):
    return jax.random.normal(jax.random.key(sum(shape)), (*shape, 32))


def rotated(x, log_alpha=None, ids=IDS):
    return rotate(x, position_ids=ids, inv_freq=F, log_alpha=log_alpha)[0]


def test_vmap_is_a_loop():
    x, log_alpha = heads(3, 2, 6, 4), 0.1 * heads(3)[:, :16]
    loop = jnp.stack([rotated(x[i], log_alpha[i]) for i in range(3)])
    assert (jax.vmap(rotated)(x, log_alpha) == loop).all()
    shared = jnp.stack([rotated(x[i], log_alpha[0]) for i in range(3)])
    assert (jax.vmap(rotated, (0, None))(x, log_alpha[0]) == shared).all()
    by_ids = jnp.stack([rotated(x[0], None, IDS + i) for i in range(3)])
    assert (jax.vmap(lambda i: rotated(x[0], None, IDS + i))(jnp.arange(3)) == by_ids).all()

    def loss(x, log_alpha):
        return (rotated(x, log_alpha) * jnp.arange(32)).sum()
    grad = jax.grad(loss, (0, 1))
    of_loop = [grad(x[i], log_alpha[i]) for i in range(3)]
    of_vmap = jax.vmap(grad)(x, log_alpha)
    for at in (0, 1):
        assert (of_vmap[at] == jnp.stack([g[at] for g in of_loop])).all()
    moved = jax.vmap(lambda x: move(x, old_positions=IDS, new_positions=IDS + 1, inv_freq=F))(x)
    assert (moved[2] == move(x[2], old_positions=IDS, new_positions=IDS + 1, inv_freq=F)).all()


def test_a_donated_array_is_rotated_where_it_lies():
    compiled = jax.jit(rotated, donate_argnums=0).lower(heads(1, 6, 4)).compile()
    assert "copy(" not in compiled.as_text()
    assert compiled.memory_analysis().alias_size_in_bytes == 6 * 4 * 32 * 4
    x = heads(1, 6, 4)
    kept = rotated(x)
    assert (compiled(x) == kept).all() and x.is_deleted()


@pytest.mark.parametrize("spec", [P("devices"), P(None, None, "devices"), P(None, "devices")])
def test_arrays_over_two_devices_are_rotated_where_they_lie(spec):
    assert len(jax.devices()) == 2
    mesh = Mesh(np.array(jax.devices()), ("devices",))
    x, log_alpha = heads(2, 6, 4), jnp.full(16, -0.25)
    there = jax.device_put(x, NamedSharding(mesh, spec))
    forward = jax.jit(rotated).lower(there, log_alpha).compile()
    assert "all-gather" not in forward.as_text()
    y = forward(there, log_alpha)
    assert y.sharding.is_equivalent_to(there.sharding, 4) and (np.asarray(y) == np.asarray(rotated(x, log_alpha))).all()

    grad = jax.jit(jax.grad(lambda x, l: (rotated(x, l) * jnp.arange(32)).sum(), (0, 1)))
    here, over = grad(x, log_alpha), grad(there, log_alpha)
    assert (np.asarray(over[0]) == np.asarray(here[0])).all()
    assert np.abs(np.asarray(over[1]) - np.asarray(here[1])).max() < 1e-4 * np.abs(np.asarray(here[1])).max()


def test_float64_with_x64():
    program = """
import jax; jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp, numpy as np
from cordage_jax import inv_freq, rotate
x = jax.random.normal(jax.random.key(0), (1, 4, 2, 32))
assert x.dtype == jnp.float64
ids = jnp.arange(4) + 2**40
assert ids.dtype == jnp.int64
y, = rotate(x, position_ids=ids - 2**40 + 1000, inv_freq=inv_freq(32))
a = np.outer(np.arange(4) + 1000, inv_freq(32))[None, :, None]
x = np.asarray(x)
r = np.concatenate([x[..., :16] * np.cos(a) - x[..., 16:] * np.sin(a), x[..., 16:] * np.cos(a) + x[..., :16] * np.sin(a)], -1)
assert np.abs(np.asarray(y) - r).max() < 1e-12
rotate(x, position_ids=ids, inv_freq=inv_freq(32))[0].block_until_ready()
from jax.test_util import check_grads
check_grads(lambda x, l: rotate(x, position_ids=jnp.arange(4), inv_freq=inv_freq(32), log_alpha=l), (x, 0.1 * jnp.ones(16)),
            order=1, modes=["rev"], atol=1e-6, rtol=1e-6)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
