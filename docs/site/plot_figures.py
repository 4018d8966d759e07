#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""plot_figures.py FOLDER: the pictures of README.md, drawn from recorded files, as SVG: speed_gpu.svg
(docs/performance/gpu_h200.json), speed.svg (docs/performance/peers.json and engines.json), precision.svg (tests/golden/angles.json and tests/tolerances.hpp), real_model.svg (docs/demo/table.csv) and badges.svg
(include/cordage/version.hpp and LICENSE)."""
import csv
import json
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 560, 300, 56, 40, 250
BLUE, GREEN, RED, ORANGE, PURPLE = "#2a7fb8", "#1b9e77", "#c0392b", "#d9822b", "#7b5aa6"


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
        return picture(self.body)


def picture(body):
    return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}' "
            f"font-family='sans-serif' font-size='12' fill='#333333'>\n"
            f"<rect width='100%' height='100%' rx='6' fill='#ffffff'/>\n{body}</svg>\n")


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
    """Times of bfloat16 divided by cordage's, as bars; of ONNX Runtime, measured without bfloat16, those of float16."""
    peers = json.loads((ROOT / "docs/performance/peers.json").read_text())["tables"]["rotation"]
    engines = json.loads((ROOT / "docs/performance/engines.json").read_text())["lines"]
    panels = [("one token", "decode"), ("a prompt of 4096 tokens", "4096×32")]

    def of_peer(name, shape):
        cells = next(row for row in peers["rows"] if row[0] == name)[peers["columns"].index(shape)].split(" / ")
        return float(cells[1 if cells[2] == "–" else 2])

    def of_engine(name, shape):
        times = engines[f"rotation/bf16/half_split/{shape}"]
        return times[name] / times["cordage, no table"]

    rows = [("transformers", of_peer, "transformers, eager"), ("transformers, compiled", of_peer, "transformers, torch.compile"),
            ("torch, complex product", of_peer, "torch, complex product"), ("ONNX Runtime (fp16)", of_peer, "ONNX Runtime, half_split"),
            ("vLLM’s C++ kernel", of_engine, "vLLM"), ("SGLang’s C++ kernel", of_engine, "SGLang"),
            ("cordage, from Python", of_peer, "cordage, called from Python"), ("cordage, from C or C++", None, "")]
    left, width, gap, most = 168, 166, 30, 100.0
    body = text(12, 20, "Time to rotate, bfloat16, a thread of an Intel Xeon; cordage = 1 (logarithmic)", " font-weight='bold'")
    for p, (title, shape) in enumerate(panels):
        x0 = left + p * (width + gap)
        body += text(x0, 44, title)
        place = lambda value: x0 + width * math.log(value / 0.8) / math.log(most / 0.8)
        for tick in (1, 10, 100):
            body += line(place(tick), 52, place(tick), 266)
            body += text(place(tick), 282, tick, " text-anchor='middle'")
        for i, (words, of, name) in enumerate(rows):
            value, y = of(name, shape) if of else 1.0, 58 + 26 * i
            colour = BLUE if words.startswith("cordage") else RED
            body += f"<rect x='{x0:.1f}' y='{y}' width='{place(value) - x0:.1f}' height='18' fill='{colour}'/>\n"
            inside = place(value) - x0 > 130
            body += text(place(value) + (-6 if inside else 6), y + 13, f"{value:.{0 if value >= 9.95 else 1}f}",
                         " text-anchor='end' fill='#ffffff'" if inside else "")
            if p == 0:
                body += text(left - 8, y + 13, words, " text-anchor='end'")
    return picture(body)


def speed_gpu():
    """Times of bfloat16 in half_split divided by cordage's with exact angles; of FlashInfer the faster of its two ways."""
    cases = json.loads((ROOT / "docs/performance/gpu_h200.json").read_text())["peers"]["cases"]
    sizes = {"decode": (1, 8, 64, 256), "prefill": (512, 2048, 4096, 16384)}
    panels = [("rotate", "", [("SGLang", GREEN, ["sglang table"]), ("Liger", ORANGE, ["liger-kernel"]),
                              ("FlashInfer", RED, ["flashinfer", "flashinfer table"]),
                              ("transformers, compiled", PURPLE, ["transformers torch.compile"])]),
              ("RMSNorm, rotate", "norm, ", [("SGLang", GREEN, ["sglang fused"])]),
              ("rotate, store in fp8", "to fp8, ", [("FlashInfer", RED, ["flashinfer fused"])])]
    width, gap, low, high = 150, 24, 0.6, 5.0
    body = text(12, 20, "Time of other packages on an H200, bfloat16, half_split; cordage = 1 (logarithmic)", " font-weight='bold'")
    left = 12
    for name, colour, _ in panels[0][2] + [("cordage", BLUE, [])]:
        body += line(left, 36, left + 16, 36, f" stroke-width='2' stroke='{colour}'")
        body += text(left + 20, 40, name, f" fill='{colour}'")
        left += 34 + 6.6 * len(name)
    y = lambda value: BOTTOM - (BOTTOM - 76) * math.log(value / low) / math.log(high / low)
    for p, (title, prefix, curves) in enumerate(panels):
        x0 = 40 + p * (width + gap)
        x = lambda tokens: x0 + width * math.log(tokens) / math.log(16384)
        body += text(x0, 66, title)
        for tick, anchor in ((1, "start"), (64, "middle"), (16384, "end")):
            body += line(x(tick), 76, x(tick), BOTTOM)
            body += text(x(tick), BOTTOM + 18, tick, f" text-anchor='{anchor}'")
        for tick in (0.7, 1, 2, 4):
            body += line(x0, y(tick), x0 + width, y(tick), f" stroke='{BLUE}' stroke-width='2'" if tick == 1 else " stroke='#dddddd'")
            if p == 0:
                body += text(x0 - 6, y(tick) + 4, tick, " text-anchor='end'")
        for _, colour, ways in curves:
            points = []
            for kind, counts in sizes.items():
                for tokens in counts:
                    times = cases[f"{prefix}{kind} {tokens}"]["bf16"]["microseconds"]
                    ratio = min(times[f"{way}, half_split"] for way in ways) / times["cordage exact, half_split"]
                    points.append(f"{x(tokens):.1f} {y(ratio):.1f}")
            body += f"<path d='M{'L'.join(points)}' fill='none' stroke-width='2' stroke='{colour}'/>\n"
    body += text(WIDTH / 2, BOTTOM + 38, "tokens (32 heads of q, 8 of k, 128 lanes)", " text-anchor='middle'")
    return picture(body)


def real_model():
    with (ROOT / "docs/demo/table.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["measure"] == "document_loss"]
    chart = Chart("SmolLM2-135M along one document, weights untouched", 430, "position in the document, tokens",
                  "perplexity of each 1024 tokens")
    chart.axes([(0, "0"), (4096, "4096"), (8192, "8192, trained length"), (12288, "12288")],
               [(0, "0"), (5, "5"), (10, "10"), (15, "15"), (20, "20")])
    chart.body += line(chart.x(8192), TOP + 4, chart.x(8192), BOTTOM, " stroke='#888888' stroke-dasharray='4 3'")
    for name, colour in [("no scaling", RED), ("YaRN", BLUE)]:
        chart.curve([(int(row["from"]) + 512, math.exp(float(row["mean"]))) for row in rows if row["row"] == name], colour, name)
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
    for draw in (speed_gpu, speed, precision, real_model, badges):
        (folder / f"{draw.__name__}.svg").write_text(draw(), encoding="utf-8")


main()
