# SPDX-License-Identifier: MIT
"""The program in the Compiler Explorer link of docs/install.md is compiled alone; it prints what the same program prints by
today's headers, and what float64 gives.

    python3 linked_program.py REPOSITORY SCRATCH COMPILER
"""
import base64
import json
import math
import pathlib
import re
import subprocess
import sys
import urllib.parse
import zlib

repository, scratch, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
packed = re.search(r"https://godbolt\.org/clientstate/(\S+)", (repository / "docs/install.md").read_text()).group(1)
state = json.loads(zlib.decompress(base64.b64decode(urllib.parse.unquote(packed))))
source = state["sessions"][0]["source"]
assert "#include <cordage" not in source and '#include "' not in source
scratch.mkdir(parents=True, exist_ok=True)
(scratch / "linked.cpp").write_text(source)


def printed(name, file, *flags):
    subprocess.run([compiler, "-std=c++20", "-O2", *flags, file, "-o", scratch / name], check=True)
    return subprocess.run([scratch / name], check=True, capture_output=True, text=True).stdout


linked = printed("linked", scratch / "linked.cpp", "-I", scratch / "nothing")
headers = printed("headers", repository / "cmake/amalgamation/compiler_explorer.cpp", "-I", repository / "include")
print(linked)
assert linked == headers, f"the link is not today's: python3 cmake/amalgamation/compiler_explorer.py\n{headers}"
for pair, cos, sin in re.findall(r"pair (\d+): (\S+) (\S+)", linked):
    angle = 1e6 * 10000.0 ** (-int(pair) / 64)
    assert abs(float(cos) - math.cos(angle)) < 2e-7 and abs(float(sin) - math.sin(angle)) < 2e-7, (pair, cos, sin)
