# SPDX-License-Identifier: MIT
"""The wheel for any x86-64 in an environment with only torch; CORDAGE_TORCH_WHEEL and CORDAGE_TORCH_PYTHON name
them (./run wheels)."""
import json
import os
import re
import subprocess
import zipfile

import pytest

WHEEL, PYTHON = os.environ.get("CORDAGE_TORCH_WHEEL"), os.environ.get("CORDAGE_TORCH_PYTHON")
pytestmark = pytest.mark.skipif(WHEEL is None, reason="CORDAGE_TORCH_WHEEL names no wheel")

# For each value of ATEN_CPU_CAPABILITY: the module, and the registers that it must not use.
MODULES = {"avx512": ("_C_avx512", None), "avx2": ("_C_avx2", "zmm"), "default": ("_C_baseline", "[yz]mm")}

PROGRAM = """
import json, sys
import torch
from cordage_torch import rotate

torch.manual_seed(0)
ids, x = torch.tensor([0, 7, 100000]), torch.randn(1, 4, 3, 64)
inv_freq, factor = torch.ops.cordage.config_basis(torch.tensor(32), json.dumps(
    {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "max_position_embeddings": 131072}), "")

def rotated(x, inv_freq):
    angle = torch.outer(ids.double(), inv_freq)
    x0, x1 = x.double().chunk(2, -1)
    return torch.cat((x0 * angle.cos() - x1 * angle.sin(), x0 * angle.sin() + x1 * angle.cos()), -1)

found = []
for function in (lambda x, inv_freq: rotate(x, position_ids=ids, inv_freq=inv_freq)[0], rotated):
    of = [x.clone().requires_grad_(), inv_freq.clone().requires_grad_()]
    y = function(*of)
    y.backward(torch.ones_like(y))
    found.append([y.detach(), *(one.grad for one in of)])
print(json.dumps({"capability": torch.backends.cpu.get_cpu_capability(),
                  "modules": [name.split(".")[1] for name in sys.modules if name.startswith("cordage_torch._C")],
                  "errors": [float((a - b).abs().max() / b.abs().max()) for a, b in zip(*found)]}))
"""


def run(capability=None):
    asked = {} if capability is None else {"ATEN_CPU_CAPABILITY": capability}
    done = subprocess.run([PYTHON, "-c", PROGRAM], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"} | asked)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def installed():
    """What torch finds this processor to have."""
    install = [PYTHON, "-m", "pip", "install", "--quiet", "--no-input", "--no-index", "--force-reinstall", "--no-deps"]
    subprocess.run([*install, WHEEL], check=True)
    subprocess.run([PYTHON, "-m", "pip", "check"], check=True)  # it asks for nothing but this torch
    return run()["capability"].lower()


def test_names_what_it_needs(tmp_path):
    assert re.search(r"-manylinux_2_\d+_x86_64\.whl$", WHEEL), WHEEL
    with zipfile.ZipFile(WHEEL) as archive:
        metadata, = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    release = re.search(r"torch-(\d+\.\d+)\.", WHEEL).group(1)
    assert re.findall(r"^Requires-Dist: (?!.*extra)(.*)$", metadata, re.MULTILINE) == [f"torch=={release}.*"]


@pytest.mark.parametrize("capability", MODULES)
def test_rotates_by_the_kernels_of_the_processor(installed, capability):
    if list(MODULES).index(capability) < list(MODULES).index(installed if installed in MODULES else "default"):
        pytest.skip(f"this processor has {installed}")
    found = run(capability)
    assert found["modules"] == [MODULES[capability][0]]
    y, grad_x, grad_inv_freq = found["errors"]
    assert y < 3e-7 and grad_x < 3e-7 and grad_inv_freq < 1e-6
    if capability == installed:
        assert run()["modules"] == found["modules"]


@pytest.mark.parametrize("module, registers", MODULES.values())
def test_instructions_are_those_of_the_name(tmp_path, module, registers):
    with zipfile.ZipFile(WHEEL) as archive:
        name, = (name for name in archive.namelist() if name.startswith(f"cordage_torch/{module}."))
        archive.extract(name, tmp_path)
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(tmp_path / name)], capture_output=True, text=True,
                             check=True).stdout
    assert registers is None or not re.search(f"%{registers}", listing)
    assert registers is not None or "%zmm" in listing
