#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything that wants a GPU: builds for it, tests and measures there, and writes a record in docs/performance and
# docs/performance_gpu.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
    cat <<'EOF'
benchmarks/cuda/run.sh [PHASE...] [OPTIONS]     all phases, in this order, if none is named:

  fetch     downloads the peers that are built or taken apart here into build/gpu/wheels
  build     nvcc: tests, benchmarks and the peers' libraries; needs no device if --arch says what for
  tests     the tests of the kernels on the device, then under compute-sanitizer
  bench     cordage_gpu_bench and the precision of cos and sin
  peers     other packages, by a python3 that has torch; goes on where it was stopped
  report    what build/gpu/results/*.json hold, into docs/performance/gpu_DEVICE.json, and from there between the marks of
            docs/performance_gpu.md

If tests, bench, peers or report fails, the phases after it run all the same, and the exit status is 1 at the end.

  --arch N        compute capability, as in 90; without it, the device's
  --no-peers      leaves out the phase peers, and what fetch and build do for it
  --wheels DIR    takes the peers from here, and downloads nothing
  --include DIR   where doctest/doctest.h is, if nvcc does not find it
  --python FILE   the interpreter for the peers; without it python3, or a virtual environment made in build/gpu/venv
  --tools LIST    those of compute-sanitizer, in quotes; without it memcheck, racecheck and synccheck, each for 150 seconds at most

For a machine without a network: fetch and build elsewhere, copy build/gpu/bin and build/gpu/site there beside the
repository, and run tests, bench, peers and report there; if it is there for some minutes only, short_session.sh instead.
EOF
}

fail() { echo "run.sh: $*" >&2; exit 1; }
say() { printf '\n== %s\n' "$*"; }

phases=() arch="" with_peers=yes wheels="" include="" python="" tools="memcheck racecheck synccheck"
while [[ $# -gt 0 ]]; do
    case $1 in
        fetch | build | tests | bench | peers | report) phases+=("$1") ;;
        --no-peers) with_peers=no ;;
        --arch | --wheels | --include | --python | --tools)
            [[ $# -ge 2 ]] || fail "$1 needs a value"
            declare "${1#--}=$2"
            shift
            ;;
        -h | --help) usage; exit ;;
        *) usage >&2; fail "unknown argument $1" ;;
    esac
    shift
done
[[ ${#phases[@]} -gt 0 ]] || phases=(fetch build tests bench peers report)

out=${CORDAGE_GPU_BUILD:-build/gpu} # for the tests of the build
jobs=${CORDAGE_GPU_JOBS:-$(nproc)}
strict=(--Werror all-warnings -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror)
shared=(-O3 -shared -Xcompiler=-fPIC --expt-relaxed-constexpr)
bin=$out/bin site=$out/site results=$out/results
mkdir -p "$bin" "$site" "$results"
PATH=$PATH:/usr/local/cuda/bin # nvcc and compute-sanitizer, where nobody put them on PATH

# The device ------------------------------------------------------------------------------------------------------

need_device() {
    command -v nvidia-smi >/dev/null || fail "no CUDA device: nvidia-smi is not there"
    nvidia-smi --query-gpu=name --format=csv,noheader >/dev/null 2>&1 || fail "no CUDA device: nvidia-smi finds none"
}

describe_machine() {
    local driver revision
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
    revision=$(cat "$bin/revision" 2>/dev/null || echo "of unknown revision")
    printf '["driver %s, %s, cordage %s"]\n' "$driver" "$(date -u +%Y-%m-%d)" "$revision" >"$results/machine.json"
}

# Building --------------------------------------------------------------------------------------------------------

download() { # an interpreter and pip's arguments; a peer that cannot be had is reported by the phase peers
    "$1" -m pip download --quiet --no-deps --dest "$out/wheels" "${@:2}" || echo "could not download: ${*: -1}" >&2
}

phase_fetch() {
    [[ $with_peers == yes && -z $wheels ]] || return 0
    say "downloading peers into $out/wheels"
    mkdir -p "$out/wheels"
    local package
    for package in liger-kernel flashinfer-python sglang apache-tvm-ffi; do download python3 "$package"; done
    # Only a file of its sdist is used. pip asks its setup.py for a name, which wants torch but need not build.
    local interpreter
    interpreter=$(peers_python)
    FLASH_ATTENTION_SKIP_CUDA_BUILD=TRUE download "$interpreter" --no-build-isolation --no-binary flash-attn flash-attn
}

# unpack PATTERN FOLDER FILES...: the newest package of this name among the wheels, or status 1.
unpack() {
    local archive
    archive=$(find "${wheels:-$out/wheels}" -maxdepth 1 -name "$1" 2>/dev/null | sort -V | tail -n 1)
    [[ -n $archive ]] || return 1
    python3 benchmarks/cuda/peers/unpack.py "$archive" "$2" --versions "$site/versions.json" "${@:3}"
}

compile() { # compile OUTPUT FLAGS AND SOURCES...
    echo "$1"
    nvcc -std=c++20 -t "$jobs" "-arch=sm_$arch" -Iinclude -DCORDAGE_NO_SIMD "${@:2}" -o "$bin/$1"
}

# What runs kernels by way of test_device.hpp; the other tests of the backend need no device. nvcc splits what it gives the
# linker at spaces that are not within quotes of its own.
build_tests() {
    local tests
    mapfile -t tests < <(grep -lE 'cuda/(test_device|device_backend)\.hpp' tests/backend/cuda/*_test.cpp tests/rotate/cuda/*_test.cpp)
    nvcc -std=c++20 -O1 -x c++ -Itests -c tests/known_blocks.cpp -o "$out/known_blocks.o"
    compile cordage_gpu_tests -O1 -lineinfo -DCORDAGE_TEST_ON_DEVICE -DEIGEN_NO_CUDA -isystem /usr/include/eigen3 -Itests ${include:+"-I$include"} \
        -Xlinker "\"$out/known_blocks.o\"" -x cu tests/backend/cuda/device_main.cu "${tests[@]}"
    compile cordage_gpu_launch tests/cuda_compile/on_device.cu
}

build_peers() {
    local headers=$out/headers source=benchmarks/cuda/peers
    unpack 'liger_kernel-*.whl' "$site" liger_kernel/ops/rope.py || echo "no wheel of liger-kernel" >&2
    unpack 'flash_attn-*.tar.gz' "$site" flash_attn/ops/triton/rotary.py || echo "no sdist of flash-attn" >&2
    if unpack 'flashinfer_python-*.whl' "$headers" flashinfer/data/include flashinfer/data/cccl; then
        # With its own copy of CUDA's C++ library and with the fast math that it compiles its kernels with.
        local data=$headers/flashinfer/data
        compile libflashinfer_gpu_peer.so "${shared[@]}" --use_fast_math "-I$data/cccl/libcudacxx/include" \
            "-I$data/cccl/cub" "-I$data/cccl/thrust" "-I$data/include" "$source/flashinfer_gpu_peer.cu" ||
            echo "flashinfer's peer does not compile" >&2
    else
        echo "no wheel of flashinfer-python" >&2
    fi
    if unpack 'sglang-*.whl' "$headers" sglang/kernels/jit/include sglang/kernels/jit/csrc/elementwise &&
        unpack 'apache_tvm_ffi-*.whl' "$headers" tvm_ffi/include tvm_ffi/lib; then
        cp "$headers/tvm_ffi/lib/libtvm_ffi.so" "$bin"
        compile libsglang_gpu_peer.so "${shared[@]}" "-DSGL_CUDA_ARCH=${arch}0" "-I$headers/sglang/kernels/jit/include" \
            "-I$headers/sglang/kernels/jit/csrc" "-I$headers/tvm_ffi/include" "$source/sglang_gpu_peer.cu" \
            "-L$bin" -ltvm_ffi "-Xlinker=-rpath=\$ORIGIN" || echo "sglang's peer does not compile" >&2
    else
        echo "no wheels of sglang and apache-tvm-ffi" >&2
    fi
}

phase_build() {
    command -v nvcc >/dev/null || fail "no nvcc on PATH or in /usr/local/cuda/bin"
    if [[ -z $arch ]]; then
        arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) ||
            fail "no CUDA device to build for: name one with --arch, as in --arch 90"
    fi
    [[ $arch =~ ^[0-9]+$ ]] || fail "--arch '$arch' must be a compute capability, as in 90"
    say "building for sm_$arch into $bin"
    rm -f "$results"/*.json # of another build
    git describe --always --dirty >"$bin/revision" 2>/dev/null || rm -f "$bin/revision" # of what is built, which may run elsewhere
    local here=benchmarks/cuda
    compile cordage_gpu_bench -O3 "${strict[@]}" "$here"/{main,prefill_bench,decode_bench,rebase_bench,cache_bench}.cu
    compile cordage_gpu_precision -O3 "${strict[@]}" "$here/precision.cu"
    compile cordage_gpu_precision_fast_math -O3 "${strict[@]}" --use_fast_math "$here/precision.cu"
    build_tests
    compile libcordage_gpu_peer.so "${shared[@]}" "${strict[@]}" "$here/peers/cordage_gpu_peer.cu"
    [[ $with_peers == no ]] || build_peers
}

# Testing and measuring -------------------------------------------------------------------------------------------

phase_tests() {
    need_device
    [[ -x $bin/cordage_gpu_tests ]] || fail "$bin/cordage_gpu_tests is not there: run.sh build makes it"
    describe_machine
    local lines=() status=0 log tool ended verdict seconds=150
    record() { # what is found stays if time runs out
        lines+=("\"$1\": \"$2\"")
        echo "$1: $2"
        (IFS=,; echo "{${lines[*]}}") >"$results/tests.json.part"
        mv "$results/tests.json.part" "$results/tests.json"
    }
    say "tests on the device"
    log=$results/tests.log ended=0
    limited 300 "$bin/cordage_gpu_tests" >"$log" 2>&1 || ended=$?
    grep -E '^\[doctest\] test cases' "$log" || tail -n 20 "$log"
    [[ $ended == 0 ]] || status=1
    record "the kernels' tests" "$(early "$ended" 300 || summary_of "$log")"
    ended=0
    limited 60 "$bin/cordage_gpu_launch" || ended=$?
    [[ $ended == 0 ]] || status=1
    verdict=passed
    [[ $ended == 0 ]] || verdict=$(early "$ended" 60 || echo failed)
    record "a launch, plain and in a graph" "$verdict"
    for tool in $tools; do # initcheck would find nothing: copying_device initialises all memory that it allocates
        log=$results/$tool.log
        if ! command -v compute-sanitizer >/dev/null; then
            record "compute-sanitizer $tool" "not run: compute-sanitizer is not there"
            continue
        fi
        say "tests under compute-sanitizer, $tool"
        ended=0
        limited "$seconds" compute-sanitizer --tool "$tool" --error-exitcode 9 "$bin/cordage_gpu_tests" >"$log" 2>&1 || ended=$?
        verdict=$(verdict_of "$log" "$ended" "$seconds")
        record "compute-sanitizer $tool" "$verdict"
        [[ $verdict != failed* ]] || status=1
    done
    return "$status"
}

# limited SECONDS COMMAND...: ends a command that does not end by itself, by SIGKILL if it ignores SIGTERM.
limited() { timeout -k 10 "$@"; }

# early STATUS SECONDS: says that a command was stopped or killed; status 1 if it was neither.
early() { [[ $1 == 124 || $1 == 137 ]] && echo "ended early, within $2 seconds"; }

# verdict_of LOG STATUS SECONDS: what compute-sanitizer found, which `timeout` may have stopped.
verdict_of() {
    local found='^=+ (Invalid|Misaligned|Uninitialized|Program hit|Barrier error|(Error|Warning): Race)'
    if grep -qE "$found" "$1"; then
        echo "failed: $(grep -m 1 -E '(ERROR|RACECHECK) SUMMARY' "$1" || grep -m 1 -E "$found" "$1")"
    elif [[ $2 == 0 ]] || grep -qE '(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)' "$1"; then
        echo "no errors" # whatever the tests themselves say, which has a line of its own
    elif [[ $2 == 124 || $2 == 137 ]]; then
        echo "no errors, but $(early "$2" "$3")"
    elif grep -qiE 'device not supported|unable to|not supported' "$1"; then
        echo "not run: the device does not allow it"
    else
        echo "failed: ended early, see $(basename "$1")"
    fi
}

summary_of() { sed -nE 's/^\[doctest\] test cases: *([0-9]+) \| *([0-9]+) passed \| *([0-9]+) failed.*/\2 passed, \3 failed/p' "$1" | grep . || echo "ended early"; }

phase_bench() {
    need_device
    [[ -x $bin/cordage_gpu_bench ]] || fail "$bin/cordage_gpu_bench is not there: run.sh build makes it"
    describe_machine
    say "precision of cos and sin"
    local status=0
    "$bin/cordage_gpu_precision" "$results/precision.json" || status=1
    "$bin/cordage_gpu_precision_fast_math" "$results/precision_fast_math.json" || status=1
    say "benchmarks, for some minutes"
    "$bin/cordage_gpu_bench" --output "$results/bench.json" || status=1
    return "$status"
}

# A python3 with torch: the one at hand, or one made from requirements.txt. What else is missing is a peer's reason.
peers_python() {
    local candidate candidates=("$python")
    [[ -n $python ]] || candidates=(python3 "$out/venv/bin/python")
    for candidate in "${candidates[@]}"; do
        ! "$candidate" -c 'import torch' 2>/dev/null || { echo "$candidate"; return; }
    done
    [[ -z $python ]] || fail "--python $python has no torch"
    if ! { python3 -m venv --clear "$out/venv" && "$out/venv/bin/pip" install --quiet --no-input \
        ${wheels:+--no-index --find-links "$wheels"} --requirement benchmarks/cuda/peers/requirements.txt; } >&2; then
        fail "python3 has no torch, and none could be installed into $out/venv"
    fi
    echo "$out/venv/bin/python"
}

phase_peers() {
    [[ $with_peers == yes ]] || return 0
    need_device
    say "peers, for some minutes"
    local interpreter
    interpreter=$(peers_python)
    "$interpreter" benchmarks/cuda/peers/compare.py --libraries "$bin" --site "$site" --output "$results/peers.json"
}

phase_report() {
    local record
    record=$(python3 benchmarks/cuda/record.py --results "$results" --records docs/performance)
    python3 benchmarks/cuda/report.py --record "$record" --page docs/performance_gpu.md
    say "$record and docs/performance_gpu.md are written"
}

# A device may be lent for minutes: what fails there is reported at the end, and the other phases run all the same.
failed=()
for phase in "${phases[@]}"; do
    if [[ $phase == fetch || $phase == build ]]; then
        "phase_$phase"
        continue
    fi
    set +e # not `|| ...`, within which errexit is off
    (set -e; "phase_$phase")
    ended=$?
    set -e
    [[ $ended == 0 ]] || failed+=("$phase")
done
[[ ${#failed[@]} == 0 ]] || fail "failed: ${failed[*]}"
