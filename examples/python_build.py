# SPDX-License-Identifier: MIT
"""What the setup.py of the Python packages here share."""
import os
import re
from pathlib import Path

from setuptools import Distribution

REPOSITORY = Path(__file__).resolve().parent.parent
INCLUDE = REPOSITORY / "include"


def version() -> str:
    """The library's own, of include/cordage/version.hpp."""
    numbers = re.findall(r"CORDAGE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (INCLUDE / "cordage/version.hpp").read_text())
    return ".".join(numbers)


def eigen_include() -> str:
    """The folder with Eigen/Core."""
    folder = os.environ.get("EIGEN_INCLUDE", "/usr/include/eigen3")
    if not Path(folder, "Eigen/Core").exists():
        raise SystemExit(f"EIGEN_INCLUDE {folder} must be the folder with Eigen/Core (Debian: libeigen3-dev)")
    return folder


class with_machine_code(Distribution):
    """A package whose wheel is for one kind of machine, though setuptools compiles nothing of it."""

    def has_ext_modules(self):
        return True
