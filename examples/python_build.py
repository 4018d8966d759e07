# SPDX-License-Identifier: MIT
"""Functions shared by the setup.py of the Python packages."""
import os
import platform
import re
import shutil
from pathlib import Path

from setuptools import Distribution

REPOSITORY = Path(__file__).resolve().parent.parent
INCLUDE = REPOSITORY / "include"


def version() -> str:
    """The version of the library, from include/cordage/version.hpp."""
    numbers = re.findall(r"CORDAGE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (INCLUDE / "cordage/version.hpp").read_text())
    return ".".join(numbers)


def eigen_include() -> str:
    """The folder with Eigen/Core."""
    folder = os.environ.get("EIGEN_INCLUDE", "/usr/include/eigen3")
    if not Path(folder, "Eigen/Core").exists():
        raise SystemExit(f"EIGEN_INCLUDE {folder} must be the folder with Eigen/Core (Debian: libeigen3-dev)")
    return folder


def nvcc() -> str | None:
    """The compiler of CUDA: in CUDA_HOME, on PATH, or in /usr/local/cuda; None where CORDAGE_CUDA=0 or there is none."""
    asked, home = os.environ.get("CORDAGE_CUDA", ""), os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = None if asked == "0" else shutil.which("nvcc", path=f"{home}/bin") or shutil.which("nvcc")
    if asked == "1" and not found:
        raise SystemExit("CORDAGE_CUDA=1: nvcc must be on PATH or in CUDA_HOME")
    return found


def system_of_wheel() -> str:
    """The tag of a wheel for the systems with this C library or a newer one (PEP 600)."""
    glibc = platform.libc_ver()[1].replace(".", "_")
    return f"manylinux_{glibc}_{platform.machine()}"


class with_machine_code(Distribution):
    """A package whose wheel is platform-specific although setuptools compiles nothing of it."""

    def has_ext_modules(self):
        return True
