# SPDX-License-Identifier: MIT
"""Functions shared by the setup.py of the Python packages."""
import os
import platform
import re
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


def system_of_wheel() -> str:
    """The tag of a wheel for the systems with this C library or a newer one (PEP 600)."""
    glibc = platform.libc_ver()[1].replace(".", "_")
    return f"manylinux_{glibc}_{platform.machine()}"


class with_machine_code(Distribution):
    """A package whose wheel is platform-specific although setuptools compiles nothing of it."""

    def has_ext_modules(self):
        return True
