# SPDX-License-Identifier: MIT
"""Builds the operators against the torch that is installed.

CORDAGE_ARCH      the -march of the machine that will run it; default native (the machine that builds it); any: kernels for
                  AVX-512, AVX2 and every x86-64, of which the processor's are loaded
CORDAGE_CUDA      0: without CUDA kernels; 1: with, or an error; default: with, where torch and nvcc agree on CUDA
TORCH_CUDA_ARCH_LIST  as torch has it; where this machine has no GPU, 8.0 and PTX for later ones
EIGEN_INCLUDE     folder with Eigen/Core, where it is not /usr/include/eigen3
"""
import os
import re
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

# pip builds in an environment of its own, which lacks torch: another one than the installed would not fit.
site.addsitedir(sysconfig.get_path("purelib"))
try:
    import torch
    from torch.utils import cpp_extension
except ImportError as missing:
    raise SystemExit("cordage-torch is built against the torch that is installed: install torch first") from missing

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from python_build import INCLUDE, REPOSITORY, eigen_include, system_of_wheel, version  # noqa: E402

ARCH = os.environ.get("CORDAGE_ARCH", "native")
# -march of each module, by its name: cordage_torch/_operators.py loads one.
MODULES = {"_C_avx512": "x86-64-v4", "_C_avx2": "x86-64-v3", "_C_baseline": "x86-64"} if ARCH == "any" else {"_C": ARCH}
RELEASE = ".".join(torch.__version__.split(".")[:2])


def nvcc_version() -> str | None:
    """"13.0" of the nvcc that torch would call."""
    nvcc = cpp_extension.CUDA_HOME and Path(cpp_extension.CUDA_HOME, "bin/nvcc")
    if not nvcc or not nvcc.exists():
        return None
    found = re.search(r"release (\d+\.\d+)", subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout)
    return found and found.group(1)


def with_cuda() -> bool:
    asked, mine = os.environ.get("CORDAGE_CUDA", ""), nvcc_version()
    agree = bool(torch.version.cuda and mine and torch.version.cuda.split(".")[0] == mine.split(".")[0])
    if asked == "1" and not agree:
        raise SystemExit(f"CORDAGE_CUDA=1: nvcc {mine} and torch's CUDA {torch.version.cuda} must be of one major version")
    return agree and asked != "0"


def extension(module: str, arch: str, cuda: bool):
    sources = ["operators.cpp", "cache_path.cpp", "clex_model.cpp", "config_rule.cpp"] + ["rotate_cuda.cu"] * cuda
    # -ffp-contract=off: a product that is rounded before it is added, as torch's are; fused ones are asked for by name.
    plain = ["-std=c++20", "-O2", "-g0", "-DNDEBUG", "-ffp-contract=off", "-fvisibility=hidden",
             f"-march={arch}"]
    device = ["-std=c++20", "-O2", "-DNDEBUG", "-DCORDAGE_NO_SIMD", "--expt-relaxed-constexpr", "-diag-suppress=20012"]
    if cuda and not torch.cuda.is_available():
        os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "8.0+PTX")
    kind = cpp_extension.CUDAExtension if cuda else cpp_extension.CppExtension
    return kind(f"cordage_torch.{module}", [f"csrc/{name}" for name in sources],
                include_dirs=[str(INCLUDE), str(HERE / "csrc"), eigen_include()],
                extra_compile_args={"cxx": plain, "nvcc": device})


class modules_apart(cpp_extension.BuildExtension):
    """The objects of each module in a folder of its own, as their sources are the same."""

    def build_extension(self, ext):
        shared = self.build_temp
        self.build_temp = os.path.join(shared, ext.name) if len(MODULES) > 1 else shared
        super().build_extension(ext)
        self.build_temp = shared


class for_this_system(bdist_wheel):
    """The wheel for any x86-64 says which C library it needs (PEP 600)."""

    def get_tag(self):
        python, abi, system = super().get_tag()
        return python, abi, system_of_wheel() if ARCH == "any" else system


# Objects are kept for the next time, those of each torch by themselves.
setup(version=version(), install_requires=[f"torch=={RELEASE}.*"],
      ext_modules=[extension(*module, with_cuda()) for module in MODULES.items()],
      options={"build": {"build_base": str(REPOSITORY / f"build/wheels/objects/torch-{torch.__version__}-{ARCH}")}},
      cmdclass={"build_ext": modules_apart, "bdist_wheel": for_this_system})
