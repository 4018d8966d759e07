# SPDX-License-Identifier: MIT
"""The version is that of the library, in include/cordage/version.hpp."""
import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from python_build import version  # noqa: E402

setup(version=version())
