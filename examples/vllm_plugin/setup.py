# SPDX-License-Identifier: MIT
"""The version is the library's own, of include/cordage/version.hpp."""
import re
from pathlib import Path

from setuptools import setup

HEADER = Path(__file__).resolve().parent.parent.parent / "include/cordage/version.hpp"
setup(version=".".join(re.findall(r"CORDAGE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER.read_text())))
