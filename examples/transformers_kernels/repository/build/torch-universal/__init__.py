# SPDX-License-Identifier: MIT
"""cordage's rotation as the kernel rotary_pos_emb for models of transformers."""
try:
    import cordage_torch  # noqa: F401  its operators
except ImportError as missing:
    raise ImportError("the kernel cordage-rotary needs cordage_torch: pip install ./examples/torch_extension") from missing

from . import layers

__all__ = ["layers"]
