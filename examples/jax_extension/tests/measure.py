# SPDX-License-Identifier: MIT
"""The row of JAX in docs/engines.md, as JSON: errors at position 10^5, and times compared with jitted code of JAX only."""
import json
import time

import jax
import jax.numpy as jnp
import numpy as np

from cordage_jax import inv_freq, rotate

F = inv_freq(128)


def by_table(x, cos, sin):
    first, second = x[..., :64], x[..., 64:]
    return (np if isinstance(x, np.ndarray) else jnp).concatenate(
        [first * cos - second * sin, second * cos + first * sin], -1)


def by_float32(x, ids):
    angle = ids.astype(jnp.float32)[None, :, None, None] * jnp.asarray(F, jnp.float32)
    return by_table(x, jnp.cos(angle), jnp.sin(angle))


def by_cordage(x, ids):
    return rotate(x, position_ids=ids, inv_freq=F)[0]


def errors():
    ids, x = jnp.array([100_000], jnp.int32), jax.random.normal(jax.random.key(0), (1, 1, 8, 128))
    angle = np.outer(np.asarray(ids, np.float64), F)[None, :, None]
    exact = by_table(np.asarray(x, np.float64), np.cos(angle), np.sin(angle))
    return [np.abs(np.asarray(one(x, ids), np.float64) - exact).max() for one in (by_cordage, by_float32)]


def times():
    """Microseconds, the best of 23, of donated calls at 512 x 32: cordage, with tables given, with float32 angles."""
    ids = jnp.arange(512, dtype=jnp.int32) + 1000
    angle = np.outer(np.arange(512) + 1000, F)[None, :, None]
    cos, sin = jnp.asarray(np.cos(angle), jnp.float32), jnp.asarray(np.sin(angle), jnp.float32)
    calls = [jax.jit(lambda x: by_cordage(x, ids), donate_argnums=0),
             jax.jit(lambda x, c, s: by_table(x, c, s), donate_argnums=0), jax.jit(by_float32, donate_argnums=0)]
    more = [(), (cos, sin), (ids,)]
    x = [jax.random.normal(jax.random.key(1), (1, 512, 32, 128)) for _ in calls]
    taken = [[] for _ in calls]
    for _ in range(25):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(3):
                x[i] = call(x[i], *more[i])
            x[i].block_until_ready()
            taken[i].append((time.perf_counter() - start) / 3 * 1e6)
    return [float(np.min(one[2:])) for one in taken]


def main():
    mine, own = errors()
    cordage, table, float32 = times()
    print(json.dumps({
        "engine": "JAX", "version": jax.__version__, "replaced": "the rotation, its gradients, the move of cached keys",
        "difference": f"from float64 at position 10^5: {mine:.1e}, JAX's float32 angles {own:.1e}",
        "equal": "-",
        "time": f"512×32 in float32: {cordage:.0f} µs, jitted JAX {table:.0f} with tables given, {float32:.0f} without"}))


if __name__ == "__main__":
    main()
