# SPDX-License-Identifier: MIT
"""The package has the library's own version, of include/cordage/version.hpp."""
import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from python_build import version  # noqa: E402

setup(version=version())
