# SPDX-License-Identifier: MIT
"""cordage's rotation as a kernel that models of transformers ask for by the name rotary_pos_emb."""
try:
    import cordage_torch  # noqa: F401  its operators
except ImportError as missing:
    raise ImportError("the kernel cordage-rotary needs cordage_torch: pip install ./examples/torch_extension") from missing

from . import layers

__all__ = ["layers"]
