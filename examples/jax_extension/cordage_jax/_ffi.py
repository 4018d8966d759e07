# SPDX-License-Identifier: MIT
"""Registers the handlers by name: those of _handlers.so for the CPU and, where they were compiled, those of
_handlers_cuda.so for a GPU."""
import ctypes
import pathlib

import jax

_NAMES = ("rotate", "rotate_gradients", "move", "clex", "clex_gradients")


def _register(library: pathlib.Path, platform: str) -> None:
    handlers = ctypes.CDLL(str(library))
    for name in _NAMES:
        jax.ffi.register_ffi_target(f"cordage_{name}", jax.ffi.pycapsule(getattr(handlers, f"cordage_{name}")),
                                    platform=platform)


_folder = pathlib.Path(__file__).parent
_register(_folder / "_handlers.so", "cpu")
if (_folder / "_handlers_cuda.so").exists():
    _register(_folder / "_handlers_cuda.so", "CUDA")


def call(name, results, *args, vmap_method=None, aliases=None, **attributes):
    return jax.ffi.ffi_call(f"cordage_{name}", results, vmap_method=vmap_method, input_output_aliases=aliases)(
        *args, **attributes)
