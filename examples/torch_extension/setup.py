# SPDX-License-Identifier: MIT
"""Builds the operators against the torch that is installed.

CORDAGE_ARCH      the -march of the machine that will run it; default native (the machine that builds it)
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

# pip builds in an environment of its own, which lacks torch: another one than the installed would not fit.
site.addsitedir(sysconfig.get_path("purelib"))
try:
    import torch
    from torch.utils import cpp_extension
except ImportError as missing:
    raise SystemExit("cordage-torch is built against the torch that is installed: install torch first") from missing

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from python_build import INCLUDE, eigen_include, version  # noqa: E402


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


def extension():
    cuda = with_cuda()
    sources = ["operators.cpp", "cache_path.cpp", "clex_model.cpp", "config_rule.cpp"] + ["rotate_cuda.cu"] * cuda
    # -ffp-contract=off: a product that is rounded before it is added, as torch's are; fused ones are asked for by name.
    plain = ["-std=c++20", "-O2", "-g0", "-DNDEBUG", "-ffp-contract=off", "-fvisibility=hidden",
             f"-march={os.environ.get('CORDAGE_ARCH', 'native')}"]
    device = ["-std=c++20", "-O2", "-DNDEBUG", "-DCORDAGE_NO_SIMD", "--expt-relaxed-constexpr", "-diag-suppress=20012"]
    if cuda and not torch.cuda.is_available():
        os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "8.0+PTX")
    kind = cpp_extension.CUDAExtension if cuda else cpp_extension.CppExtension
    return kind("cordage_torch._C", [f"csrc/{name}" for name in sources],
                include_dirs=[str(INCLUDE), str(HERE / "csrc"), eigen_include()],
                extra_compile_args={"cxx": plain, "nvcc": device})


setup(version=version(), ext_modules=[extension()],
      cmdclass={"build_ext": cpp_extension.BuildExtension})
