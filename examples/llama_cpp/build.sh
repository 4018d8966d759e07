#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# build.sh FOLDER [--own]: llama.cpp's library with cordage in it, in FOLDER/build/bin; with --own, without it too, in
# FOLDER/own. Sources are those of PyPI's llama-cpp-python (77 MB), which pip fetches; needs g++ 12, cmake, ninja, xsimd. Exits
# with 77 where there are none.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=0.3.36
mkdir -p "$1" && cd "$1"
sources=llama_cpp_python-$version/vendor/llama.cpp

compile() {
    cmake -S "$sources" -B build -G Ninja -D CMAKE_BUILD_TYPE=Release -D GGML_NATIVE=ON \
        -D GGML_OPENMP=OFF -D GGML_LLAMAFILE=OFF -D LLAMA_BUILD_SERVER=OFF -D LLAMA_BUILD_EXAMPLES=OFF \
        -D LLAMA_BUILD_TESTS=OFF -D LLAMA_BUILD_APP=OFF -D LLAMA_OPENSSL=OFF >configure.log
    nice -n 10 ninja -C build ${JOBS:+-j "$JOBS"} llama
}

if [[ ! -e edited || $here/put_in.py -nt edited || (${2-} == --own && ! -e own) ]]; then
    rm -rf build own edited "llama_cpp_python-$version"
    [[ -e llama_cpp_python-$version.tar.gz ]] ||
        pip download --quiet --no-deps --no-binary llama-cpp-python "llama-cpp-python==$version" || exit 77
    tar xf "llama_cpp_python-$version.tar.gz"
    if [[ ${2-} == --own ]]; then
        compile
        cp -a build/bin own
    fi
    python3 "$here/put_in.py" "$sources"
    touch edited
fi
compile
