# SPDX-License-Identifier: MIT
"""The handlers for a GPU: that programs for it call them, that they are registered where they were compiled, and what they
compute where there is a device."""
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cordage_jax
from cordage_jax import ClexSettings, clex, inv_freq, move, rotate

F = inv_freq(16)
IDS = jnp.arange(6, dtype=jnp.int32) + 100_000
X = jax.random.normal(jax.random.key(0), (2, 6, 3, 16))


def all_of_it(x, log_alpha, ids):
    """Every function, and every gradient."""
    def loss(x, log_alpha, ids):
        y, = rotate(x, position_ids=ids, inv_freq=F, log_alpha=log_alpha, attention_factor=1.25)
        return (y * jnp.arange(16)).sum()
    grads = jax.grad(loss, (0, 1, 2))(x, log_alpha, ids.astype(jnp.float32))
    moved = move(x, old_positions=ids, new_positions=ids + 7, inv_freq=F)
    up, down = jnp.full((4, 8), 0.1), jnp.full((8, 4), 0.1)
    solved = clex(up, down, jnp.array([1.0, 3.0]), ClexSettings(original_length=64.0, t_max=4.0))
    slopes = jax.grad(lambda d: clex(up, d, 3.0, ClexSettings(original_length=64.0, t_max=4.0))[0].sum())(down)
    return loss(x, log_alpha, ids), grads, moved, solved, slopes


def test_a_program_for_a_gpu_calls_every_handler():
    lowered = jax.jit(all_of_it).trace(X, jnp.zeros(8), IDS).lower(lowering_platforms=("cuda",)).as_text()
    for name in ("rotate", "rotate_gradients", "move", "clex", "clex_gradients"):
        assert f"@cordage_{name}(" in lowered


def test_the_handlers_are_registered_where_they_were_compiled():
    """What waits for a GPU's plugin is given to one that asks, in a process that has none."""
    if not Path(cordage_jax.__file__).with_name("_handlers_cuda.so").exists():
        pytest.skip("cordage_jax was built without nvcc")
    code = ("import cordage_jax; from jaxlib import xla_client\n"
            "xla_client.register_custom_call_handler('CUDA', lambda name, *_: print(name))")
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(printed.split()) == {f"cordage_{name}" for name in ("rotate", "rotate_gradients", "move", "clex", "clex_gradients")}


@pytest.mark.parametrize("dtype, allowed", [(jnp.float32, 1e-5), (jnp.bfloat16, 4e-2), (jnp.float16, 4e-3)])
def test_results_are_the_cpus(dtype, allowed):
    try:
        gpu = jax.devices("cuda")[0]
    except RuntimeError:
        pytest.skip("no CUDA device")
    if not Path(cordage_jax.__file__).with_name("_handlers_cuda.so").exists():
        pytest.skip("cordage_jax was built without nvcc")
    results = []
    for device in (jax.devices("cpu")[0], gpu):
        arguments = jax.device_put((X.astype(dtype), jnp.linspace(-0.1, 0.1, 8), IDS), device)
        results.append(jax.tree.leaves(jax.jit(all_of_it)(*arguments)))
    for mine, expected in zip(results[1], results[0], strict=True):
        mine, expected = (np.asarray(one, np.float64) for one in (mine, expected))
        assert np.abs(mine - expected).max() <= allowed * np.abs(expected).max()
