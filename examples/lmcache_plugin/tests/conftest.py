# SPDX-License-Identifier: MIT
"""The page's program, and a stub of vLLM, since LMCache's positional_encoding imports get_rope when it is loaded."""
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path += [str(ROOT / "docs/site")]

for name in ("vllm", "vllm.model_executor", "vllm.model_executor.layers", "vllm.model_executor.layers.rotary_embedding"):
    sys.modules.setdefault(name, types.ModuleType(name))
sys.modules["vllm.model_executor.layers.rotary_embedding"].get_rope = None
