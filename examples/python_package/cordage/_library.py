# SPDX-License-Identifier: MIT
"""Loads the shared library beside these modules and declares its structs as include/cordage/c/cordage.h does."""
from __future__ import annotations

import ctypes as c
import operator
import re
import weakref
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "_lib"
ABI = 2
DTYPES = {"float32": 1, "float64": 2, "float16": 3, "bfloat16": 4, "int8": 5, "float8_e4m3fn": 6, "float8_e5m2": 7,
          "q8_0": 8, "q4_0": 9, "int32": 10, "int64": 11, "float4_e2m1fn_x2": 12, "float8_e8m0fnu": 13}
PAIRINGS = {"half_split": 1, "interleaved": 2}
POLICIES = {"unscaled": 1, "linear": 2, "ntk_aware": 3, "yarn": 4, "llama3": 5}
SCHEDULES = {"fixed": 1, "continuous": 2, "dynamic": 3}


class ShapeError(ValueError):
    """Sizes, strides or arrays that do not fit each other."""


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int32), ("ndim", c.c_int32), ("shape", c.c_int64 * 5),
                ("strides", c.c_int64 * 5), ("is_read_only", c.c_int32)]


class RuleNumbers(c.Structure):
    _fields_ = [("head_dim", c.c_int64), ("rotary_dim", c.c_int64), ("theta_base", c.c_double),
                ("original_length", c.c_double), ("policy", c.c_int32), ("schedule", c.c_int32), ("factor", c.c_double)]


class RuleInfo(c.Structure):
    _fields_ = [("head_dim", c.c_int64), ("rotary_dim", c.c_int64), ("first_lane", c.c_int64), ("theta_base", c.c_double),
                ("original_length", c.c_double), ("pairing", c.c_int32), ("axes", c.c_int32), ("is_inverse", c.c_int32),
                ("has_head_temperatures", c.c_int32), ("query_beta", c.c_double),
                ("query_block_length", c.c_double), ("query_counted_from", c.c_double), ("log_scale", c.c_int32),
                ("is_unrotated", c.c_int32)]


class ModelInfo(c.Structure):
    _fields_ = [("layers", c.c_int64), ("rules", c.c_int64), ("max_length", c.c_double)]


class BasisInfo(c.Structure):
    _fields_ = [("pairs", c.c_int64), ("attention_factor", c.c_double), ("fingerprint", c.c_uint64)]


class AngleOptions(c.Structure):
    _fields_ = [("basis_of_token", c.POINTER(Tensor)), ("axis_of_pair", c.c_void_p), ("rounds_to_float32", c.c_int32)]


class HeadsStruct(c.Structure):
    _fields_ = [("tensor", Tensor), ("slot_mapping", c.POINTER(Tensor)), ("block_table", c.POINTER(Tensor)),
                ("scales", c.POINTER(Tensor)), ("scales_are_given", c.c_int32), ("hadamard_size", c.c_int64),
                ("scales_round_up", c.c_int32), ("scale_least", c.c_float), ("tensor_scale", c.c_float)]


class NormStruct(c.Structure):
    _fields_ = [("weight", Tensor), ("epsilon", c.c_double), ("adds_one", c.c_int32), ("is_over_all_heads", c.c_int32),
                ("is_after_rotation", c.c_int32), ("is_rounded_between", c.c_int32)]


class OperandStruct(c.Structure):
    _fields_ = [("x", HeadsStruct), ("y", HeadsStruct), ("norm", c.POINTER(NormStruct)), ("first_lane", c.c_int64),
                ("is_unrotated", c.c_int32)]


class Executor(c.Structure):
    _fields_ = [("run", c.c_void_p), ("pool", c.c_void_p), ("concurrency", c.c_int64)]


class BackwardStruct(c.Structure):
    _fields_ = [("grad_y", Tensor), ("y", Tensor), ("grad_x", Tensor), ("norm", c.POINTER(NormStruct)),
                ("grad_weight", c.c_void_p), ("grad_weight_count", c.c_int64), ("first_lane", c.c_int64),
                ("is_unrotated", c.c_int32)]


class GradientsStruct(c.Structure):
    _fields_ = [("inv_freq", c.c_void_p), ("inv_freq_count", c.c_int64), ("position_ids", c.c_void_p),
                ("position_ids_count", c.c_int64), ("attention_factor", c.c_void_p),
                ("attention_factor_count", c.c_int64)]


def _loaded() -> c.CDLL:
    library = c.CDLL(str(FOLDER / "libcordage_c.so"))
    for text in "cordage_last_error", "cordage_version", "cordage_kernels":
        getattr(library, text).restype = c.c_char_p
    pointer, i32, i64, f64 = c.c_void_p, c.c_int32, c.c_int64, c.c_double
    rotation = [pointer, pointer, i32, pointer, i64]
    for name, arguments in {
            "select_kernels": [c.c_char_p], "tensor_from_dlpack": [pointer, pointer],
            "tensor_from_dlpack_managed": [pointer, pointer],
            "rule_from_config": [i32, c.c_char_p, c.c_char_p, pointer],
            "rule_from_file": [i32, c.c_char_p, c.c_char_p, c.c_char_p, pointer],
            "model_from_file": [i32, c.c_char_p, c.c_char_p, pointer], "model_get_info": [pointer, pointer],
            "model_destroy": [pointer], "rule_of_layer": [pointer, i64, pointer],
            "rule_of_indexer": [pointer, i64, pointer],
            "rule_from_numbers": [i32, pointer, pointer], "rule_get_info": [pointer, pointer],
            "rule_get_axes": [pointer, pointer, i64], "basis_at_length": [pointer, f64, pointer],
            "basis_at_ratio": [pointer, f64, pointer], "basis_from_numbers": [i32, pointer, i64, f64, pointer],
            "basis_get_info": [pointer, pointer], "basis_get_inv_freq": [pointer, pointer, i64],
            "angles_create": [pointer, i64, pointer, pointer, pointer], "angles_difference": [pointer, pointer, pointer],
            "rule_destroy": [pointer], "basis_destroy": [pointer], "angles_destroy": [pointer],
            "rotate_forward": rotation, "rotate_inverse": rotation, "rebase": rotation,
            "rotate_backward": [pointer, pointer, i32, pointer, pointer, i64]}.items():
        getattr(library, "cordage_" + name).argtypes = arguments
    if library.cordage_abi() != ABI:
        raise ImportError(f"{library._name} has the C interface {library.cordage_abi()}, but must have {ABI}")
    return library


_library = _loaded()
_errors = {1: ValueError, 2: ShapeError, 3: MemoryError}
# The names of C and C++ in messages, and of Python.
_in_python = {r"hf::read_config": "Rule.from_config", r"hf::read_model": "Rule.from_file", r"where\.concurrency": "threads",
              r"difference must be made by cordage_angles_difference": "angles must be a difference, new - old",
              r"cordage_angles_\w+": "Angles", r"cordage_rotate_forward": "rotate", r"cordage_rebase": "move",
              r"cordage_(rotate_(inverse|backward))": r"\1", r"operands\[(\d+)\]\.(grad_[xy])": r"\2[\1]",
              r"operands\[(\d+)\]\.y": r"out[\1]", r"operands\[(\d+)\](\.x)?": r"x[\1]", r"(\])\.tensor\b": r"\1",
              r"\.ndim (\d) must be 3 to 5": r" has \1 axes, must be [tokens, heads, head_dim] or [batch, tokens, heads, head_dim]"}


def call(name: str, *arguments) -> None:
    """Calls cordage_NAME; a status other than OK is raised with the library's message, in Python's names."""
    status = getattr(_library, "cordage_" + name)(*arguments)
    if status != 0:
        message = _library.cordage_last_error().decode(errors="replace")
        if name == "rotate_backward":  # whose y is read
            message = re.sub(r"operands\[(\d+)\]\.y", r"y[\1]", message)
        for pattern, own in _in_python.items():
            message = re.sub(pattern, own, message)
        raise _errors.get(status, RuntimeError)(message)


class Handle:
    """A handle created by cordage_NAME(*arguments, &handle); destroyed with this object."""

    def __init__(self, kind: str, name: str, *arguments):
        self.value = c.c_void_p()
        call(name, *arguments, c.byref(self.value))
        weakref.finalize(self, getattr(_library, f"cordage_{kind}_destroy"), self.value)


def text(name: str, value: str | bytes) -> bytes:
    """A string for C, without NUL characters."""
    encoded = value if isinstance(value, bytes) else value.encode()
    if b"\0" in encoded:
        raise ValueError(f"{name} {value[:40]!r} must have no NUL")
    return encoded


def whole(name: str, value: int) -> int:
    """A 64-bit integer; ctypes would wrap a larger one."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {value!r} must be an integer") from None
    if not -2**63 <= number < 2**63:
        raise ValueError(f"{name} {number} must fit into 64 bits")
    return number


def named(function: str, argument: str, value: str, known: dict[str, int]) -> int:
    """The number of a name in `known`."""
    if value not in known:
        raise ValueError(f"{function}: {argument} {value!r} must be one of {', '.join(known)}")
    return known[value]


def library_version() -> str:
    return _library.cordage_version().decode()


def kernels() -> str:
    """The instruction set whose kernels run: "avx512", "avx2" or "baseline"; on other processors than x86-64 "native"."""
    return _library.cordage_kernels().decode()


def select_kernels(name: str) -> None:
    """Selects kernels by that name, for all threads; "best" selects the default. Results differ by rounding.

    Raises ValueError if this processor or the library lacks them.
    """
    call("select_kernels", text("select_kernels: name", name))
