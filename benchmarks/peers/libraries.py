# SPDX-License-Identifier: MIT
"""Shared libraries that export rope_peers() (peer_abi.hpp), called through ctypes."""
import ctypes
import os

import torch
from case import DTYPES, HEAD_DIM, THETA_BASE


class RopeCase(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("tokens", "heads", "kv_heads", "head_dim")] + [
        ("dtype", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("positions", ctypes.c_void_p),
        ("theta_base", ctypes.c_float),
    ]


class RopePeer(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("style", ctypes.c_int32),
        ("passes", ctypes.c_int32),
        ("setup", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(RopeCase))),
        ("load", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
        ("run", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)),
        ("store", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


def rope_case(case):
    """The C struct of a case, which must outlive it."""
    return RopeCase(len(case.positions), case.heads, case.kv_heads, HEAD_DIM, list(DTYPES).index(case.dtype),
                    case.threads, case.positions.data_ptr(), THETA_BASE)


def table_of(path, function, entry):
    """The entries of the library's table, which `function` gives. They stay valid: nothing unloads a library."""
    library = ctypes.CDLL(os.path.abspath(path))
    first = ctypes.POINTER(entry)()
    return [first[i] for i in range(library[function](ctypes.byref(first)))]


def peers_of(path):
    return table_of(path, "rope_peers", RopePeer)


class LibraryEntry:
    """One implementation of a library, set up for one case. In place: every run rotates the last one's result."""

    RUNS_A_LOAD = 500  # 16-bit values that are rotated in place again and again drift to infinity or to slow subnormals

    def __init__(self, peer, case, loops_in_python=False):
        self.name, self.style = peer.name.decode(), peer.style
        self.loops_in_python = loops_in_python
        if loops_in_python:
            self.name += "_by_ctypes"
        self.peer, self.case, self.c_case = peer, case, rope_case(case)
        self.handle = peer.setup(ctypes.byref(self.c_case))
        if self.handle is None:
            raise NotImplementedError(f"{self.name} refuses {case.name}/{case.dtype}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.release(self.handle)

    def load(self):
        self.peer.load(self.handle, self.case.q.data_ptr(), self.case.k.data_ptr())

    def run(self, repeats):
        if not self.loops_in_python:
            self.peer.run(self.handle, repeats)
            return
        run, handle = self.peer.run, self.handle
        for _ in range(repeats):
            run(handle, 1)

    def result(self):
        q, k = torch.empty_like(self.case.q), torch.empty_like(self.case.k)
        self.load()
        self.peer.run(self.handle, 1)
        self.peer.store(self.handle, q.data_ptr(), k.data_ptr())
        return q, k
