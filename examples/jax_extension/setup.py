# SPDX-License-Identifier: MIT
"""Builds the handlers that XLA calls, against the headers of the installed jaxlib.

CORDAGE_ARCH    the -march of the machine that will run it; default native (the machine that builds it)
CORDAGE_CUDA    0: without handlers for a GPU; 1: with, or an error; default: with, if nvcc is found
CORDAGE_CUDA_ARCH  the compute capability that they are compiled for, and PTX for later ones; default 80
CXX             the compiler; default g++
EIGEN_INCLUDE   folder with Eigen/Core, where it is not /usr/include/eigen3
"""
import os
import site
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# pip's isolated build environment has no jaxlib, and a version other than the installed one would not match.
site.addsitedir(sysconfig.get_path("purelib"))
try:
    import jax.ffi
except ImportError as missing:
    raise SystemExit("cordage-jax is built against the installed jaxlib: install jax first") from missing

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent / "torch_extension/csrc"
sys.path.insert(0, str(HERE.parent))
from python_build import INCLUDE, eigen_include, nvcc, version, with_machine_code  # noqa: E402


CSRC = HERE / "csrc"
HOST = ["-O2", "-DNDEBUG", "-fPIC", "-w", "-fvisibility=hidden", f"-march={os.environ.get('CORDAGE_ARCH', 'native')}"]
FOLDERS = [f"-I{INCLUDE}", f"-I{SHARED}", f"-I{jax.ffi.include_dir()}", "-isystem", eigen_include()]


def compile_for_host(output: Path) -> None:
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-shared", *HOST, *FOLDERS, CSRC / "handlers.cpp",
                    SHARED / "clex_model.cpp", "-o", output], check=True)


def compile_for_gpu(compiler: str, output: Path) -> None:
    arch = os.environ.get("CORDAGE_CUDA_ARCH", "80")
    with tempfile.TemporaryDirectory() as folder:
        objects = [Path(folder, name) for name in ("handlers.o", "clex.o", "clex_model.o")]
        for source, result in zip((CSRC / "handlers_cuda.cu", CSRC / "clex_cuda.cpp", SHARED / "clex_model.cpp"), objects):
            subprocess.run([compiler, "-std=c++20", "-c", f"-gencode=arch=compute_{arch},code=[sm_{arch},compute_{arch}]",
                            "-DCORDAGE_NO_SIMD", "--expt-relaxed-constexpr", "-w", f"-Xcompiler={','.join(HOST)}", "-O2",
                            *FOLDERS, source, "-o", result], check=True)
        subprocess.run([compiler, "-shared", "-cudart=static", *objects, "-o", output], check=True)


class with_handlers(build_py):
    """The package, and the libraries of handlers beside its modules."""

    def run(self):
        super().run()
        output = Path(self.build_lib, "cordage_jax", "_handlers.so")
        output.parent.mkdir(parents=True, exist_ok=True)
        compile_for_host(output)
        if compiler := nvcc():
            compile_for_gpu(compiler, output.with_name("_handlers_cuda.so"))


setup(version=version(), cmdclass={"build_py": with_handlers}, distclass=with_machine_code)
