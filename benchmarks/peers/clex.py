# SPDX-License-Identifier: MIT
"""CLEX's ODE as released, 64 pairs, 128 hidden units, t = 1 ... 16: forward, and with the gradient to the weights."""
import ctypes
import math
import os
import sys

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import torch
import torchdiffeq
from case import HEAD_DIM, INV_FREQ, THETA_BASE
from rounds import Calls, interleaved

PAIRS, HIDDEN, T_MAX = HEAD_DIM // 2, HEAD_DIM, 16
STEP, TOLERANCE = 0.01, 1e-6
LARGEST_ERROR = 1e-3  # of a solution that is right, if not precise
DOUBLES = ctypes.POINTER(ctypes.c_double)


class ClexCase(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("pairs", "hidden", "t_max", "in_float")] + [
        ("step_size", ctypes.c_double), ("tolerance", ctypes.c_double),
        ("up", DOUBLES), ("down", DOUBLES), ("grad_z", DOUBLES)]


class Problem:
    """Weights of a trained size, the gradient of the loss to z at whole t, and the field dz/dt of any array library."""

    def __init__(self):
        random = np.random.default_rng(1)
        self.up = random.normal(0.0, 1.0 / math.sqrt(PAIRS), (HIDDEN, PAIRS))
        self.down = random.normal(0.0, 0.02, (PAIRS, HIDDEN))
        self.grad_z = random.normal(0.0, 1.0, (T_MAX, PAIRS))
        self.z1 = np.log(INV_FREQ)
        self.exponents = np.arange(0, HEAD_DIM, 2) / (HEAD_DIM - 2)
        self.t = np.arange(1.0, T_MAX + 1.0)

    @staticmethod
    def slope(library, t, z, up, down, log_theta, exponents):
        factor = 2.0 * t - 1.0
        seen = z + log_theta - exponents * library.log(factor)
        return down @ library.tanh(up @ seen) - 2.0 * exponents / factor


def pointer(array):
    return array.ctypes.data_as(DOUBLES)


class CordageClex:
    RUNS_A_LOAD = None

    def __init__(self, name, library, problem, with_gradient, **solver):
        self.name, self.z, self.gradient = name, np.empty((T_MAX, PAIRS)), np.empty(2 * HIDDEN * PAIRS)
        self.solve = ctypes.CDLL(os.path.abspath(library)).cordage_clex
        self.case = ClexCase(PAIRS, HIDDEN, T_MAX, 1, up=pointer(problem.up), down=pointer(problem.down), **solver)
        if with_gradient:
            self.case.grad_z = pointer(problem.grad_z)
        self.outputs = pointer(self.z), pointer(self.gradient)

    def run(self, repeats):
        if self.solve(ctypes.byref(self.case), ctypes.c_int64(repeats), *self.outputs) != 0:
            raise ArithmeticError("cordage_clex could not solve")

    def call(self):
        self.run(1)
        return self.z, self.gradient


class TorchField(torch.nn.Module):
    def __init__(self, problem, dtype=torch.float32):
        super().__init__()
        self.up, self.down = (torch.nn.Parameter(torch.from_numpy(w).to(dtype)) for w in (problem.up, problem.down))
        self.constants = torch.from_numpy(problem.z1).to(dtype), torch.from_numpy(problem.exponents).to(dtype)

    def forward(self, t, z):
        return Problem.slope(torch, t, z, self.up, self.down, *self.constants)


def torch_entries(problem, name, **solver):
    """torchdiffeq, forward and backward through the solver."""
    field = TorchField(problem)
    z1, t, grad_z = (torch.from_numpy(array).float() for array in (problem.z1, problem.t, problem.grad_z))

    def forward():
        with torch.no_grad():
            return torchdiffeq.odeint(field, z1, t, **solver).numpy(), None

    def backward():
        field.zero_grad()
        z = torchdiffeq.odeint(field, z1, t, **solver)
        (z * grad_z).sum().backward()
        return z.detach().numpy(), np.concatenate([w.grad.numpy().ravel() for w in (field.up, field.down)])

    return [Calls(f"torchdiffeq {name}, forward", forward), Calls(f"torchdiffeq {name}, with gradient", backward)]


def diffrax_entries(problem):
    """diffrax under jit, float32; its gradient is of the recursive checkpointed adjoint, its default."""
    z1, log_theta, exponents, t, grad_z = (
        jnp.asarray(array, jnp.float32)
        for array in (problem.z1, problem.z1, problem.exponents, problem.t, problem.grad_z))
    weights = tuple(jnp.asarray(w, jnp.float32) for w in (problem.up, problem.down))
    term = diffrax.ODETerm(lambda at, z, w: Problem.slope(jnp, at, z, *w, log_theta, exponents))

    def solve(w):
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 1.0, float(T_MAX), None, z1, args=w,
                                   saveat=diffrax.SaveAt(ts=t),
                                   stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE)).ys

    def loss(w):
        z = solve(w)
        return (z * grad_z).sum(), z

    forward, backward = jax.jit(solve), jax.jit(jax.value_and_grad(loss, has_aux=True))

    def forward_call():
        return np.asarray(forward(weights)), None

    def backward_call():
        (_, z), gradients = backward(weights)
        return np.asarray(z), np.concatenate([np.asarray(g).ravel() for g in gradients])

    return [Calls("diffrax Tsit5 1e-6, jit, forward", forward_call),
            Calls("diffrax Tsit5 1e-6, jit, with gradient", backward_call)]


def cordage_entries(problem, library):
    for name, solver in (("rk4_38 step 0.01", {"step_size": STEP}), ("tsit5 1e-6", {"tolerance": TOLERANCE}),
                         ("tsit5 5e-5", {"tolerance": 5e-5})):
        yield CordageClex(f"cordage {name}, forward", library, problem, False, **solver)
        yield CordageClex(f"cordage {name}, with gradient", library, problem, True, **solver)


def exact(problem):
    """z and the gradient in float64, solved to 1e-11."""
    field = TorchField(problem, torch.float64)
    z1, t, grad_z = (torch.from_numpy(array) for array in (problem.z1, problem.t, problem.grad_z))
    z = torchdiffeq.odeint(field, z1, t, method="dopri8", rtol=1e-11, atol=1e-11)
    (z * grad_z).sum().backward()
    return z.detach().numpy(), np.concatenate([w.grad.numpy().ravel() for w in (field.up, field.down)])


def compare(library, rounds, shortest):
    """Times, and the largest errors of z and, relative to its largest entry, of the gradient."""
    problem = Problem()
    true_z, true_gradient = exact(problem)
    entries = [*cordage_entries(problem, library), *diffrax_entries(problem),
               *torch_entries(problem, "dopri5 1e-6", method="dopri5", rtol=TOLERANCE, atol=TOLERANCE),
               *torch_entries(problem, "rk4 (3/8 rule) step 0.01", method="rk4", options={"step_size": STEP})]
    errors = {}
    for entry in entries:
        z, gradient = entry.call()
        errors[entry.name] = [np.abs(z - true_z).max()]
        if "gradient" in entry.name:
            errors[entry.name].append(np.abs(gradient - true_gradient).max() / np.abs(true_gradient).max())
        if not max(errors[entry.name]) < LARGEST_ERROR:
            sys.exit(f"{entry.name} is wrong: errors {errors[entry.name]}")
    return {"errors": errors, "times": interleaved(entries, rounds, shortest)}
