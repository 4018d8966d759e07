# SPDX-License-Identifier: MIT
"""Builds the handlers that XLA calls against the headers of the jaxlib that is installed.

CORDAGE_ARCH    the -march of the machine that will run it; default native (the machine that builds it)
CXX             the compiler; default g++
EIGEN_INCLUDE   folder with Eigen/Core, where it is not /usr/include/eigen3
"""
import os
import re
import site
import subprocess
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

# pip builds in an environment of its own, which lacks jaxlib: another one than the installed would not fit.
site.addsitedir(sysconfig.get_path("purelib"))
try:
    import jax.ffi
except ImportError as missing:
    raise SystemExit("cordage-jax is built against the jaxlib that is installed: install jax first") from missing

HERE = Path(__file__).resolve().parent
INCLUDE, SHARED = HERE.parent.parent / "include", HERE.parent / "torch_extension/csrc"


def version() -> str:
    """The library's own, of include/cordage/version.hpp."""
    numbers = re.findall(r"CORDAGE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (INCLUDE / "cordage/version.hpp").read_text())
    return ".".join(numbers)


class with_handlers(build_py):
    """The package, and the library of handlers beside its modules."""

    def run(self):
        super().run()
        eigen = os.environ.get("EIGEN_INCLUDE", "/usr/include/eigen3")
        if not Path(eigen, "Eigen/Core").exists():
            raise SystemExit(f"EIGEN_INCLUDE {eigen} must be the folder with Eigen/Core (Debian: libeigen3-dev)")
        output = Path(self.build_lib, "cordage_jax", "_handlers.so")
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-DNDEBUG", "-shared", "-fPIC", "-w",
                        "-fvisibility=hidden", f"-march={os.environ.get('CORDAGE_ARCH', 'native')}",
                        f"-I{INCLUDE}", f"-I{SHARED}", f"-I{jax.ffi.include_dir()}", "-isystem", eigen,
                        str(HERE / "csrc/handlers.cpp"), str(SHARED / "clex_model.cpp"), "-o", str(output)], check=True)


class with_machine_code(Distribution):
    def has_ext_modules(self):
        return True


setup(version=version(), cmdclass={"build_py": with_handlers}, distclass=with_machine_code)
