# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./run: the checks.

check_packages=("${build_packages[@]}" libboost-dev clang libclang-rt-dev clang-format-16 clang-tidy git python3)
full_check_packages=(g++-aarch64-linux-gnu qemu-user clang-19 libtorch-dev libopenblas0-pthread python3 python3-venv rustc)

# Without those that were deleted.
our_files() {
    comm -23 <(git ls-files --cached --others --exclude-standard -- '*.hpp' '*.cpp' '*.cuh' '*.cu' | sort) <(git ls-files --deleted | sort)
}

# Files that differ from upstream; where there is nothing newer, from the last commit that passed all checks here, or from
# the one before the last.
changed_files() {
    local base
    base=$(git merge-base HEAD '@{upstream}' 2>/dev/null) || base=$(git rev-parse HEAD)
    [[ $base != $(git rev-parse HEAD) ]] || base=$(git merge-base HEAD refs/cordage/checked 2>/dev/null) || base=HEAD~1
    git rev-parse --quiet --verify "$base" >/dev/null || { our_files; return; }
    git diff --name-only --diff-filter=d "$base" -- '*.hpp' '*.cpp'
    git ls-files --others --exclude-standard -- '*.hpp' '*.cpp'
}

check_format() { our_files | xargs --no-run-if-empty clang-format-16 --dry-run -Werror; }

# Every unit by clang++ that the build of preset $1 does not compile, without making code of it; but for those of the study
# that include libtorch, whose headers clang 14 refuses as C++20, and others that match the expression $2.
check_syntax() {
    mkdir -p build
    cmake --preset clang-syntax >build/clang-syntax-configure.log || { cat build/clang-syntax-configure.log; return 1; }
    cmake --build build/clang-syntax --target cordage_amalgamation || return 1
    python3 tests/syntax_only.py build/clang-syntax "study/(model/(?!recipes)|smollm2/(llama|measures)[.])${2:+|$2}" "build/$1"
}

# clang-tidy on files named on stdin. Headers of include/ are read by way of the unit that includes them all, in the time of
# eight of them, and tests by way of the batches that preset $1 compiles; headers of tests come with the tests.
check_tidy() {
    local built=build/$1 database=build/clang-syntax file unit
    : >build/tidy-left-out.txt
    while read -r file; do
        unit=
        case $file in
            tests/compile_fail/*) continue ;; # errors on purpose
            benchmarks/* | tests/fuzz/*) ;;
            include/*.hpp) ! grep -q "\"${file#include/}\"" "$database/tests/everything.hpp" || unit=tests/two_units/unit.cpp ;;
            *.cpp)
                unit=$(grep -lF "\"$PWD/$file\"" "$built"/tests/batches/*.cpp | head -n 1)
                [[ -n $unit ]] || ! grep -q "$file\"" "$database/compile_commands.json" || unit=$file
                ;;
            *.cu | *.cuh) ;;
            *) continue ;;
        esac
        if [[ -n $unit ]]; then echo "$unit"; else echo "$file" >>build/tidy-left-out.txt; fi
    done | sort -u >build/tidy-units.txt
    local all_headers=tests/two_units/unit.cpp
    tidy "$database" --config-file=.clang-tidy < <(grep -x "$all_headers" build/tidy-units.txt) || return 1  # not that of tests
    tidy "$database" < <(grep -v "^$built/\|^$all_headers" build/tidy-units.txt) || return 1
    tidy "$built" < <(grep "^$built/" build/tidy-units.txt) || return 1
    [[ ! -s build/tidy-left-out.txt ]] ||
        echo "$(wc -l <build/tidy-left-out.txt) files are left out: build/tidy-left-out.txt"
}

# clang-tidy on the units named on stdin, as a build compiles them: tidy BUILD [ARGS].
tidy() {
    xargs --no-run-if-empty -P "$jobs" -n 1 clang-tidy -p "$1" --quiet --extra-arg=-Wno-unknown-warning-option "${@:2}" 2> >(
        grep -v 'warnings\? generated\|^Suppressed\|^Use -header-filter' >&2
    )
}

check_failures=() check_times=() passed_before=
# check NAME COMMAND [ARGS]. Where passed_before names a folder, a check that has passed is not run again.
check() {
    local done_file=$passed_before/${1//[^a-z0-9]/-} started=$SECONDS
    if [[ -n $passed_before && -e $done_file ]]; then
        say "check: $1: passed before, on the same files"
    else
        say "check: $1"
        "${@:2}" || { check_failures+=("$1"); return 0; }
        # Files that changed meanwhile may have been read as they were or as they are.
        [[ -z $passed_before || $(folder_of_tree) != "$passed_before" ]] || echo $((SECONDS - started)) >"$done_file"
    fi
    [[ -z $passed_before || ! -e $done_file ]] || check_times+=("$(printf '%5d s  %s' "$(cat "$done_file")" "$1")")
}

# A folder for the checks that have passed with the files of this tree as they are, and with nvcc or without.
folder_of_tree() {
    local files
    files=$({
        git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null
        command -v nvcc || true
    } | sha256sum)
    mkdir -p "build/checked/${files%% *}"
    echo "build/checked/${files%% *}"
}

run_check() {
    [[ ${1-} != --coverage ]] || { check_coverage; return; }
    [[ ${1-} != --mutants ]] || { check_mutants; return; }
    [[ ${1-} != --fuzz ]] || { need "${check_packages[@]}" libtorch-dev libopenblas0-pthread && check_fuzzers "$2"; return; }
    local full=no preset sanitized=asan-ubsan commit
    need "${check_packages[@]}"
    commit=$(git rev-parse HEAD) || { say "the checks need a clone of the repository: git lists what they read"; return 1; }
    need_nvcc || say "nvcc could not be installed: the tests that run CUDA kernels will be skipped"
    need_nvrtc || say "NVRTC could not be installed: its tests will be skipped"
    [[ ${1-} != --full ]] || full=yes sanitized=asan-ubsan-full passed_before=$(folder_of_tree)
    check "format" check_format
    check "places of the mutants" python3 tests/mutants/check.py --place
    check "links of the pages" python3 docs/site/check_links.py
    check "names that are promised" python3 docs/site/check_names.py
    check "build and tests under sanitizers" check_preset "$sanitized"
    # Headers alone, the study, the interpreter of PTX, fuzzers, conformance programs, and the tests of rotations that are slow to
    # compile with sanitizers are read by --full; here clang++ reads the headers in the other tests.
    check "every other unit read by clang++" check_syntax "$sanitized" \
        "$([[ $full == yes ]] || echo 'tests/(alone|ptx|rotate|backend|fuzz|conformance)/|benchmarks/study/')"
    if [[ $full == yes ]]; then
        need "${full_check_packages[@]}"
        need_eigen5
        for preset in clang release-full cxx23 clang-19 eigen5 libtorch tsan aarch64 cuda-compile; do
            check "build and tests of preset $preset" check_preset "$preset"
        done
        check "documentation site" check_docs
        check "fuzzers, a minute each" check_fuzzers 60
        check "ways to get the library, by the newest CMake" check_package
        check "ten million angles against MPFR" build/release-full/tests/oracle/cordage_oracle 10000000 7
        check "coverage" check_coverage
        check "mutants" check_mutants
        check "clang-tidy on everything" check_tidy "$sanitized" < <(our_files)
    else
        check "clang-tidy on what changed" check_tidy "$sanitized" < <(changed_files)
    fi
    say "checks done"
    if [[ ${#check_times[@]} -gt 0 ]]; then
        printf '%s\n' "${check_times[@]}" | awk '{ print; total += $1 } END { printf "%5d s  in all\n", total }'
    fi
    if [[ ${#check_failures[@]} -gt 0 ]]; then
        printf 'failed: %s\n' "${check_failures[@]}"
        return 1
    fi
    # Of the commit that was there at the beginning: one that was made meanwhile has not been read.
    ! git diff --quiet "$commit" || git update-ref refs/cordage/checked "$commit"
    echo "all checks passed"
}

# Each fuzzer for some seconds, as many at a time as there are processors.
check_fuzzers() {
    build fuzz || return 1
    printf '%s\0' build/fuzz/tests/fuzz/*_fuzz | xargs -0 -P "$jobs" -n 1 "$BASH" -c "$(declare -f say fuzz); fuzz \"\$@\"" fuzz "$1"
}

# fuzz SECONDS FUZZER: from its corpus, which is only read; what it finds is written beside the build. Those of calls say how
# many runs got past the checks.
fuzz() {
    local name status=0
    name=$(basename "$2" _fuzz)
    mkdir -p "build/fuzz/found/$name"
    "$2" -max_total_time="$1" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" \
        "build/fuzz/found/$name" "tests/fuzz/corpus/$name" 2>"build/fuzz/$name.log" || status=1
    say "fuzzer $name, $1 s"
    [[ $status == 0 ]] || tail -n 40 "build/fuzz/$name.log"
    grep '^stat::number_of_executed_units\|^fuzz: ' "build/fuzz/$name.log" || true
    return $status
}

# What the tests reach of include/. Left out is what this processor does not compile (other vectors, CUDA's own) and
# what needs libtorch (host/aten, which preset libtorch tests).
check_coverage() {
    need "${check_packages[@]}" llvm
    need_nvcc || return 1
    build coverage --target cordage_tests cordage_kernel_tests cordage_optimised_tests cordage_conformance || return 1
    local folder=build/coverage
    local tests=$folder/tests/cordage_tests kernels=$folder/tests/cordage_kernel_tests optimised=$folder/tests/cordage_optimised_tests
    local golden=$folder/tests/conformance/cordage_conformance
    LLVM_PROFILE_FILE=$folder/tests.profraw "$tests" --minimal || return 1
    LLVM_PROFILE_FILE=$folder/kernels.profraw "$kernels" --minimal || return 1
    LLVM_PROFILE_FILE=$folder/optimised.profraw "$optimised" --minimal || return 1
    LLVM_PROFILE_FILE=$folder/golden.profraw "$golden" tests/golden >"$folder/golden.log" || return 1
    llvm-profdata merge "$folder"/{tests,kernels,optimised,golden}.profraw -o "$folder/tests.profdata" || return 1
    llvm-cov export --format=lcov --instr-profile="$folder/tests.profdata" "$tests" --object "$kernels" --object "$optimised" --object "$golden" include \
        >"$folder/tests.lcov" || return 1
    awk -v least=95 -f tests/coverage/report.awk "$folder/tests.lcov"
}

check_mutants() {
    need "${build_packages[@]}" python3
    need_nvcc || return 1
    say "putting faults into include/, for about an hour on two cores"
    python3 tests/mutants/check.py
}

# The tests of tests/package/ once more, with Conan's among them, and the wheel; all from the archive of a release.
check_package() {
    need "${wheels_packages[@]}"
    local venv=build/package/venv wheels=$PWD/build/package/wheels archive url hash
    make_venv "$venv" tests/package/requirements.txt || return 1
    make_venv "$wheels/venv" examples/python_package/requirements.txt || return 1
    (
        PATH=$PWD/$venv/bin:$PATH
        cmake --fresh -S tests/package -B build/package/tests -G Ninja -D CMAKE_CXX_COMPILER=g++ &&
            ctest --test-dir build/package/tests --output-on-failure --no-tests=error
    ) || return 1
    archive=$(echo "$PWD"/build/package/tests/archive/cordage-*.tar.gz)
    url=$(python3 -c 'import pathlib, sys; print(pathlib.Path(sys.argv[1]).as_uri())' "$archive")
    hash=$(sha256sum <"$archive")  # or pip would take the wheel that it keeps of an older archive of this name
    wheel_of_cordage "$wheels" "cordage @ $url#subdirectory=examples/python_package&sha256=${hash%% *}" || return 1
    echo "$archive"
}

check_docs() { run_docs && [[ ${#redrawn[@]} -eq 0 ]]; }

check_preset() { build "$1" && run_tests "$1"; }
