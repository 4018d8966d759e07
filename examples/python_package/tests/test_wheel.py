# SPDX-License-Identifier: MIT
"""The wheel in an empty environment, where the program of docs/python.md runs; CORDAGE_WHEEL names it."""
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[3] / "docs/python.md").read_text()
WHEEL = os.environ.get("CORDAGE_WHEEL")
needs_wheel = pytest.mark.skipif(WHEEL is None, reason="CORDAGE_WHEEL names no wheel")


def run_page(python, folder):
    program = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    done = subprocess.run([python, "-c", program], cwd=folder, capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/bin:/bin", "MPLBACKEND": "agg", "MPLCONFIGDIR": str(folder)})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == re.search(r"It prints `(q .*?)`", PAGE).group(1)
    assert lines[1] == "dL/dinv_freq (1, 32), dL/dposition (2,)"
    assert float(lines[2].split()[-1]) < 1e-6
    assert lines[3] == "['0.000133', '6.67e-05', '3.33e-05']"
    assert lines[-1] == "rotate: angles [1, 2] must be [1 or batch, tokens] of [1, 3, 4, 64], a position for each token"
    return lines


@needs_wheel
def test_page_runs_where_only_the_wheel_is(tmp_path):
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty/bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-input", WHEEL], check=True)
    assert "matplotlib is not there" in run_page(python, tmp_path)
    subprocess.run([tmp_path / "empty/bin/cordage_inspect", tmp_path / "config.json"], check=True)


def test_page_runs_with_matplotlib(tmp_path):
    pytest.importorskip("matplotlib")
    assert "matplotlib is not there" not in run_page(sys.executable, tmp_path)
    assert {file.name for file in tmp_path.glob("*.svg")} == {"wavelengths.svg", "factors.svg"}


@needs_wheel
def test_wheel_is_for_every_python_and_needs_the_c_library_alone(tmp_path):
    assert re.search(r"-py3-none-manylinux_2_\d+_\w+\.whl$", WHEEL), WHEEL
    zipfile.ZipFile(WHEEL).extractall(tmp_path)
    assert (tmp_path / "cordage/py.typed").exists() and "MIT" in (tmp_path / "cordage/_lib/LICENSE").read_text()
    newest = tuple(int(n) for n in re.search(r"manylinux_(\d+)_(\d+)", WHEEL).groups())
    for file in "libcordage_c.so", "cordage_inspect":
        told = subprocess.run(["readelf", "-dV", tmp_path / "cordage/_lib" / file], capture_output=True, text=True,
                              check=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\.so", told))
        assert needed <= {"libc", "libm", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"}, (file, needed)
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([\d.]+)", told)}
        assert max(versions)[:2] <= newest and "GLIBCXX" not in told, (file, max(versions))
