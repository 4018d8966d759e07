# SPDX-License-Identifier: MIT
"""Registers the handlers of _handlers.so by name."""
import ctypes
import pathlib

import jax

_library = ctypes.CDLL(str(pathlib.Path(__file__).with_name("_handlers.so")))

for _name in ("rotate", "rotate_gradients", "move", "clex", "clex_gradients"):
    jax.ffi.register_ffi_target(f"cordage_{_name}", jax.ffi.pycapsule(getattr(_library, f"cordage_{_name}")),
                                platform="cpu")


def call(name, results, *args, vmap_method=None, aliases=None, **attributes):
    return jax.ffi.ffi_call(f"cordage_{name}", results, vmap_method=vmap_method, input_output_aliases=aliases)(
        *args, **attributes)
