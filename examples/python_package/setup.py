# SPDX-License-Identifier: MIT
"""Builds libcordage_c.so and cordage_inspect for any x86-64, by CMake, and puts them into the package.

CORDAGE_BUILD_FOLDER  build folder, kept for later builds; default build/wheels/cordage of the repository
CXX                   the compiler; default g++
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from python_build import REPOSITORY, system_of_wheel, version, with_machine_code  # noqa: E402

# The C++ runtime is linked statically, so that only the system's C library is needed.
STATIC = "-static-libstdc++ -static-libgcc"


class with_library(build_py):
    """The package, and what is compiled beside its modules."""

    def run(self):
        super().run()
        for tool in "cmake", "ninja":
            if shutil.which(tool) is None:
                raise SystemExit(f"{tool} must be installed to build cordage (Debian: cmake ninja-build)")
        folder = os.environ.get("CORDAGE_BUILD_FOLDER", str(REPOSITORY / "build/wheels/cordage"))
        subprocess.run(["cmake", "-S", str(REPOSITORY), "-B", folder, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release",
                        "-D", f"CMAKE_CXX_COMPILER={os.environ.get('CXX', 'g++')}",
                        "-D", "CORDAGE_BUILD_TESTS=OFF", "-D", "CORDAGE_BUILD_BENCHMARKS=OFF", "-D", "CORDAGE_INSTALL=OFF",
                        "-D", f"CMAKE_SHARED_LINKER_FLAGS={STATIC}", "-D", f"CMAKE_EXE_LINKER_FLAGS={STATIC}"], check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "cordage_c", "cordage_inspect"], check=True)
        output = Path(self.build_lib, "cordage/_lib")
        output.mkdir(parents=True, exist_ok=True)
        for built in "libcordage_c.so", "examples/inspect/cordage_inspect":
            file = Path(shutil.copy(Path(folder, built), output))
            subprocess.run(["strip", "--strip-unneeded", str(file)], check=True)
        # Licences of the libraries compiled into them too, from Debian's packages.
        shutil.copy(REPOSITORY / "LICENSE", output / "LICENSE")
        for package in "libxsimd-dev", "libeigen3-dev", "nlohmann-json3-dev", "libcli11-dev":
            told = Path("/usr/share/doc", package, "copyright")
            if told.exists():
                shutil.copy(told, output / f"LICENSE.{package}")


class for_any_python(bdist_wheel):
    """No module is compiled: a wheel for every Python."""

    def get_tag(self):
        return "py3", "none", system_of_wheel()


class of_the_repository(sdist):
    """The sources are those of the library, outside of this folder."""

    def run(self):
        name = f"cordage-{version()}.tar.gz"
        raise SystemExit(f"cordage has no sdist: its sources are those of a release, which pip builds by\n"
                         f"    pip wheel 'cordage @ file:///PATH/{name}#subdirectory=examples/python_package'")


setup(version=version(), distclass=with_machine_code,
      cmdclass={"build_py": with_library, "bdist_wheel": for_any_python, "sdist": of_the_repository})
