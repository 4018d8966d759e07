# SPDX-License-Identifier: MIT
"""The record and the report of the benchmarks on a device, from figures that were made up; that the page in docs is the report of its
record; and how times are taken."""
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

CUDA = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "cuda"
DOCS = CUDA.parents[1] / "docs"
sys.path[:0] = [str(CUDA), str(CUDA / "peers")]

import gpu_timing  # noqa: E402
import record  # noqa: E402
import report  # noqa: E402
import unpack  # noqa: E402


def cold(direction, share, tokens=16384, dtype="bf16"):
    return {"name": f"rotate/{direction}/cuda/{dtype}/half_split/exact/tokens:{tokens}/heads:32+8/head_dim:128",
            "seconds": 125e-6, "bytes": 1, "bytes_per_second": 1, "copy_seconds": 1, "share_of_copy": share, "spread": 0}


def node(over, tokens=1, angles="table", seconds=1.5e-6):
    return {"name": f"rotate/forward/cuda/bf16/interleaved/{angles}/graph_node/tokens:{tokens}/heads:32+8/head_dim:128",
            "seconds": seconds, "empty_seconds": seconds - over, "over_empty_seconds": over, "spread": 0}


def bench(*rows):
    return {"device": "some device", "compute_capability": "9.0", "multiprocessors": "132", "l2_bytes": "52428800",
            "memory_bytes": "1", "cuda_of_driver": "13.0", "cuda_of_build": "13.0", "rows": list(rows)}


def precision(error):
    return {"rows": [{"name": "cos_sin/positions_below:2147483648", "largest_error": error}]}


def peers(theirs):
    result = {"times": {"copy": [1e-4], "cordage exact, half_split": [1.1e-4, 1.0e-4], "other, half_split": theirs},
              "errors": {"cordage exact, half_split": 0.0039, "other, half_split": 0.0125},
              "left_out": {"broken, half_split": "ImportError: no module"}}
    return {"packages": {"torch": "2.11"}, "rounds": 2, "cases": {"prefill 16384": {"bf16": result}}}


def outcomes(results):
    """The last column of the table of targets."""
    found = record.record_of(results)
    return [row[-1] for row in report.targets(found.get("bench"), results.get("precisions", {}), found.get("peers"))]


def measured(results):
    return report.measured(record.record_of(results))


class Targets(unittest.TestCase):
    def test_each_is_reached_at_its_limit_and_missed_beyond(self):
        def step(tokens, seconds):
            return node(0.3e-6, tokens=tokens, angles="exact", seconds=seconds)

        def fused(case, seconds, copy=None):
            times = {"cordage exact, half_split": [seconds]} | ({} if copy is None else {"copy": [copy]})
            result = {"times": times, "errors": {}, "left_out": {}}
            return {"packages": {}, "rounds": 1, "cases": {case: {"bf16": result}}}
        for reached, missed in (({"bench": bench(cold("forward", 0.96))}, {"bench": bench(cold("forward_to", 0.959))}),
                                ({"bench": bench(cold("forward", 0.94, 4096))}, {"bench": bench(cold("forward", 0.93, 4096))}),
                                ({"bench": bench(cold("backward", 0.93))}, {"bench": bench(cold("backward", 0.929))}),
                                ({"bench": bench(cold("backward_normalized", 0.88))},
                                 {"bench": bench(cold("backward_normalized", 0.87))}),
                                ({"bench": bench(cold("cache", 0.85, dtype="bf16_to_int8"))},
                                 {"bench": bench(cold("cache", 0.84, dtype="bf16_to_int8"))}),
                                ({"bench": bench(cold("move_paged", 0.92, 65536))},
                                 {"bench": bench(cold("rebase_paged", 0.91, 65536))}),
                                ({"bench": bench(step(1, 1.2e-6))}, {"bench": bench(step(1, 1.21e-6))}),
                                ({"bench": bench(step(256, 2.4e-6))}, {"bench": bench(step(256, 2.41e-6))}),
                                ({"peers": fused("norm, decode 1", 1.8e-6)}, {"peers": fused("norm, decode 1", 1.81e-6)}),
                                ({"peers": fused("to fp8, prefill 16384", 76e-6)}, {"peers": fused("to fp8, prefill 16384", 77e-6)}),
                                ({"peers": fused("norm, prefill 16384", 1e-4, 9e-5)}, {"peers": fused("norm, prefill 16384", 1e-4, 8.9e-5)}),
                                ({"peers": fused("to fp8, prefill 16384", 1e-4, 9.4e-5)},
                                 {"peers": fused("to fp8, prefill 16384", 1e-4, 9.3e-5)}),
                                ({"precisions": {"": precision(2e-7)}}, {"precisions": {"": precision(2.1e-7)}}),
                                ({"peers": peers([1.2e-4, 1.2e-4])}, {"peers": peers([1.0e-4, 1.0e-4])})):
            self.assertEqual(outcomes(reached), ["reached"])
            self.assertEqual(outcomes(missed), ["**missed**"])

    def test_the_slowest_variant_counts_and_no_other_size(self):
        self.assertEqual(outcomes({"bench": bench(cold("forward", 0.97), cold("forward_to", 0.9))}), ["**missed**"])
        self.assertEqual(outcomes({"bench": bench(cold("forward", 0.97), cold("forward", 0.5, tokens=2048))}), ["reached"])

    def test_tables_and_overlapping_launches_have_no_target(self):
        rows = [node(0.4e-6, angles=angles, seconds=9e-6) for angles in ("table", "exact_overlapping")]
        self.assertEqual(outcomes({"bench": bench(*rows)}), [])

    def test_a_decode_step_with_norm_and_store_is_no_step_of_a_rotation(self):
        row = node(0.9e-6, angles="exact")
        row["name"] = row["name"].replace("rotate/forward/cuda/bf16", "rotate/cache/cuda/bf16_to_int8")
        self.assertEqual(outcomes({"bench": bench(node(0.2e-6, angles="exact", seconds=1.1e-6), row)}), ["reached"])
        cold_row = cold("cache", 0.7, dtype="bf16_to_int8")
        for part in ("bf16_to_int8 half_split", "| 0.700, 125 |", "1.500 (+0.900)"):
            self.assertIn(part, measured({"bench": bench(cold_row, row)}))

    def test_nothing_measured_is_no_target_reached(self):
        self.assertEqual(outcomes({}), [])


class Report(unittest.TestCase):
    def test_figures_of_each_part_are_in_it(self):
        text = measured({"bench": bench(cold("forward", 0.934), node(0.25e-6)), "precision": precision(7.4e-8),
                                "precision_fast_math": precision(7.5e-8), "peers": peers([2.2e-4, 2.0e-4]),
                                "tests": {"the kernels' tests": "17 passed, 0 failed"}, "machine": ["driver 580"]})
        for part in ("some device", "50 MiB of L2", "driver 580", "| 0.934, 125 |", "1.500 (+0.250)", "7.4e-08", "7.5e-08",
                     "17 passed, 0 failed", "210 (2.00)", "1.3e-02", "broken, half_split (1 of the cases, as "
                     "prefill 16384 bf16): ImportError: no module", "torch 2.11", "Of 1 comparisons", "slowest in 0",
                     "fastest in 1"):
            self.assertIn(part, text)
        self.assertLess(text.index("### Beside other packages"), text.index("### Targets"))
        self.assertIn("slowest in 1", measured({"peers": peers([1.0e-4, 1.0e-4])}))

    def test_a_note_and_calls_from_torch_are_in_it_where_a_record_has_them(self):
        calls = {f"{name} {key}": 36.26 for name in ("cordage", "compiled", "liger", "eager")
                 for key in ("forward host us", "forward+backward ms")}
        text = report.measured({"note": ["Of other kernels."], "torch": {"rotate 512": calls}})
        self.assertLess(text.index("Of other kernels."), text.index("| Liger | 36.3 |"))

    def test_what_stands_outside_of_the_marks_stays(self):
        page = f"before\n{report.BEGIN.format('gpu_old')}\nold\n{report.END}\nafter\n"
        found = report.replaced(page, "new\n", "gpu_new")
        self.assertEqual(found, f"before\n{report.BEGIN.format('gpu_new')}\nnew\n{report.END}\nafter\n")
        self.assertEqual(report.replaced(found, "new", "gpu_new"), found)
        with self.assertRaisesRegex(ValueError, "must have <!-- measured, from RECORD: begin -->"):
            report.replaced("a page", "new", "gpu_new")

    def test_the_page_in_docs_is_the_report_of_its_record(self):
        page = (DOCS / "performance_gpu.md").read_text()
        name = re.search(report.BEGIN.format(r"(\w+)"), page).group(1)
        kept = json.loads((DOCS / "performance" / f"{name}.json").read_text())
        self.assertEqual(report.replaced(page, report.measured(kept), name), page,
                         f"python3 benchmarks/cuda/report.py --record docs/performance/{name}.json --page docs/performance_gpu.md")


class Record(unittest.TestCase):
    def test_its_times_are_medians_in_microseconds_with_four_digits(self):
        found = record.record_of({"peers": peers([3e-6, 1.23456e-6, 1e-6]), "bench": bench(cold("forward", 0.93456), node(0.25e-6))})
        self.assertEqual(found["peers"]["cases"]["prefill 16384"]["bf16"]["microseconds"]["other, half_split"], 1.235)
        self.assertEqual([{key: row[key] for key in row if key != "name"} for row in found["bench"]["rows"]],
                         [{"microseconds": 125.0, "share_of_copy": 0.9346}, {"microseconds": 1.5, "over_empty_microseconds": 0.25}])

    def test_it_is_named_after_the_device(self):
        for device, name in (("NVIDIA H200", "gpu_h200"), ("NVIDIA GeForce RTX 4090", "gpu_geforce_rtx_4090")):
            self.assertEqual(record.name_of({"peers": {"device": device}}), name)

    def test_without_results_one_line_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, CUDA / "record.py", "--results", folder, "--records", folder],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr.count("\n"), 1)
        self.assertIn("has no results", run.stderr)


class FakeTensor:
    def __init__(self, number):
        self.number = number

    def clone(self):
        return FakeTensor(self.number)

    def copy_(self, other):
        self.number = other.number


class FakeCase:
    """A "rotation" is right if it doubles the number of the set."""

    def __init__(self):
        self.sets = [type("FakeSet", (), {"flat": FakeTensor(1.0)})()]

    def fill(self):
        self.sets[0].flat.number = 1.0

    def error(self, _, rotated):
        return abs(rotated[0].number - 2.0 * self.sets[0].flat.number)


class FakeGraph:
    def __init__(self, _, rotate):
        if rotate.factor != 2.0:
            raise RuntimeError("it cannot be captured")

    def seconds(self):
        return 5e-6


class FakeRotation:
    def __init__(self, factor):
        self.factor, self.closed = factor, False

    def __call__(self, tensors):
        tensors.flat.number *= self.factor
        return [tensors.flat]

    def close(self):
        self.closed = True


class Timing(unittest.TestCase):
    def compare(self, *makers):
        return gpu_timing.compare_on(FakeCase(), makers, FakeGraph, largest_error=0.5, rounds=3)

    def test_a_right_rotation_is_timed_each_round_and_closed(self):
        rotation = FakeRotation(2.0)
        found = self.compare(("right", 0, lambda case: rotation))
        self.assertEqual(found, {"times": {"right": [5e-6] * 3}, "errors": {"right": 0.0}, "left_out": {}})
        self.assertTrue(rotation.closed)

    def test_a_wrong_one_is_not_timed(self):
        found = self.compare(("wrong", 0, lambda case: FakeRotation(3.0)), ("right", 0, lambda case: FakeRotation(2.0)))
        self.assertEqual(list(found["times"]), ["right"])
        self.assertEqual(found["left_out"], {"wrong": "ArithmeticError: it rotates wrongly: error 1.0e+00"})

    def test_what_a_package_throws_is_its_reason(self):
        def refuses(_):
            raise ImportError("no such\nmodule")

        found = self.compare(("absent", 0, refuses), ("untimed", 0, lambda case: FakeRotation(2.25)))
        self.assertEqual(found["left_out"], {"absent": "ImportError: no such module", "untimed": "RuntimeError: it cannot be captured"})
        self.assertEqual((found["times"], found["errors"]), ({}, {}))

    def test_a_case_that_ends_the_process_is_not_begun_again(self):
        cases, saved = {}, []

        def save():
            saved.append(json.dumps(cases))

        def compare(result):
            gpu_timing.compare_once(cases, "decode 1", "bf16", result, save)

        def breaks():
            raise RuntimeError("illegal address")

        self.assertRaises(RuntimeError, compare, breaks)
        began, ended = ({"decode 1": {"bf16": {"times": {}, "errors": {}, "left_out": {"the whole case": reason}}}}
                        for reason in ("the process ended in it", "RuntimeError: illegal address"))
        self.assertEqual([json.loads(text) for text in saved], [began, ended])
        for cases in json.loads(saved[0]), ended:
            compare(lambda: self.fail("it is there"))
            self.assertIn("the whole case (1 of the cases, as decode 1 bf16)",
                          measured({"peers": peers([1e-4]) | {"cases": cases}}))
        cases = {}
        self.assertRaises(SystemExit, compare, lambda: sys.exit("out of time"))
        self.assertEqual(json.loads(saved[-1]), {"decode 1": {}})
        compare(lambda: {"times": {"copy": [1e-6]}})
        self.assertEqual(json.loads(saved[-1])["decode 1"]["bf16"], {"times": {"copy": [1e-6]}})

    def test_a_reason_names_no_folder_of_the_machine(self):
        self.assertEqual(gpu_timing.one_line(OSError("/home/me/lib/lib x.so: see http://a.b/c/d or '/tmp/x/y.py'")),
                         "OSError: lib x.so: see http://a.b/c/d or 'y.py'")

    def test_every_graph_runs_once_a_round_in_changing_order(self):
        order = []
        graphs = {name: type("Graph", (), {"seconds": lambda self, name=name: order.append(name) or 1.0})()
                  for name in "abc"}
        self.assertEqual(gpu_timing.interleaved(graphs, 8), {name: [1.0] * 8 for name in "abc"})
        rounds = ["".join(order[i:i + 3]) for i in range(0, 24, 3)]
        self.assertTrue(all(sorted(each) == ["a", "b", "c"] for each in rounds))
        self.assertGreater(len(set(rounds)), 1)


class Unpacking(unittest.TestCase):
    def test_of_a_wheel_and_of_an_sdist_come_the_files_that_were_asked_for(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            wheel, sdist = folder / "some_thing-1.2-py3-none-any.whl", folder / "other-3.4.tar.gz"
            with zipfile.ZipFile(wheel, "w") as archive:
                for path in ("p/wanted.py", "p/more/a.h", "p/more/b/c.h", "p/moreover.h"):
                    archive.writestr(path, path)
            (folder / "wanted.py").write_text("text")
            with tarfile.open(sdist, "w:gz") as archive:
                archive.add(folder / "wanted.py", "other-3.4/q/wanted.py")
            out, versions = folder / "out", folder / "versions.json"
            for archive, wanted in ((wheel, ["p/wanted.py", "p/more"]), (sdist, ["q"])):
                subprocess.run([sys.executable, CUDA / "peers" / "unpack.py", archive, out, "--versions", versions, *wanted],
                               check=True)
            found = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
            self.assertEqual(found, ["p/more/a.h", "p/more/b/c.h", "p/wanted.py", "q/wanted.py"])
            self.assertEqual((out / "q/wanted.py").read_text(), "text")
            self.assertEqual(json.loads(versions.read_text()), {"some-thing": "1.2", "other": "3.4"})

    def test_nothing_is_written_outside_of_the_folder(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            with zipfile.ZipFile(folder / "evil-1-py3.whl", "w") as archive:
                archive.writestr("p/../../evil.txt", "x")
            with self.assertRaisesRegex(ValueError, "leaves the folder"):
                unpack.unpack(folder / "evil-1-py3.whl", folder / "out", ["p"])


if __name__ == "__main__":
    unittest.main()
