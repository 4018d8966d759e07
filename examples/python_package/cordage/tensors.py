# SPDX-License-Identifier: MIT
"""Conversion of arrays for the library: of numpy, or of anything with __dlpack__ on the CPU."""
from __future__ import annotations

import ctypes as c
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._library import DTYPES, HeadsStruct, ShapeError, Tensor, call, whole

OF_INDICES = "int32", "int64"
OF_POSITIONS = *OF_INDICES, "float32", "float64"
OF_WEIGHTS = "float32", "float64", "float16", "bfloat16"
OF_SCALES = "float32", "float8_e8m0fnu", "float8_e4m3fn"
_of_heads = tuple(name for name in DTYPES if name not in (*OF_INDICES, "float8_e8m0fnu"))
_blocks = {"q8_0": (34, 32), "q4_0": (18, 32), "float4_e2m1fn_x2": (1, 2)}  # bytes and lanes of an element
_capsule_pointer = c.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
_capsule_is = c.pythonapi.PyCapsule_IsValid
_capsule_is.argtypes = [c.py_object, c.c_char_p]


@dataclass(eq=False)
class Heads:
    """q, k, v or a cache, and its format. A plain array is Heads(array).

    Args:
        array: [tokens, heads, head_dim] or [batch, tokens, heads, head_dim]; a cache [blocks, block_size, heads, head_dim].
            Any strides whose last is 1. float32, float64, float16, bfloat16 (of ml_dtypes or by DLPack), and a cache also
            int8, float8_e4m3fn, float8_e5m2 with scales, or fp4 or ggml's blocks as uint8 with dtype
        slot_mapping: [tokens] or [batch, tokens] int32 or int64, the slot of each token; a negative one
            skips it, by custom -1
        block_table: [batch, entries] int32 or int64, the blocks of each row; a negative one skips its tokens
        scales: for int8 and float8: float32 [batch, tokens, heads] or [blocks, block_size, heads], or one axis more, the
            groups of lanes that share a scale. Block-scaled formats have such groups: MXFP8 and MXFP4 are float8 and fp4
            with scales in float8_e8m0fnu, NVFP4 is fp4 with scales in float8_e4m3fn, of 16 lanes each
        scales_are_given: scales are read; otherwise they are computed when storing; only for float32
        hadamard_size: lanes of a Hadamard transform before storing, a power of two; 0: none
        dtype: "q8_0", "q4_0" or "float4_e2m1fn_x2" for a dense uint8 array whose last axis is the bytes of a head;
            "float8_e4m3fn" or "float8_e5m2" for one of codes
        scales_dtype: "float8_e8m0fnu" or "float8_e4m3fn" for scales in uint8
        scales_round_up: for float8_e8m0fnu: up, so that no lane saturates; otherwise down, as OCP MX
        scale_least: for float8_e8m0fnu: a group's largest magnitude counts as at least this
        tensor_scale: for NVFP4: x = tensor_scale * scale * code; None: 1
    """
    array: Any
    slot_mapping: Any = None
    block_table: Any = None
    scales: Any = None
    scales_are_given: bool = False
    hadamard_size: int = 0
    dtype: str | None = None
    scales_dtype: str | None = None
    scales_round_up: bool = False
    scale_least: float = 0.0
    tensor_scale: float | None = None


class Kept:
    """The tensors of one call, and the memory that they point to."""

    def __init__(self, function: str):
        self.function = function
        self._owners: list[Any] = []

    def keep(self, owner):
        self._owners.append(owner)
        return owner

    def tensor(self, name: str, array, dtype: str | None = None, kinds: tuple[str, ...] = _of_heads) -> Tensor:
        """The tensor of an array; copies nothing. kinds: the types that it may have, for the message."""
        if isinstance(array, np.ndarray):
            return self._of_numpy(name, array, dtype, kinds)
        if dtype is None and hasattr(array, "__dlpack__"):
            if getattr(array, "is_neg", bool)():  # a view of torch whose sign DLPack does not carry
                raise ValueError(f"{self.function}: {name} must not be a negated view; pass its resolve_neg()")
            return self._of_dlpack(name, array)
        raise TypeError(f"{self.function}: {name} of type {type(array).__name__} must be an array of numpy"
                        + (f", uint8, as dtype is {dtype}" if dtype else ", or have __dlpack__"))

    def indices(self, name: str, array, kinds: tuple[str, ...] = OF_INDICES):
        """A pointer to the tensor of an array that is read, or of a list; NULL for None."""
        if array is None:
            return None
        if not hasattr(array, "__dlpack__"):
            array = np.asarray(array)
        if isinstance(array, np.ndarray) and array.size > 1 and not any(array.strides):
            array = array.copy()  # strides that are all 0 mean dense
        return c.pointer(self.keep(self.tensor(name, array, kinds=kinds)))

    def exactly(self, name: str, values, dtype) -> np.ndarray:
        """A dense copy of integers in a smaller type; raises if a value does not fit."""
        given = np.asarray(values)
        copied = np.ascontiguousarray(given.astype(dtype)) if given.dtype.kind in "iu" else given
        if copied.dtype != dtype or not np.array_equal(copied, given):
            raise ValueError(f"{self.function}: {name} {given.dtype} must be whole numbers that fit into {np.dtype(dtype)}")
        return self.keep(copied)

    def heads(self, name: str, x) -> HeadsStruct:
        if not isinstance(x, Heads):
            return HeadsStruct(self.tensor(name, x))
        scales = None if x.scales is None else \
            c.pointer(self.keep(self.tensor(name + ".scales", x.scales, x.scales_dtype, OF_SCALES)))
        if x.tensor_scale is not None and not x.tensor_scale > 0:
            raise ValueError(f"{self.function}: {name}.tensor_scale {x.tensor_scale} must be positive, or None for 1")
        return HeadsStruct(self.tensor(name, x.array, x.dtype), self.indices(name + ".slot_mapping", x.slot_mapping),
                           self.indices(name + ".block_table", x.block_table), scales, int(x.scales_are_given),
                           whole(f"{self.function}: {name}.hadamard_size", x.hadamard_size), int(x.scales_round_up),
                           x.scale_least, x.tensor_scale or 0.0)

    def _of_numpy(self, name, array, dtype, kinds):
        shape, size = list(array.shape), array.itemsize
        is_bytes = dtype is not None and array.dtype == np.uint8 and array.ndim > 0 and dtype in DTYPES
        if is_bytes and dtype in _blocks:
            size_of, lanes = _blocks[dtype]
            if not array.flags.c_contiguous or shape[-1] % size_of:
                raise ShapeError(f"{self.function}: {name} {tuple(shape)} must be dense, and its last axis blocks of "
                                 f"{size_of} bytes, as dtype is {dtype}")
            shape[-1] = shape[-1] // size_of * lanes
        elif dtype is not None and not (is_bytes and dtype.startswith("float8")):
            raise ValueError(f"{self.function}: {name} {array.dtype} must be uint8, and dtype {dtype!r} one of q8_0, q4_0, "
                             "float4_e2m1fn_x2, float8_e4m3fn, float8_e5m2")
        kind = dtype or array.dtype.name
        if kind not in kinds or not array.dtype.isnative:
            raise ValueError(f"{self.function}: {name} {array.dtype} must be of {', '.join(kinds)}, in this machine's byte "
                             "order")
        if not 1 <= array.ndim <= 5:
            raise ShapeError(f"{self.function}: {name} {tuple(shape)} must have 1 to 5 axes")
        if not array.flags.c_contiguous and (any(s % size for s in array.strides) or
                                             (array.size > 1 and not any(array.strides))):
            raise ShapeError(f"{self.function}: {name} must have strides of whole elements, not all 0, but has "
                             f"{array.strides} bytes")
        strides = [] if array.flags.c_contiguous else [s // size for s in array.strides]
        self.keep(array)
        pad = [0] * 5
        return Tensor(array.ctypes.data, DTYPES[kind], array.ndim, tuple((shape + pad)[:5]), tuple((strides + pad)[:5]),
                      int(not array.flags.writeable))

    def _of_dlpack(self, name, array):
        try:
            capsule = array.__dlpack__(max_version=(1, 1))
        except TypeError:  # before DLPack 1.0
            capsule = array.__dlpack__()
        self.keep(capsule)
        tensor = Tensor()
        try:
            if _capsule_is(capsule, b"dltensor_versioned"):
                call("tensor_from_dlpack_managed", _capsule_pointer(capsule, b"dltensor_versioned"), c.byref(tensor))
            else:  # has no read-only flag
                call("tensor_from_dlpack", _capsule_pointer(capsule, b"dltensor"), c.byref(tensor))
                tensor.is_read_only = 1
        except ValueError as error:  # names C's function and its argument, dl_tensor or dl_managed
            raise type(error)(re.sub(r"^\w+: dl_\w+", lambda _: f"{self.function}: {name}", str(error))) from None
        return tensor
