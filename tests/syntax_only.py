#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has every unit of a configured build read by its compiler, which makes nothing: finds what one that does not build it
all the time refuses, in a third of the time.

    python3 tests/syntax_only.py FOLDER [LEAVE_OUT [BUILT]]    # exit code 1 and the compiler's words if a unit is refused

FOLDER has a compile_commands.json. Not read are units whose path in the repository matches the regular expression
LEAVE_OUT, and those that the build in the folder BUILT compiles by the same compiler."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

REPOSITORY = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def units_of(folder):
    """The command of each unit of a build, where it is run, and the unit."""
    return [(shlex.split(unit["command"]), unit["directory"], unit["file"])
            for unit in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))]


def files_of(unit, built):
    """The unit, and what it includes if the build has made it of several."""
    yield unit
    if pathlib.Path(unit).is_relative_to(pathlib.Path(built).resolve()) and os.path.exists(unit):
        yield from re.findall(r'^#include "(/.*\.cpp)"$', pathlib.Path(unit).read_text(encoding="utf-8"), re.MULTILINE)


def commands(folder, leave_out, built):
    """The commands that precompile headers, and those of the other units. With fast math a unit reads as without, so it
    is left out if it is read so."""
    compiled = {(words[0], file) for words, _, unit in (units_of(built) if built else []) for file in files_of(unit, built)}
    units = [(words, directory, file) for words, directory, file in units_of(folder)
             if (words[0], file) not in compiled
             and not (leave_out and re.search(leave_out, os.path.relpath(os.path.realpath(file), REPOSITORY)))]
    plain = {file for words, _, file in units if "-ffast-math" not in words}
    headers, others = [], []
    for words, directory, file in units:
        if "-emit-pch" in words:
            headers.append((words, directory))
        elif "-ffast-math" not in words or file not in plain:
            at = words.index("-o")
            others.append(([*words[:at], *words[at + 2:], "-fsyntax-only"], directory))
    return headers, others


def run(command):
    words, directory = command
    return subprocess.run(words, cwd=directory, capture_output=True, text=True)


def main():
    folder, leave_out, built = (*sys.argv[1:4], "", "")[:3]
    headers, others = commands(pathlib.Path(folder), leave_out, built and pathlib.Path(built))
    refused = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [*pool.map(run, headers), *pool.map(run, others)]:
            if done.returncode != 0:
                refused += 1
                print(done.stderr, file=sys.stderr)
    print(f"{len(others)} units read, {refused} refused")
    sys.exit(refused > 0 or not others)


main()
