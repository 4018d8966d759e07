#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has every unit of a configured build read by its compiler, which makes nothing: finds what one that does not build it
all the time refuses, in a third of the time.

    python3 tests/syntax_only.py FOLDER [LEAVE_OUT]    # exit code 1 and the compiler's words if a unit is refused

FOLDER has a compile_commands.json; units whose path matches the regular expression LEAVE_OUT are not read."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys


def commands(folder, leave_out):
    """Each command once: with fast math a unit reads as without."""
    found = {}
    for unit in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
        if leave_out and re.search(leave_out, unit["file"]):
            continue
        words = shlex.split(unit["command"])
        at = words.index("-o")
        words = [word for word in words[:at] + words[at + 2:] if word not in ("-c", "-ffast-math")]
        found[tuple(words)] = unit["directory"]
    return found


def read(command):
    words, directory = command
    return subprocess.run([*words, "-fsyntax-only"], cwd=directory, capture_output=True, text=True)


def main():
    found = commands(pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
    refused = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(read, found.items()):
            if done.returncode != 0:
                refused += 1
                print(done.stderr, file=sys.stderr)
    print(f"{len(found)} units read, {refused} refused")
    sys.exit(refused > 0 or not found)


main()
