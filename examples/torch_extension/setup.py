# SPDX-License-Identifier: MIT
"""Builds the operators against the installed torch.

CORDAGE_ARCH      the -march of the machine that will run it; default native (the machine that builds it); any: kernels for
                  AVX-512, AVX2 and baseline x86-64, selected when loaded
CORDAGE_CUDA      0: without CUDA kernels; 1: with, or an error; default: with, if torch and nvcc have one CUDA version
TORCH_CUDA_ARCH_LIST  as for torch; default without a GPU: 8.0, 9.0 and PTX for later ones
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

# pip's isolated build environment has no torch, and a version other than the installed one would not match.
site.addsitedir(sysconfig.get_path("purelib"))
try:
    import torch
    from torch.utils import cpp_extension
except ImportError as missing:
    raise SystemExit("cordage-torch is built against the installed torch: install torch first") from missing

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from python_build import INCLUDE, REPOSITORY, eigen_include, system_of_wheel, version  # noqa: E402

ARCH = os.environ.get("CORDAGE_ARCH", "native")
# -march of each module, by its name: cordage_torch/_operators.py loads one.
MODULES = {"_C_avx512": "x86-64-v4", "_C_avx2": "x86-64-v3", "_C_baseline": "x86-64"} if ARCH == "any" else {"_C": ARCH}
RELEASE = ".".join(torch.__version__.split(".")[:2])


def nvcc_version() -> str | None:
    """The version of the nvcc that torch calls, such as "13.0"."""
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
    sources = [f"csrc/{name}.cpp" for name in ("operators", "cache_path", "autograd", "clex_model", "config_rule")]
    if cuda:
        sources += sorted(str(path.relative_to(HERE)) for path in (HERE / "csrc").glob("*.cu"))
    # -ffp-contract=off: products are rounded before they are added, as in torch; fused operations are explicit.
    plain = ["-std=c++20", "-O2", "-g0", "-DNDEBUG", "-ffp-contract=off", "-fvisibility=hidden",
             f"-march={arch}"]
    device = ["-std=c++20", "-O2", "-DNDEBUG", "-DCORDAGE_NO_SIMD", "-diag-suppress=20012"]
    if cuda and not torch.cuda.is_available():
        os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "8.0;9.0+PTX")
    kind = cpp_extension.CUDAExtension if cuda else cpp_extension.CppExtension
    return kind(f"cordage_torch.{module}", sources,
                include_dirs=[str(INCLUDE), str(HERE / "csrc"), eigen_include()],
                extra_compile_args={"cxx": plain, "nvcc": device})


class modules_apart(cpp_extension.BuildExtension):
    """Puts the objects of each module into a separate folder, since the modules have the same sources."""

    def build_extension(self, ext):
        shared = self.build_temp
        self.build_temp = os.path.join(shared, ext.name) if len(MODULES) > 1 else shared
        super().build_extension(ext)
        self.build_temp = shared


class for_this_system(bdist_wheel):
    """The tag of the wheel for any x86-64 names the C library that it needs (PEP 600)."""

    def get_tag(self):
        python, abi, system = super().get_tag()
        return python, abi, system_of_wheel() if ARCH == "any" else system


# Objects are kept for later builds, separately for each version of torch.
setup(version=version(), install_requires=[f"torch=={RELEASE}.*"],
      ext_modules=[extension(*module, with_cuda()) for module in MODULES.items()],
      options={"build": {"build_base": str(REPOSITORY / f"build/wheels/objects/torch-{torch.__version__}-{ARCH}")}},
      cmdclass={"build_ext": modules_apart, "bdist_wheel": for_this_system})
