# SPDX-License-Identifier: MIT
"""host/ggml/ in graphs of the installed ggml: the package ggml-python has its headers and libraries."""
import importlib.util
import pathlib
import subprocess

import pytest


def test_graphs_with_the_custom_operations_agree_with_ggml(built):
    found = importlib.util.find_spec("ggml")
    if found is None:
        pytest.skip("ggml comes with ggml-python")
    package = pathlib.Path(found.origin).parent
    include, libraries = package.parent / "include", package / "lib"
    assert (include / "ggml-cpu.h").is_file()
    program = built("ggml_graph.cpp", f"-I{include}", f"-L{libraries}", "-lggml", "-lggml-cpu", "-lggml-base",
                    f"-Wl,-rpath,{libraries}")
    finished = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True)
    print(finished.stdout)
    assert finished.returncode == 0, finished.stdout
