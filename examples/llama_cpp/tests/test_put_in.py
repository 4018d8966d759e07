# SPDX-License-Identifier: MIT
"""put_in.py: its edits, and the errors, after which nothing is written."""
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from conftest import FOLDER

PUT_IN = Path(__file__).resolve().parents[1] / "put_in.py"
FILES = ["CMakeLists.txt", "ggml/src/ggml-cpu/ops.cpp", "src/llama-kv-cache.cpp", "ggml/src/ggml-cpu/ggml-cpu.c"]


@pytest.fixture(scope="module")
def unpacked():
    """The files of the package on PyPI."""
    archive, = FOLDER.glob("llama_cpp_python-*.tar.gz")
    root = f"{archive.name.removesuffix('.tar.gz')}/vendor/llama.cpp"
    with tarfile.open(archive) as packed:
        return {name: packed.extractfile(f"{root}/{name}").read() for name in FILES}


@pytest.fixture
def sources(unpacked, tmp_path):
    for name, text in unpacked.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    return tmp_path


def put_in(*arguments):
    return subprocess.run([sys.executable, PUT_IN, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def texts(sources):
    return [(sources / name).read_text() for name in FILES]


def refused(sources, said):
    before, done = texts(sources), put_in(sources)
    assert done.returncode == 1 and done.stdout.startswith("put_in: ") and said in done.stdout, done.stdout
    assert done.stdout.count("\n") == 1 and texts(sources) == before


def test_it_puts_cordage_in_once(sources):
    done = put_in(sources)
    assert done.returncode == 0 and done.stdout == f"cordage rotates in {sources}\n"
    lists, ops, cache, graph = texts(sources)
    assert lists.endswith('cordage.cmake")\n') and "cordage_llama_rope(dst" in ops and "cordage_llama_shift(ctx" in cache
    assert "cordage_llama_rope_into_rows(node" in graph
    refused(sources, "ops.cpp has cordage in it already; unpack the sources anew")


@pytest.mark.parametrize("function", ["ggml_compute_forward_rope(", "llama_kv_cache::build_rope_shift(",
                                      "ggml_cpu_try_fuse_ops(", "llama_kv_cache::get_can_shift(", "llama_kv_cache::seq_add("])
def test_it_refuses_a_function_that_has_changed(sources, function):
    path = next(sources / name for name in FILES[1:] if function in (sources / name).read_text())
    text = path.read_text()
    begin = next(i for i in range(len(text)) if text.startswith(function, i) and "{" in text[i:text.find(";", i)])
    body = text.index("{", begin) + 1
    path.write_text(text[:body] + " /* other */" + text[body:])
    refused(sources, "this is not the tested llama.cpp, of llama-cpp-python 0.3.36")


def test_it_refuses_a_function_that_is_not_there(sources):
    path = sources / FILES[1]
    path.write_text(path.read_text().replace("void ggml_compute_forward_rope(", "void other("))
    refused(sources, "has 0 functions 'void ggml_compute_forward_rope(...', must have 1")


def test_it_refuses_other_arguments(tmp_path):
    assert "put_in: LLAMA_CPP, the folder of llama.cpp's sources, must be the one argument" in put_in().stdout
    assert "put_in: " in put_in(tmp_path).stdout and "No such file" in put_in(tmp_path).stdout


def test_cmake_stops_where_another_backend_would_rotate():
    done = subprocess.run(["cmake", "-D", "GGML_AVAILABLE_BACKENDS=ggml-cpu;ggml-cuda", "-P",
                           PUT_IN.with_name("cordage.cmake")],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode and "cordage: backend ggml-cuda would rotate by itself" in " ".join(done.stdout.split()), done.stdout
