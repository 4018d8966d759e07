# SPDX-License-Identifier: MIT
"""The released CLEX layer in torch's own operations, for autograd: the 3/8 rule in steps of time_dt."""
import torch


def released_inv_freq(up, down, t, *, time_dt, activation="tanh", theta_base=10000.0):
    """inv_freq(t) [pairs]; (t - 1) / time_dt is a whole number.

        dz/dt = down sigma(up (z + log n(t))) + d log n/dt      n_i(t) = 10000^(-2i/d) (2t - 1)^(-2i/(d-2))
    """
    pairs = up.shape[1]
    pair = torch.arange(pairs, dtype=up.dtype)
    power = 2 * pair / (2 * pairs - 2)
    sigma = {"tanh": torch.tanh, "silu": torch.nn.functional.silu}[activation]
    log_of = {base: -2 * pair / (2 * pairs) * torch.log(torch.tensor(base, dtype=up.dtype)) for base in (10000.0, theta_base)}

    def slope(at, z):
        factor = torch.tensor(2 * at - 1, dtype=up.dtype)
        seen = z + log_of[10000.0] - power * torch.log(factor)
        return down @ sigma(up @ seen) - 2 * power / factor

    steps = round((t - 1) / time_dt)
    h, z = (t - 1) / steps, log_of[theta_base]
    for step in range(steps):
        at = 1 + step * h
        k1 = slope(at, z)
        k2 = slope(at + h / 3, z + h * k1 / 3)
        k3 = slope(at + 2 * h / 3, z + h * (k2 - k1 / 3))
        k4 = slope(at + h, z + h * (k1 - k2 + k3))
        z = z + h * (k1 + 3 * (k2 + k3) + k4) / 8
    return torch.exp(z)
