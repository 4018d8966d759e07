# SPDX-License-Identifier: MIT
"""host/dlpack/view.hpp with arrays of numpy and torch, passed as capsules and rotated in place."""
import ctypes
import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

VERSIONED, UNVERSIONED = b"dltensor_versioned", b"dltensor"
INV_FREQ = np.array([1.0, 0.5, 0.01, 1e-5])

python = ctypes.pythonapi
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


def handed_over(array, name):
    """The managed tensor of an array. The capsule is renamed, as the protocol asks: the consumer owns it now."""
    capsule = array.__dlpack__(max_version=(1, 0)) if name == VERSIONED else array.__dlpack__()
    pointer = python.PyCapsule_GetPointer(capsule, name)
    USED[name] = b"used_" + name  # capsules keep the pointer to their name
    python.PyCapsule_SetName(capsule, USED[name])
    return pointer


USED = {}


@pytest.fixture(scope="module")
def rotate(built):
    library = ctypes.PyDLL(str(built("dlpack_rotation.cpp", "-shared", "-fPIC")))  # producers may need the GIL

    def call(x, position_ids, heads_first=False, name=VERSIONED):
        error = ctypes.create_string_buffer(500)
        function = library.rotate_versioned if name == VERSIONED else library.rotate_unversioned
        function(ctypes.c_void_p(handed_over(x, name)), ctypes.c_void_p(handed_over(position_ids, name)),
                 INV_FREQ.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(INV_FREQ)), ctypes.c_int(heads_first),
                 error, ctypes.c_size_t(len(error)))
        if error.value:
            raise ValueError(error.value.decode())

    return call


def rotated(x, position_ids):
    """x [..., tokens, head_dim] rotated in double by the formula, half_split pairs."""
    angle = np.asarray(position_ids, np.float64)[:, None] * INV_FREQ
    cos, sin = np.cos(angle), np.sin(angle)
    first, second = np.split(np.asarray(x, np.float64), 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def drawn(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", [VERSIONED, UNVERSIONED])
def test_numpy_arrays_are_rotated_in_place(rotate, name):
    x, position_ids = drawn(2, 3, 5, 8), np.array([0, 7, 100, 31, 5], np.int64)
    expected = rotated(x, position_ids)
    rotate(x, position_ids, heads_first=True, name=name)
    assert np.abs(x - expected).max() < 2e-6


def test_strides_are_followed(rotate):
    qkv, position_ids = drawn(5, 3, 8), np.arange(5, dtype=np.int32)
    before = qkv.copy()
    q = qkv[:, 1:2]
    rotate(q, position_ids)
    assert np.abs(qkv[:, 1] - rotated(before[:, 1], position_ids)).max() < 2e-6
    assert (qkv[:, [0, 2]] == before[:, [0, 2]]).all()


def test_arrays_are_let_go(rotate):
    x, position_ids = drawn(5, 1, 8), np.arange(5, dtype=np.int32)
    counts = sys.getrefcount(x), sys.getrefcount(position_ids)
    rotate(x, position_ids)
    with pytest.raises(ValueError):
        rotate(x.astype(np.int32), position_ids)
    assert (sys.getrefcount(x), sys.getrefcount(position_ids)) == counts


def test_what_does_not_fit_is_named_and_nothing_is_written(rotate):
    position_ids = np.arange(5, dtype=np.int32)
    x = drawn(5, 1, 8)
    before = x.copy()
    with pytest.raises(ValueError, match="dlpack: position_ids of type uint8 must be int32, int64, float32 or float64"):
        rotate(x, position_ids.astype(np.uint8))
    with pytest.raises(ValueError, match=r"angles \[1, 4\] must be \[1 or batch, tokens\]"):
        rotate(x, position_ids[:4])
    x.flags.writeable = False
    with pytest.raises(ValueError, match="dlpack: x is read-only, must be writable or viewed as const"):
        rotate(x, position_ids)
    assert (x == before).all()
    with pytest.raises(ValueError, match="dlpack: x has last stride 2, must be 1"):
        rotate(drawn(5, 1, 16)[..., ::2], position_ids)
    with pytest.raises(ValueError, match=r"dlpack: x.strides\[0\] -8 must not be negative"):
        rotate(drawn(5, 1, 8)[::-1], position_ids)


@pytest.mark.parametrize("name", [VERSIONED, UNVERSIONED])
@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-6), ("float64", 1e-12), ("bfloat16", 0.02),
                                              ("float16", 0.003)])
def test_torch_tensors_are_rotated_in_place(rotate, name, dtype, tolerance):
    torch = pytest.importorskip("torch")
    x = torch.randn(2, 5, 3, 8, generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype)).transpose(1, 2)
    position_ids = torch.tensor([0, 7, 100, 31, 5])
    expected, address = rotated(x.double().numpy(), position_ids.numpy()), x.data_ptr()
    rotate(x, position_ids, heads_first=True, name=name)
    assert x.data_ptr() == address
    assert np.abs(x.double().numpy() - expected).max() < tolerance


def test_the_structs_are_those_of_dlpack_h(built):
    found = importlib.util.find_spec("tvm_ffi")
    if found is None:
        pytest.skip("dlpack.h comes with apache-tvm-ffi")
    header = pathlib.Path(found.origin).parent / "include"
    assert (header / "dlpack" / "dlpack.h").is_file()
    subprocess.run([str(built("dlpack_header.cpp", f"-I{header}"))], check=True)
