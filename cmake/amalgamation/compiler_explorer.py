# SPDX-License-Identifier: MIT
"""Prints a link that opens Compiler Explorer with compiler_explorer.cpp and the register layer in it:

    python3 cmake/amalgamation/compiler_explorer.py

A link holds 8 KB, compressed: the register layer without comments, not the whole of the one file.
"""
import base64
import json
import pathlib
import re
import subprocess
import urllib.parse
import zlib

HERE = pathlib.Path(__file__).resolve().parent


def source() -> str:
    """The program, with the register layer in place of its includes of cordage."""
    layer = subprocess.run([HERE / "one_file.sh", "--registers"], check=True, capture_output=True, text=True).stdout
    program = (HERE / "compiler_explorer.cpp").read_text()
    return layer.replace("#pragma once\n", "") + "\n" + re.sub(r"#include <cordage/.*\n", "", program)


def link() -> str:
    options = "-std=c++20 -O3 -march=x86-64-v3"
    state = {"sessions": [{"id": 1, "language": "c++", "source": source(),
                           "compilers": [{"id": "g141", "options": options}, {"id": "clang1810", "options": options}],
                           "executors": [{"compiler": {"id": "g141", "options": options, "libs": []}}]}]}
    packed = base64.b64encode(zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)).decode()
    return "https://godbolt.org/clientstate/" + urllib.parse.quote(packed, safe="")


if __name__ == "__main__":
    url = link()
    if len(url) > 8000:
        raise SystemExit(f"the link has {len(url)} characters, must have at most 8000")
    print(url)
