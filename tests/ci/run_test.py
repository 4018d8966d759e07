# SPDX-License-Identifier: MIT
""".ci/run with a ./run that stands for the repository's: it tests a copy of the tree as it is, in a folder of the library's
name below one with a space in its name, and removes it. And the line that closes the tests, of what ctest prints."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CI_RUN = ROOT / ".ci" / "run"
CLOSING_LINE = ROOT / "tests" / "run" / "closing_line.awk"
RUN = """#!/usr/bin/env bash
{ pwd; git ls-files --cached --others; git status --short; git log --format=%s; } >"$SEEN/$1"
[[ $1 != test ]] || echo "7 passed, $FAILED failed"
[[ $1 == test && $FAILED == 0 || $1 == "$PASSES" ]]
"""


class CiRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.repository, self.seen, self.scratch = (self.root / name for name in ("a clone", "seen", "scratch"))
        for path in (self.repository / ".ci", self.repository / "build", self.seen, self.scratch):
            path.mkdir(parents=True)
        shutil.copy(CI_RUN, self.repository / ".ci" / "run")
        self.write("run", RUN).chmod(0o755)
        self.write(".gitignore", "/build/\n")
        for name in ("kept", "edited", "deleted"):
            self.write(name, "first\n")
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("-c", "user.name=somebody", "-c", "user.email=somebody", "commit", "--quiet", "--message", "the history")
        self.write("edited", "second\n")
        self.write("new file", "")
        self.write("build/left", "")
        (self.repository / "deleted").unlink()

    def write(self, name, text):
        path = self.repository / name
        path.write_text(text)
        return path

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.repository, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})

    def run_ci(self, failed=0, passes="check"):
        environment = {**os.environ, "TMPDIR": str(self.scratch), "SEEN": str(self.seen), "FAILED": str(failed), "PASSES": passes}
        return subprocess.run([self.repository / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False)

    def test_both_run_in_a_copy_of_the_tree_as_it_is(self):
        self.assertEqual(self.run_ci().returncode, 0)
        for command in ("check", "test"):
            place, *seen = (self.seen / command).read_text().splitlines()
            self.assertTrue(place.startswith(str(self.scratch)), place)
            self.assertIn(" ", pathlib.Path(place).parent.name)
            self.assertEqual(pathlib.Path(place).name, "cordage")
            for line in ("kept", "new file", " M edited", " D deleted", '?? "new file"', "the history"):
                self.assertIn(line, seen)
            self.assertNotIn("build/left", seen)

    def test_it_fails_where_either_fails_and_the_closing_line_is_the_tests(self):
        for given, status, line in (({}, 0, "7 passed, 0 failed"), ({"failed": 1}, 1, "7 passed, 1 failed"),
                                    ({"passes": "none"}, 1, "7 passed, 0 failed")):
            ended = self.run_ci(**given)
            self.assertEqual((ended.returncode, ended.stdout.splitlines()[-1]), (status, line))
            self.assertEqual(list(self.scratch.iterdir()), [])


class ClosingLine(unittest.TestCase):
    FIRST = "1/3 Test  #1: one ....   Passed    0.01 sec\n2/3 Test  #2: two ....***Skipped   0.01 sec\n"

    def closing_line_of(self, printed):
        awk = subprocess.run(["awk", "-f", CLOSING_LINE], input=printed, capture_output=True, text=True, check=False)
        return awk.returncode, awk.stdout.splitlines()[-1]

    def test_it_counts_the_tests_of_a_whole_run(self):
        end = "3/3 Test  #3: three ..{}\n\n{} tests passed, {} tests failed out of 2\n"
        self.assertEqual(self.closing_line_of(self.FIRST + end.format("   Passed    0.01 sec", "100%", 0)),
                         (0, "2 passed, 0 failed"))
        self.assertEqual(self.closing_line_of(self.FIRST + end.format("***Failed    0.01 sec", "50%", 1)),
                         (1, "1 passed, 1 failed"))

    def test_a_run_that_did_not_end_has_failed(self):
        self.assertEqual(self.closing_line_of(self.FIRST), (1, "1 passed, 1 failed"))
        self.assertEqual(self.closing_line_of("No tests were found!!!\n"), (1, "0 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
