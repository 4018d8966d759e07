# SPDX-License-Identifier: MIT
"""Finds the definitions of the installed diffusers that compute angles, runs them in double, and applies them to q."""
import ast
import contextlib
import importlib
import inspect
import pathlib
import re

import diffusers
import torch
from diffusers.models import embeddings
from torch.overrides import TorchFunctionMode

PACKAGE = pathlib.Path(diffusers.__file__).parent


def called(node):
    """The names of the functions that a definition calls."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            f = call.func
            yield f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""


def definitions():
    """Classes and functions of the wheel that make a cos or a complex phase, or by their names: "module:name".

    Not those of schedulers and training, nor pipelines and their steps, which make coordinates for those of models.
    """
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if not module.startswith(("models", "pipelines", "modular_pipelines")) or ".deprecated." in module:
            continue
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or re.search("Pipeline|Step$", node.name):
                continue
            names = set(called(node))
            by_name = isinstance(node, ast.ClassDef) and re.search("Rotary|RoPE|Rope[A-Z]|Rope$|EmbedND", node.name)
            if names & {"cos", "polar"} or by_name or any(name.startswith("get_1d_rotary_pos") for name in names):
                found.append(f"{module}:{node.name}")
    return found


# Running a class in double -----------------------------------------------------------------------------------------

class Doubled(TorchFunctionMode):
    """Has code that asks for float32, complex64 or bfloat16 compute in double."""

    WIDER = {torch.float32: torch.float64, torch.bfloat16: torch.float64, torch.complex64: torch.complex128}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def wider(value):
            return self.WIDER.get(value, value) if isinstance(value, torch.dtype) else value

        func = torch.Tensor.double if func is torch.Tensor.float else func
        return func(*map(wider, args), **{key: wider(value) for key, value in (kwargs or {}).items()})


@contextlib.contextmanager
def in_double():
    torch.set_default_dtype(torch.float64)
    try:
        with Doubled():
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def x_of(tokens, heads, head_dim):
    """The test input [tokens, heads, head_dim], the same as in image_recipe.hpp."""
    return ((torch.arange(tokens * heads * head_dim) * 7919 % 97 - 48) / 16).reshape(tokens, heads, head_dim)


# How classes are applied -------------------------------------------------------------------------------------------

def module_of(definition):
    return importlib.import_module("diffusers." + definition.split(":")[0])


def named(definition):
    return getattr(module_of(definition), definition.split(":")[1])


def nested(definition, name):
    """A function that is defined inside another one of the definition's module."""
    module = module_of(definition)
    node = next(n for n in ast.walk(ast.parse(inspect.getsource(module)))
                if isinstance(n, ast.FunctionDef) and n.name == name)
    scope = dict(vars(module))
    exec(compile(ast.Module([node], []), module.__file__, "exec"), scope)  # the wheel's own code
    return scope[name]


def by_table(tables, **how):
    """A function that applies embeddings.apply_rotary_emb with cos and sin [tokens, lanes]."""
    return lambda x: embeddings.apply_rotary_emb(x[None], tables(), sequence_dim=1, **how)[0]


def by_complex(apply, table):
    """A function for x [1, tokens, heads, lanes] and phases of unit length [tokens, lanes/2]."""
    return lambda x: apply(x[None], table(), use_real=False)[0]
