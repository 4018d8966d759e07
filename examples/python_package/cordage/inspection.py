# SPDX-License-Identifier: MIT
"""Describes a model's rotation from its config.json, by the program cordage_inspect, which is in the package."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from ._library import FOLDER

_program = str(FOLDER / "cordage_inspect")


def inspect(path: str | os.PathLike, *, length: float | None = None, t: float | None = None,
            layer_type: str | None = None, checkpoint: str | os.PathLike | None = None,
            as_numbers: bool = False) -> str | dict[str, Any]:
    """The rotation of a model at a length, from its config.json, as text.

    Args:
        path: as Rule.from_file; a folder is its config and its checkpoint
        length: tokens; None: the config's own maximum
        t: length ratio, used instead of the schedule's
        layer_type: only this one
        checkpoint: the weights of a CLEX or LeRoPE model
        as_numbers: return a dict instead: model_type, length, and for each layer type in `ropes` layer_type, rope_type,
            head_dim, rotary_dim, first_lane, layout, axis_of_pair, is_inverse, theta_base, original_length, t,
            attention_factor, query_beta, query_block_length, query_counted_from, has_head_temperatures, needs_weights, log_scale, inv_freq; and `layers`, for each
            layer its type, and the layer_type of its rule and of its indexer's, None where there is none

    Raises ValueError with the message of the reader.
    """
    options = {"--length": length, "--t": t, "--layer-type": layer_type, "--weights": checkpoint}
    arguments = [f"{name}={os.fspath(value) if isinstance(value, os.PathLike) else value}"
                 for name, value in options.items() if value is not None]
    done = subprocess.run([_program, *arguments, *(["--json"] if as_numbers else []), "--", os.fspath(path)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip() or done.stdout.strip())
    return json.loads(done.stdout) if as_numbers else done.stdout


def main() -> None:
    """The command cordage_inspect."""
    os.execv(_program, [_program, *sys.argv[1:]])
