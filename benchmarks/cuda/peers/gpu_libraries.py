# SPDX-License-Identifier: MIT
"""Shared libraries that export gpu_rope_peers() (gpu_peer_abi.hpp), called through ctypes."""
import ctypes

import torch
from case import DTYPES, HEAD_DIM, THETA_BASE
from gpu_case import HEADS, KV_HEADS
from libraries import table_of


class GpuRopeCase(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("tokens", "heads", "kv_heads", "head_dim")] + [
        ("dtype", ctypes.c_int32),
        ("theta_base", ctypes.c_float),
        ("positions", ctypes.c_void_p),
        ("cos_sin", ctypes.c_void_p),
    ]


class GpuRopePeer(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("style", ctypes.c_int32),
        ("setup", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(GpuRopeCase))),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


def rope_case(case):
    """The C struct of a case, which must outlive it."""
    return GpuRopeCase(case.tokens, HEADS, KV_HEADS, HEAD_DIM, list(DTYPES).index(case.dtype), THETA_BASE,
                       case.positions.data_ptr(), case.cos_sin.data_ptr())


def peers_of(path, table="gpu_rope_peers"):
    return table_of(path, table, GpuRopePeer)


class LibraryRotation:
    """One implementation of a library, set up for one case: called with a set, it rotates it in place."""

    def __init__(self, peer, case):
        self.peer, self.c_case = peer, rope_case(case)
        self.handle = peer.setup(ctypes.byref(self.c_case))
        if self.handle is None:
            raise NotImplementedError("its setup refused the case")

    def __call__(self, tensors):
        status = self.peer.run(self.handle, *tensors.pointers(), self.stream())
        if status != 0:
            raise RuntimeError(f"it returned {status}")
        return tensors.results()

    @staticmethod
    def stream():
        return torch.cuda.current_stream().cuda_stream

    def close(self):
        self.peer.release(self.handle)
