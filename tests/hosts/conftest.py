# SPDX-License-Identifier: MIT
"""What the tests of hosts share: programs and libraries built from this folder's C++ files."""
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """built(source, *flags): the path of what g++ makes of tests/hosts/source."""
    folder = tmp_path_factory.mktemp("built")

    def build(source, *flags):
        output = folder / pathlib.Path(source).stem
        subprocess.run(["g++", "-std=c++20", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror",
                        "-Wno-uninitialized", "-Wno-maybe-uninitialized",  # GCC 12's own intrinsics
                        f"-I{INCLUDE}", str(HERE / source), "-o", str(output), *flags], check=True)
        return output

    return build
