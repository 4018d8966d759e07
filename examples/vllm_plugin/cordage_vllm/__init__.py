# SPDX-License-Identifier: MIT
"""cordage's rotary position embeddings inside vLLM, on the CPU: a plug-in that vLLM loads by itself once it is installed.

    rotary      stands for vLLM's rotary classes; one operator, eager and compiled
    rules       the basis of a model's layers: by its config, or a learned one, at the length that a request names
    requests    SamplingParams(extra_args={"rope_length": n}), prefix-cache keys, and which row of a batch has which length
"""


def register() -> None:
    """What vLLM calls in each of its processes. What fails here ends the process; vLLM only logs what fails on import, and
    would go on with its own rotation."""
    from . import requests, rotary

    rotary.register()
    requests.register()
