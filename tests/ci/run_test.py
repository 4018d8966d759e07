# SPDX-License-Identifier: MIT
""".ci/run with a ./run that stands for the repository's: it tests a copy of the tree as it is, in a folder of the library's
name below one with a space in its name, and removes it."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

CI_RUN = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "run"
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
        subprocess.run(["git", *arguments], cwd=self.repository, check=True)

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


if __name__ == "__main__":
    unittest.main()
