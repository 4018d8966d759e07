# SPDX-License-Identifier: MIT
"""The small models of examples/torch_extension, and the page's program."""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path += [str(ROOT / "examples/torch_extension/tests"), str(ROOT / "docs/site")]
