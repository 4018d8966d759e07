# SPDX-License-Identifier: MIT
"""Builds the handlers that XLA calls, against the headers of the installed jaxlib.

CORDAGE_ARCH    the -march of the machine that will run it; default native (the machine that builds it)
CXX             the compiler; default g++
EIGEN_INCLUDE   folder with Eigen/Core, where it is not /usr/include/eigen3
"""
import os
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# pip's isolated build environment has no jaxlib, and a version other than the installed one would not match.
site.addsitedir(sysconfig.get_path("purelib"))
try:
    import jax.ffi
except ImportError as missing:
    raise SystemExit("cordage-jax is built against the installed jaxlib: install jax first") from missing

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent / "torch_extension/csrc"
sys.path.insert(0, str(HERE.parent))
from python_build import INCLUDE, eigen_include, version, with_machine_code  # noqa: E402


class with_handlers(build_py):
    """The package, and the library of handlers beside its modules."""

    def run(self):
        super().run()
        output = Path(self.build_lib, "cordage_jax", "_handlers.so")
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-DNDEBUG", "-shared", "-fPIC", "-w",
                        "-fvisibility=hidden", f"-march={os.environ.get('CORDAGE_ARCH', 'native')}",
                        f"-I{INCLUDE}", f"-I{SHARED}", f"-I{jax.ffi.include_dir()}", "-isystem", eigen_include(),
                        str(HERE / "csrc/handlers.cpp"), str(SHARED / "clex_model.cpp"), "-o", str(output)], check=True)


setup(version=version(), cmdclass={"build_py": with_handlers}, distclass=with_machine_code)
