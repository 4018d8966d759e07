# SPDX-License-Identifier: MIT
"""Splits the CPU into two devices before JAX starts; and the page's program."""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.append(str(ROOT / "docs/site"))

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
