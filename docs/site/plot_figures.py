#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""plot_figures.py FOLDER: the pictures of README.md, drawn from recorded files, as SVG: precision.svg (tests/golden/angles.json and
tests/tolerances.hpp), speed.svg (docs/performance/amd_zen4.json) and badges.svg (include/cordage/version.hpp and LICENSE)."""
import json
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 560, 300, 56, 40, 250
BLUE, GREEN, RED = "#2a7fb8", "#1b9e77", "#c0392b"


def text(x, y, words, attributes=""):
    words = str(words).replace("&", "&amp;").replace("<", "&lt;")
    return f"<text x='{x:.1f}' y='{y:.1f}'{attributes}>{words}</text>\n"


def line(x0, y0, x1, y1, attributes=" stroke='#dddddd'"):
    return f"<path d='M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}'{attributes}/>\n"


class Chart:
    def __init__(self, title, right, x_title, y_title=""):
        self.right = right
        self.body = text(LEFT - 44, 20, title, " font-weight='bold'")
        self.body += text((LEFT + right) / 2, BOTTOM + 38, x_title, " text-anchor='middle'")
        self.body += text(LEFT - 44, 36, y_title)

    def axes(self, x_ticks, y_ticks, x_scale=float, y_scale=float):
        """Ticks are (value, words); the first and the last are the ends of the axis."""
        def place(ticks, scale, begin, end):
            first, last = scale(ticks[0][0]), scale(ticks[-1][0])
            return lambda value: begin + (scale(value) - first) / (last - first) * (end - begin)
        self.x = place(x_ticks, x_scale, LEFT, self.right)
        self.y = place(y_ticks, y_scale, BOTTOM, TOP + 4)
        for value, words in x_ticks:
            self.body += line(self.x(value), TOP + 4, self.x(value), BOTTOM)
            self.body += text(self.x(value), BOTTOM + 18, words, " text-anchor='middle'")
        for value, words in y_ticks:
            self.body += line(LEFT, self.y(value), self.right, self.y(value))
            self.body += text(LEFT - 6, self.y(value) + 4, words, " text-anchor='end'")

    def curve(self, points, colour, name):
        """The label stands at the line's end."""
        there = [(self.x(x), self.y(value)) for x, value in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in there)
        self.body += f"<path d='M{path}' fill='none' stroke-width='2' stroke='{colour}'/>\n"
        self.body += text(there[-1][0] + 8, there[-1][1] + 4, name, f" fill='{colour}'")

    def svg(self):
        return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}' "
                f"font-family='sans-serif' font-size='12' fill='#333333'>\n"
                f"<rect width='100%' height='100%' rx='6' fill='#ffffff'/>\n{self.body}</svg>\n")


def precision():
    cases = json.loads((ROOT / "tests/golden/angles.json").read_text())["cases"]
    rows = next(case["rows"] for case in cases if case["kind"] == "hf_float32_error")
    bound = float(re.search(r"cos_sin_float = ([0-9.e-]+)", (ROOT / "tests/tolerances.hpp").read_text()).group(1))
    chart = Chart("Largest error of cos and sin, head of 128 lanes, base 10000", 390, "position")
    chart.axes([(1e3, "10³"), (1e4, "10⁴"), (1e5, "10⁵"), (1e6, "10⁶"), (1e7, "10⁷"), (2147483647, "2³¹−1")],
               [(1e-8, "10⁻⁸"), (1e-6, "10⁻⁶"), (1e-4, "10⁻⁴"), (1e-2, "10⁻²"), (1, "1"), (2.5, "")], math.log, math.log)
    found = [(row["position"], row["max_abs_error_vs_real_theta"]) for row in rows]
    chart.curve(found, RED, "float32 product")
    chart.body += text(chart.right + 8, chart.y(found[-1][1]) + 18, "(transformers)", f" fill='{RED}'")
    chart.curve([(x, bound) for x, _ in found], BLUE, "cordage, fp32 (bound)")
    return chart.svg()


def speed():
    lines = json.loads((ROOT / "docs/performance/amd_zen4.json").read_text())["lines"]
    shapes = [("512×32", "tokens:512/heads:32", "8 MB"), ("4096×32", "tokens:4096/heads:32", "64 MB"),
              ("32768×32", "tokens:32768/heads:32", "512 MB")]
    chart = Chart("Rotation in place, no table: speed of a plain pass over the same bytes = 1", 480, "tokens × heads (size in fp32)")
    chart.axes([(-0.5, ""), (2.5, "")], [(0, "0"), (0.25, "0.25"), (0.5, "0.5"), (0.75, "0.75"), (1, "1")])
    for i, (shape, key, size) in enumerate(shapes):
        for j, (dtype, colour) in enumerate([("fp32", BLUE), ("bf16", GREEN)]):
            share = lines[f"rotate/forward/simd/{dtype}/half_split/ntk_aware/exact/{key}/head_dim:128"]["of_tight_bound"]
            left, top = chart.x(i - 0.36 + 0.37 * j), chart.y(share)
            chart.body += (f"<rect x='{left:.1f}' y='{top:.1f}' width='{chart.x(0.35) - chart.x(0):.1f}' "
                           f"height='{BOTTOM - top:.1f}' fill='{colour}'/>\n")
            chart.body += text(left + 4, top + 15, f"{share:.2f}", " fill='#ffffff'")
            if i == 2:
                chart.body += text(chart.right + 8, TOP + 60 + 18 * j, dtype, f" fill='{colour}'")
        chart.body += text(chart.x(i), BOTTOM + 18, f"{shape} ({size})", " text-anchor='middle'")
    return chart.svg()


def badges():
    numbers = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "include/cordage/version.hpp").read_text())
    licence = (ROOT / "LICENSE").read_text().split()[0]
    x, body = 0.0, ""
    for name, value, colour in [("version", ".".join(numbers), BLUE), ("language", "C++20", BLUE), ("form", "header-only", BLUE),
                                ("licence", licence, GREEN)]:
        widths = [16 + 6.6 * len(words) for words in (name, value)]
        body += f"<rect x='{x:.1f}' width='{sum(widths):.1f}' height='20' rx='4' fill='#555555'/>\n"
        body += (f"<path d='M{x + widths[0]:.1f} 0h{widths[1] - 4:.1f}q4 0 4 4v12q0 4 -4 4h-{widths[1] - 4:.1f}z' "
                 f"fill='{colour}'/>\n")
        for begin, width, words in ((x, widths[0], name), (x + widths[0], widths[1], value)):
            body += text(begin + width / 2, 14, words, " text-anchor='middle'")
        x += sum(widths) + 8
    return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{x - 8:.0f}' height='20' viewBox='0 0 {x - 8:.0f} 20' "
            f"font-family='Verdana,DejaVu Sans,sans-serif' font-size='11' fill='#ffffff'>\n{body}</svg>\n")


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (precision, speed, badges):
        (folder / f"{draw.__name__}.svg").write_text(draw(), encoding="utf-8")


main()
