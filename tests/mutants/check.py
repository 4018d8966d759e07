#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests notice faults? Runs them with one deliberate fault at a time in include/, and prints "N of N mutants
killed". The faults lie beside this file, *.txt:

    core/bits.hpp | core/bits core/view      a header, and the tests/*_test.cpp of which one should fail
    - half > 0                               an expression, or statements ending in ';', that occurs once in the header
    + half > 1                               what stands there instead ("+" alone: nothing, for statements)
    = smallest_chunk = 32                    any text: of a constant, or where the above does not compile
    + smallest_chunk = 64

Faults of the first kind are compiled together and the environment chooses one, so that a test is compiled once for all
of them; those of the second kind are compiled each by itself. What the compiler refuses is an error, no kill. Tests of
CUDA kernels need nvcc on PATH: they run the kernels that it compiles, faults and all, in the interpreter of tests/ptx/."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

folder = pathlib.Path(__file__).resolve().parent
root = folder.parent.parent
headers = root / "include" / "cordage"
build = root / "build" / "mutants"
# Not for this machine's processor, so that the same code is tested everywhere.
architecture = {"x86_64": ["-march=x86-64-v3"]}.get(os.uname().machine, [])
compiler = ["g++", "-std=c++20", "-O0", "-w", *architecture, f"-I{root}/tests", "-isystem", "/usr/include/eigen3",
            f'-DCORDAGE_GOLDEN_DIR="{root}/tests/golden"', "-include", build / "chosen.hpp"]
nvcc = ["nvcc", "-std=c++20", "-arch=compute_90", "-ptx", "-w", "-DCORDAGE_TEST_MAKES_PTX", "-DCORDAGE_NO_SIMD",
        "-DEIGEN_NO_CUDA", f"-I{root}/tests", "-isystem", "/usr/include/eigen3", "-include", build / "chosen.hpp"]
# In the code of kernels a variable chooses, which the interpreter sets.
chosen = """#include <cstdlib>
#include <type_traits>
inline const int chosen_mutant = std::atoi(std::getenv("CORDAGE_MUTANT"));
#if defined(__CUDACC__)
__device__ int chosen_mutant_on_device;
#endif
#if defined(__CUDA_ARCH__)
#define IS_CHOSEN(number) (!__builtin_is_constant_evaluated() && chosen_mutant_on_device == number)
#else
#define IS_CHOSEN(number) (!std::is_constant_evaluated() && chosen_mutant == number)
#endif
"""


class mutant(NamedTuple):
    place: str  # in the list
    header: str
    tests: list
    is_alone: bool
    old: str
    new: str


def read_list(path):
    header, tests, old = None, [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place, text = f"{path.name}:{number}", line[2:].strip()
        if not line.strip() or line.startswith("#"):
            continue
        if old is None and header and line[:2] in ("- ", "= "):
            old, is_alone, place_of_old = text, line[0] == "=", place
        elif old is None and " | " in line:
            header, tests = line.split(" | ")[0].strip(), line.split(" | ")[1].split()
        elif old is not None and line[:2] in ("+", "+ "):
            yield mutant(place_of_old, header, tests, is_alone, old, text)
            old = None
        else:
            sys.exit(f"{place}: must be 'header | tests', '- old', '= old' or '+ new'")


def choice(number, one):
    if one.old.endswith(";"):
        return f"if (IS_CHOSEN({number})) {{ {one.new} }} else {{ {one.old} }}"
    return f"(IS_CHOSEN({number}) ? ({one.new}) : ({one.old}))"


def has_two_parts(expression):
    """Whether a comma stands outside of all brackets."""
    inner = 1
    while inner:
        expression, inner = re.subn(r"\([^()]*\)|<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]", "", expression)
    return "," in expression


def put_faults(header, mutants):
    """Writes the header with all faults that are chosen at run time, and beside it copies with one of the others each."""
    text, end, together = (headers / header).read_text(), 0, ""
    for begin, number, one in sorted((text.find(one.old), number, one) for number, one in mutants):
        if text.count(one.old) != 1 or begin < end and not one.is_alone:
            sys.exit(f"{one.place}: must occur once in {header}, apart from other mutants: {one.old}")
        if one.is_alone:
            write(build / str(number) / "cordage" / header, text.replace(one.old, one.new))
        else:
            if re.match(r"\w", one.old) and re.search(r"(\w|\.|->|::)$", text[:begin]):
                sys.exit(f"{one.place}: must not begin within a name: {one.old}")
            if not one.new and not one.old.endswith(";"):
                sys.exit(f"{one.place}: must be statements that end in ';', or marked '=', where nothing stands instead")
            if one.old.endswith(";") and re.search(r"[=(,+*/-]\s*$", text[:begin]):
                sys.exit(f"{one.place}: must be whole statements, or an expression without ';': {one.old}")
            if not one.old.endswith(";") and has_two_parts(one.old):
                sys.exit(f"{one.place}: must be one expression, or marked '=': {one.old}")
            together += text[end:begin] + choice(number, one)
            end = begin + len(one.old)
    write(build / "include" / "cordage" / header, together + text[end:])


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def runs_kernels(test):
    text = (root / "tests" / f"{test}_test.cpp").read_text()
    return "cuda/test_device.hpp" in text or "cuda/device_backend.hpp" in text


def compiled(test, number=0):
    """The test's program and what the compiler says: with the one fault alone, or with those that are chosen."""
    program = build / (test.replace("/", "-") + (f"-{number}" if number else ""))
    source, includes = root / "tests" / f"{test}_test.cpp", [f"-I{build}/{number}", f"-I{build}/include"]
    steps, others = [], [build / f"{name}.o" for name in ("main", "allocations")]
    if runs_kernels(test):
        steps.append([*nvcc, *includes, "-x", "cu", source, "-o", f"{program}.ptx"])
        others += [root / "tests/backend/cuda/interpreted_device.cpp", f'-DCORDAGE_TEST_PTX="{program}.ptx"',
                   *(build / f"{path.stem}.o" for path in kernel_runners())]
    steps.append([*compiler, *includes, source, *others, "-o", program])
    for step in steps:
        made = subprocess.run(step, capture_output=True, text=True)
        if made.returncode != 0:
            return program, f"{test} {number or ''}: must compile:\n{(made.stderr or made.stdout)[:4000]}"
    return program, ""


def kernel_runners():
    """What a test of kernels is linked with besides its launcher."""
    return [root / "tests/known_blocks.cpp", *(p for p in sorted((root / "tests/ptx").glob("*.cpp")) if "_test" not in p.name)]


def syntax_errors(mutants):
    """What the compiler says to the headers that have faults, with those that are compiled together. Kernels are not read,
    nor what needs libtorch."""
    changed = sorted({one.header for _, one in mutants if one.header.endswith(".hpp") and "host/aten/" not in one.header})
    includes = "".join(f'#include "cordage/{header}"\n' for header in changed)
    return subprocess.run([*compiler, "-fsyntax-only", f"-I{build}/include", "-x", "c++", "-"], input=includes,
                          capture_output=True, text=True).stderr


def build_shared(path):
    # The interpreter is no part of what is tested, and must be quick.
    optimised = ["-O2", "-ffp-contract=off"] if path.parent.name == "ptx" else []
    subprocess.run([*compiler, *optimised, "-c", path, "-o", build / f"{path.stem}.o"], check=True)


def passes(program, number, seconds):
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    try:
        ran = subprocess.run([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds,
                             preexec_fn=limit, env={**os.environ, "CORDAGE_MUTANT": str(number)})
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


def prepare(test):
    """The program of the test with all faults, the seconds that it may take with one, and why there is none."""
    program, why = compiled(test)
    begin = time.monotonic()
    why = why or ("" if passes(program, 0, 120) else f"{test}: must pass without a fault")
    return test, program, 10 + 10 * (time.monotonic() - begin), why


def verdict(number, one, programs):
    for test in one.tests:
        if test not in programs:
            return f"ERROR, {test} says nothing"
        program, seconds = programs[test]
        if one.is_alone:
            program, why = compiled(test, number)
            if why:
                return f"ERROR, {why}"
        if not passes(program, number, seconds):
            return f"killed by {test}"
    return f"SURVIVED {' '.join(one.tests)}\n    - {one.old}\n    + {one.new}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="a regular expression: faults that concern a test of such a name")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("--place", action="store_true",
                           help="only check that each fault has its one place in its header, and that the headers compile")
    given = arguments.parse_args()
    listed = (one for path in sorted(folder.glob("*.txt")) for one in read_list(path))
    chosen_ones = (one for one in listed if not given.only or any(re.search(given.only, test) for test in one.tests))
    mutants = list(enumerate(chosen_ones, 1))
    for _, one in mutants:
        for path in (headers / one.header, *(root / "tests" / f"{test}_test.cpp" for test in one.tests)):
            if not path.is_file():
                sys.exit(f"{one.place}: no file {path.relative_to(root)}")
    shutil.rmtree(build, ignore_errors=True)  # of other lists, whose numbers were others
    for path in (*headers.rglob("*.hpp"), *headers.rglob("*.cuh")):
        header = str(path.relative_to(headers))
        put_faults(header, [(number, one) for number, one in mutants if one.header == header])
    write(build / "chosen.hpp", chosen)
    if why := syntax_errors(mutants):
        sys.exit(f"the headers must compile with the faults that are compiled together; mark others '=':\n{why[:4000]}")
    if given.place:
        print(f"{len(mutants)} faults, each with one place")
        return 0
    tests = sorted({test for _, one in mutants for test in one.tests})
    shared = [root / "tests" / f"{name}.cpp" for name in ("main", "allocations")]
    if any(runs_kernels(test) for test in tests):
        if shutil.which("nvcc") is None:
            sys.exit("nvcc must be on PATH, for " + ", ".join(test for test in tests if runs_kernels(test)))
        shared += kernel_runners()
    killed = 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(build_shared, shared))
        prepared = list(pool.map(prepare, tests))
        print("\n".join(why for *_, why in prepared if why), flush=True)
        programs = {test: (program, seconds) for test, program, seconds, why in prepared if not why}
        for (_, one), found in zip(mutants, pool.map(lambda each: verdict(*each, programs), mutants)):
            killed += found.startswith("killed")
            print(f"{one.place} {one.header}: {found}", flush=True)
    print(f"{killed} of {len(mutants)} mutants killed")
    return 0 if 0 < killed == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
