# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./run: tests of the Python hosts, and the wheels.

hosts_packages=(g++ cmake libeigen3-dev libxsimd-dev nlohmann-json3-dev python3 python3-dev python3-venv)
wheels_packages=(g++ cmake ninja-build libeigen3-dev libxsimd-dev nlohmann-json3-dev libcli11-dev python3 python3-dev
    python3-venv)

# The wheel of examples/torch_extension for the torch of a virtual environment, built anew when something it is made of has
# changed; its path is written: torch_wheel VENV ARCH. ARCH is setup.py's CORDAGE_ARCH.
torch_wheel() {
    local extension=examples/torch_extension torch folder
    torch=$("$1/bin/python" -c 'from importlib.metadata import version; print(version("torch"))')
    folder=build/wheels/torch-$torch-$2
    if [[ ! -e $folder/built || -n $(find include "$extension" examples/python_build.py \
        \( -name tests -o -name '*.egg-info' -o -name __pycache__ \) -prune -o -type f -newer "$folder/built" -print | head -n 1) ]]; then
        say "building the wheel of $extension for torch $torch ($2), for some minutes" >&2
        rm -rf "$folder"
        if ! CORDAGE_ARCH=$2 "$1/bin/pip" wheel --quiet --no-input --no-deps --wheel-dir "$folder" "./$extension" >&2; then
            say "the build failed" >&2
            return 1
        fi
        touch "$folder/built"
    fi
    echo "$folder"/cordage_torch-*.whl
}

# The wheel for this machine into a virtual environment.
install_cordage_torch() {
    local wheel
    wheel=$(torch_wheel "$1" native) || return 1
    [[ ! $1/extension -nt $wheel ]] || return 0
    "$1/bin/pip" install --quiet --no-input --no-deps --force-reinstall "$wheel" || return 1
    touch "$1/extension"
}

# The Python hosts, by the packages that were tested or, with --newest, by the newest of today.
test_hosts() {
    need "${hosts_packages[@]}"
    local extension=examples/torch_extension folder=build/hosts
    local lists=("$extension/requirements.txt" tests/hosts/requirements.txt)
    if [[ $1 == --newest ]]; then
        folder=build/hosts-newest
        mkdir -p "$folder"
        sed 's/==.*//' "${lists[@]}" >"$folder/requirements.txt" # newer than what was installed, so all is installed anew
        lists=("$folder/requirements.txt")
    fi
    local venv=$folder/venv log=$folder/tests.log
    make_venv "$venv" "${lists[@]}"
    if ! install_cordage_torch "$venv"; then
        echo "0 passed, 1 failed"
        return 1
    fi
    say "running the tests of the hosts"
    # One thread: the models are so small that a second one only waits.
    OMP_NUM_THREADS=1 run_pytest "$venv" "$log" "$extension/tests" tests/hosts
}

# What the newest transformers changes for the reader of configs.
compare_releases() {
    need "${hosts_packages[@]}"
    make_venv build/hosts/venv examples/torch_extension/requirements.txt tests/hosts/requirements.txt
    build/hosts/venv/bin/python tests/hosts/compare_releases.py
}

# The tests of some folders by the pytest of a virtual environment, closed with one line: run_pytest VENV LOG FOLDER...
run_pytest() {
    local venv=$1 log=$2
    "$venv/bin/python" -m pytest --quiet -p no:cacheprovider "${@:3}" 2>&1 | tee "$log" || true
    tail -n 1 "$log" | awk '
        {
            for (i = 2; i <= NF; ++i) if ($i ~ /^(passed|failed|skipped|errors?),?$/) count[substr($i, 1, 5)] += $(i - 1)
        }
        END {
            if (count["skipp"]) printf "%d skipped\n", count["skipp"]
            failed = count["faile"] + count["error"]
            if (count["passe"] + failed == 0) failed = 1
            printf "%d passed, %d failed\n", count["passe"], failed
            exit failed > 0
        }'
}

# The wheels of the Python packages, those that are named or all.
run_wheels() {
    need "${wheels_packages[@]}"
    local names=("$@") name status=0
    [[ $# -gt 0 ]] || names=(cordage cordage_torch)
    make_venv build/wheels/venv examples/python_package/requirements.txt
    for name in "${names[@]}"; do "wheel_of_$name" "$PWD/build/wheels" || status=1; done
    return $status
}

# The wheel without torch, of this tree or of what pip is told in its place. What is compiled stays in
# build/wheels/cordage, and is built anew where it has changed.
wheel_of_cordage() {
    local folder=$1 package=examples/python_package
    say "building the wheel, for some minutes the first time"
    rm -f "$folder"/cordage-*.whl
    "$folder/venv/bin/pip" wheel --quiet --no-input --no-deps --wheel-dir "$folder" "${2-./$package}" || return 1
    "$folder/venv/bin/pip" install --quiet --no-input --no-deps --force-reinstall "$folder"/cordage-*.whl || return 1
    say "running the tests of the wheel"
    CORDAGE_WHEEL=$(echo "$folder"/cordage-*.whl) run_pytest "$folder/venv" "$folder/tests.log" "$package/tests"
}

# A virtual environment with torch alone: build/wheels/torch/venv.
make_torch_venv() {
    local torch=build/wheels/torch list=examples/torch_extension/requirements.txt
    mkdir -p "$torch"
    [[ $torch/requirements.txt -nt $list ]] || grep '^torch==' "$list" >"$torch/requirements.txt"
    make_venv "$torch/venv" "$torch/requirements.txt"
}

# The wheel for torch, without CUDA's kernels, tested where torch is and nothing else.
wheel_of_cordage_torch() {
    local folder=$1 extension=examples/torch_extension torch=$1/torch wheel
    make_torch_venv
    wheel=$(CORDAGE_CUDA=0 torch_wheel "$torch/venv" any) || return 1
    say "running the tests of ${wheel##*/}"
    CORDAGE_TORCH_WHEEL=$wheel CORDAGE_TORCH_PYTHON=$torch/venv/bin/python \
        run_pytest "$folder/venv" "$torch/tests.log" "$extension/tests/test_wheel.py"
}
