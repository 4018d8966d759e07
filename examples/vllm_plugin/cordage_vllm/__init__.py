# SPDX-License-Identifier: MIT
"""cordage's rotary position embeddings inside vLLM, on the CPU: a plug-in that vLLM loads once it is installed.

    rotary      replaces vLLM's rotary classes; one operator, eager and compiled
    rules       the basis of a model's layers: from its config, or a learned one, at the length of a request
    requests    SamplingParams(extra_args={"rope_length": n}), prefix-cache keys, and the length of each row of a batch
"""


def register() -> None:
    """Called by vLLM in each of its processes. Errors here end the process; vLLM only logs errors of an import and would
    continue with its own rotation."""
    from . import requests, rotary

    rotary.register()
    requests.register()
