# SPDX-License-Identifier: MIT
"""The package has the library's own version, of include/cordage/version.hpp."""
import re
from pathlib import Path

from setuptools import setup

VERSION = Path(__file__).resolve().parent.parent.parent / "include/cordage/version.hpp"
setup(version=".".join(re.findall(r"CORDAGE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", VERSION.read_text())))
