# SPDX-License-Identifier: MIT
"""Compiles programs of the one file by NVRTC into PTX, without a device:

    python3 nvrtc.py LIBNVRTC SOURCE.cu OUT.ptx OPTIONS...    a program that includes the one file
    python3 nvrtc.py LIBNVRTC MAIN.py OUT.ptx                 the module of a program for CuPy, which is run with nothing in
                                                              the place of its packages, and CuPy's options beside its own
"""
import contextlib
import ctypes
import pathlib
import runpy
import sys
from unittest import mock

# What cupy 14 adds in cupy/cuda/compiler.py, for a device of compute capability 9.0.
CUPYS_OPTIONS = ["-ftz=true", "-arch=compute_90", "--device-as-default-execution-space"]


def module_of(program: str) -> tuple[str, list[str]]:
    """Code and options that the program gives to cupy.RawModule."""
    packages = {name: mock.MagicMock() for name in ("cordage", "cupy", "numpy")}
    with mock.patch.dict(sys.modules, packages), contextlib.redirect_stdout(None):
        runpy.run_path(program)
    (given,) = packages["cupy"].RawModule.call_args_list
    return given.kwargs["code"], [*given.kwargs["options"], *CUPYS_OPTIONS]


def ptx_of(library: str, name: str, code: str, options: list[str]) -> bytes:
    """The PTX. Whatever the compiler says of the code is an error, a warning too."""
    nvrtc, program, size = ctypes.CDLL(library), ctypes.c_void_p(), ctypes.c_size_t()

    def text(function: str) -> bytes:
        getattr(nvrtc, f"nvrtcGet{function}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{function}")(program, buffer)
        return buffer.value

    nvrtc.nvrtcCreateProgram(ctypes.byref(program), code.encode(), name.encode(), 0, None, None)
    words = (ctypes.c_char_p * len(options))(*map(str.encode, options))
    failed = nvrtc.nvrtcCompileProgram(program, len(options), words)
    if failed or text("ProgramLog").strip():
        sys.exit(f"{name}: NVRTC returned {failed}\n{text('ProgramLog').decode()}")
    return text("PTX")


nvrtc_library, source, out, *given_options = sys.argv[1:]
if source.endswith(".py"):
    kernel, given_options = module_of(source)
else:
    kernel = pathlib.Path(source).read_text()
pathlib.Path(out).write_bytes(ptx_of(nvrtc_library, source, kernel, given_options))
