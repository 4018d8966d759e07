# SPDX-License-Identifier: MIT
"""benchmarks/cuda/run.sh with programs that stand for a device's, in a copy of what it reads of the repository."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

CUDA = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "cuda"
BENCH = {"device": "some device", "compute_capability": "9.0", "multiprocessors": "1", "l2_bytes": "1048576",
         "cuda_of_driver": "13.0", "cuda_of_build": "13.0", "rows": []}
PROGRAMS = {
    "path/nvidia-smi": "echo 580.1",
    # Takes a command as too long, or as one that ignores SIGTERM, instead of waiting for it.
    "path/timeout": '[[ $1 == -k ]] || exit 9\nshift 3\n[[ $* != *$TOO_LONG* ]] || exit 124\n[[ $* != *$DEAF* ]] || exit 137\n"$@"',
    "path/compute-sanitizer": 'cp "$CORDAGE_GPU_BUILD/results/tests.json" "$CORDAGE_GPU_BUILD/before_$2.json"\n'
                              'echo "========= ERROR SUMMARY: 0 errors"\nexit $TESTS_END',
    "path/python": '[[ $1 == -c ]]',  # has torch; compare.py fails
    "bin/cordage_gpu_tests": 'echo "[doctest] test cases: 3 | 2 passed | 1 failed | 0 skipped"\nexit $TESTS_END',
    "bin/cordage_gpu_launch": "exit 0",
    "bin/cordage_gpu_precision": "exit 0",
    "bin/cordage_gpu_precision_fast_math": "exit 0",
    "bin/cordage_gpu_bench": f"echo '{json.dumps(BENCH)}' >\"$2\"",
}


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        here = self.root / "benchmarks" / "cuda"
        here.mkdir(parents=True)
        for name in ("run.sh", "record.py", "report.py"):
            shutil.copy(CUDA / name, here)
        self.page = self.root / "docs" / "performance_gpu.md"
        (self.page.parent / "performance").mkdir(parents=True)
        self.page.write_text("<!-- measured, from gpu_other: begin -->\n<!-- measured: end -->\n")
        self.out = self.root / "gpu"
        for name, text in PROGRAMS.items():
            program = (self.root if name.startswith("path/") else self.out) / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f"#!/usr/bin/env bash\n{text}\n")
            program.chmod(0o755)

    def run_phases(self, *phases, tests_end=0, too_long="nothing", deaf="nothing"):
        environment = {**os.environ, "PATH": f"{self.root / 'path'}:{os.environ['PATH']}", "CORDAGE_GPU_BUILD": str(self.out),
                       "TESTS_END": str(tests_end), "TOO_LONG": too_long, "DEAF": deaf}
        return subprocess.run([self.root / "benchmarks" / "cuda" / "run.sh", *phases, "--python", self.root / "path" / "python"],
                              env=environment, capture_output=True, text=True, check=False)

    def outcomes(self, file="results/tests.json"):
        return json.loads((self.out / file).read_text())

    def test_what_fails_on_the_device_is_reported_and_later_phases_run(self):
        ended = self.run_phases("tests", "bench", "peers", "report", tests_end=1)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("run.sh: failed: tests peers\n", ended.stderr)
        self.assertIn("| the kernels' tests | 2 passed, 1 failed |", self.page.read_text())
        self.assertIn("some device", self.page.read_text())
        self.assertIn("<!-- measured, from gpu_some_device: begin -->", self.page.read_text())
        kept = json.loads((self.page.parent / "performance" / "gpu_some_device.json").read_text())
        self.assertEqual(kept["tests"], self.outcomes())

    def test_a_phase_ends_at_its_first_error(self):
        (self.out / "bin" / "cordage_gpu_bench").unlink()
        ended = self.run_phases("bench", "tests")
        self.assertEqual(ended.returncode, 1)
        self.assertNotIn("precision", ended.stdout)
        self.assertIn("run.sh: failed: bench\n", ended.stderr)
        self.assertEqual(self.outcomes()["a launch, plain and in a graph"], "passed")

    def test_status_is_0_if_nothing_fails(self):
        self.assertEqual(self.run_phases("tests", "bench", "report").returncode, 0)

    def test_what_does_not_end_is_ended_and_named(self):
        for stop in ({"too_long": "gpu_launch"}, {"deaf": "gpu_launch"}):
            self.assertEqual(self.run_phases("tests", **stop).returncode, 1)
            self.assertEqual(self.outcomes()["a launch, plain and in a graph"], "ended early, within 60 seconds")
        for stop in ({"too_long": "bin/cordage_gpu_tests"}, {"deaf": "bin/cordage_gpu_tests"}):
            self.assertEqual(self.run_phases("tests", **stop).returncode, 1)
            self.assertEqual(self.outcomes()["the kernels' tests"], "ended early, within 300 seconds")
        for stop in ({"too_long": "racecheck"}, {"deaf": "racecheck"}):
            self.assertEqual(self.run_phases("tests", **stop).returncode, 0)  # the tests take longer under it
            self.assertEqual(self.outcomes()["compute-sanitizer racecheck"], "no errors, but ended early, within 150 seconds")

    def test_a_test_that_fails_is_no_error_of_memory(self):
        self.run_phases("tests", tests_end=1)
        self.assertEqual(self.outcomes()["compute-sanitizer memcheck"], "no errors")

    def test_each_result_is_written_before_the_next_test_begins(self):
        self.run_phases("tests")
        self.assertEqual(list(self.outcomes("before_memcheck.json")), ["the kernels' tests", "a launch, plain and in a graph"])
        self.assertEqual(self.outcomes("before_racecheck.json")["compute-sanitizer memcheck"], "no errors")


if __name__ == "__main__":
    unittest.main()
