# SPDX-License-Identifier: MIT
"""Compiles and runs the lines of docs/errors.md and compares what is printed with the page.

page.py HEADERS PAGE COMPILER [FLAGS...], where HEADERS.gch is HEADERS compiled with the same flags."""
import os
import re
import subprocess
import sys
import tempfile

NAMES = """
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>
using namespace cordage;
[[maybe_unused]] static const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
[[maybe_unused]] static const basis b = make_basis(model, unscaled{}, 1.0), wide_basis(std::vector<double>(64, 1.0));
[[maybe_unused]] static const std::vector<int> ids{0, 1};
[[maybe_unused]] static const std::vector<std::uint32_t> natural_ids{0, 1};
[[maybe_unused]] static const exact_angles angles(b, ids);
static std::vector<float> x(256), y(256), z(1024);
[[maybe_unused]] static std::vector<std::uint16_t> halves(256);
[[maybe_unused]] static const auto q = token_major(x.data(), {.tokens = 2, .heads = 2, .head_dim = 64});
[[maybe_unused]] static const auto k = token_major(y.data(), {.tokens = 2, .heads = 1, .head_dim = 64});
[[maybe_unused]] static const auto cache = token_major(z.data(), {.batch = 4, .tokens = 4, .heads = 1, .head_dim = 64});
"""


def tables(page):
    """The rows of each table, without the backquotes of code."""
    found, rows = [], None
    for line in open(page, encoding="utf-8"):
        if not line.startswith("|"):
            rows = None
        elif rows is None:
            rows = []
            found.append(rows)
        else:
            rows.append([cell.strip().strip("`") for cell in line.strip()[1:-1].split(" | ")])
    return [rows[1:] for rows in found]  # without the line of dashes


def first_errors(output):
    """The first error of each file line_N that the compiler names."""
    number, found = None, {}
    for line in output.splitlines():
        if place := re.match(r"line_(\d+):", line):
            number = int(place[1])
        if "error: " in line:
            found.setdefault(number, line)
    return found


def main():
    headers, page, *compile_command = sys.argv[1:]
    compile_command += ["-std=c++20", "-include", headers]
    environment = dict(os.environ, LC_ALL="C")  # plain quotes in messages
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "page.cpp"), os.path.join(folder, "page")

        def run(text, *flags):
            with open(source, "w", encoding="utf-8") as file:
                file.write(text.replace("NAMES", NAMES))
            return subprocess.run([*compile_command, *flags, source], capture_output=True, text=True, env=environment)

        when_compiling, when_running, _ = tables(page)  # the last one is Python's
        line = '#line 1 "line_{}"\nvoid line_{}() {{ {} }}\n'.format
        # Together; then those whose error the compiler has said of another line, or said otherwise, alone.
        together = run("NAMES\n" + "".join(line(i, i, row[0]) for i, row in enumerate(when_compiling)), "-fsyntax-only")
        said = first_errors(together.stderr)
        for i, (written, message, _) in enumerate(when_compiling):
            first = said.get(i, "")
            if message not in first:
                alone = first_errors(run("NAMES\n" + line(i, i, written), "-fsyntax-only").stderr)
                first = next(iter(alone.values()), "no error")
            if message not in first:
                failures.append(f"{written}\n  the page says: {message}\n  the compiler:  {first}")
        right = "".join(f"void line_{i}() {{ {row[2]} }}\n" for i, row in enumerate(when_compiling))
        result = run("NAMES\n" + right, "-fsyntax-only")
        if result.returncode != 0:
            failures.append(f"what the page says to write must compile:\n{result.stderr}")

        calls = "".join(
            f"    try {{ {written} std::puts(\"no error\"); }} catch (const error& e) {{ std::puts(e.what()); }}\n"
            for written, _ in when_running)
        config = '#include "cordage/models/config/read.hpp"'
        result = run(f"{config}\nNAMES\nint main() {{\n{calls}}}\n", "-O0", "-o", program)
        if result.returncode != 0:
            sys.exit(f"the lines for the time of running must compile:\n{result.stderr}")
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
        for (written, message), found in zip(when_running, printed, strict=True):
            if found != message:
                failures.append(f"{written}\n  the page says: {message}\n  it prints:     {found}")
    print(f"{page}: {len(when_compiling)} lines compiled, {len(when_running)} run")
    sys.exit("\n".join(failures) or 0)


main()
