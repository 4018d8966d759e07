# SPDX-License-Identifier: MIT
"""The length that a request sets: read and checked where vLLM accepts a request, added to its prefix-cache key, and
looked up where a batch is computed."""
from __future__ import annotations

import functools
import weakref
from difflib import get_close_matches

from torch import Tensor
from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.forward_context import get_forward_context, is_forward_context_available
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor
from vllm.v1.sample.logits_processor.builtin import process_dict_updates

KEY = "rope_length"


def length_of(params) -> int | None:
    """The value of extra_args={"rope_length": n}."""
    return (getattr(params, "extra_args", None) or {}).get(KEY)


# Which row of a batch has which length --------------------------------------------------------------------------------


class BatchLengths(LogitsProcessor):
    """Notified by vLLM of each request that is added, removed or moved within the batch; does not change logits."""

    def __init__(self, vllm_config, device, is_pin_memory: bool) -> None:
        self.of_rows: dict[int, int] = {}
        _engines[id(vllm_config.compilation_config.static_forward_context)] = self

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        process_dict_updates(self.of_rows, batch_update, lambda params, *_: length_of(params))

    def apply(self, logits: Tensor) -> Tensor:
        return logits

    def is_argmax_invariant(self) -> bool:
        return True


# Keyed by the dictionary of layers of an engine, which its forward context refers to.
_engines: weakref.WeakValueDictionary[int, BatchLengths] = weakref.WeakValueDictionary()


def lengths_of_batch(tokens: int) -> list[tuple[int, int, int | None]]:
    """(first token, end, length) of the requests of the current batch; one entry for the whole batch if no request sets
    a length."""
    everything = [(0, tokens, None)]
    if not is_forward_context_available():
        return everything
    context = get_forward_context()
    lengths = _engines.get(id(context.no_compile_layers))
    if lengths is None or not lengths.of_rows or not context.attn_metadata:
        return everything
    starts = next(iter(context.attn_metadata.values())).query_start_loc.tolist()
    named = [(begin, end, lengths.of_rows.get(row)) for row, (begin, end) in enumerate(zip(starts, starts[1:]))]
    return [one for one in [*named, (starts[-1], tokens, None)] if one[0] < one[1]]


# Where vLLM accepts a request -----------------------------------------------------------------------------------------


def register() -> None:
    from vllm.logger import init_logger
    from vllm.v1.engine.input_processor import InputProcessor

    from .rules import ModelRules

    own_init, own_process = InputProcessor.__init__, InputProcessor.process_inputs
    if hasattr(own_process, "__wrapped__"):
        return

    @functools.wraps(own_init)
    def __init__(self, vllm_config, *args, **kwargs) -> None:
        self.cordage_rules = ModelRules(vllm_config)  # errors are reported before a model is loaded
        for warning in self.cordage_rules.warnings():
            init_logger("vllm.cordage").warning("cordage_vllm: %s", warning)
        own_init(self, vllm_config, *args, **kwargs)

    @functools.wraps(own_process)
    def process_inputs(self, request_id, prompt, params, *args, **kwargs):
        _check_keys(params)
        length = length_of(params)
        if length is not None:
            _check_length(length, params, self.vllm_config, self.cordage_rules)
        request = own_process(self, request_id, prompt, params, *args, **kwargs)
        if self.cordage_rules.of_layers:
            request.cache_salt = f"{request.cache_salt or ''} cordage {self.cordage_rules.fingerprint(length)}"
        return request

    InputProcessor.__init__, InputProcessor.process_inputs = __init__, process_inputs


def _check_keys(params) -> None:
    """Refuses a misspelt rope_length, which would be ignored. Other keys may be those of other plug-ins."""
    for key in getattr(params, "extra_args", None) or {}:
        name = str(key).lower()
        if key != KEY and (name.startswith("rope") or get_close_matches(name, [KEY], cutoff=0.8)):
            raise VLLMValidationError(f"cordage_vllm: extra_args has the key {key!r}, must be {KEY!r}")


def _check_length(length, params, vllm_config, rules) -> None:
    said = f"cordage_vllm: extra_args[{KEY!r}] {length!r}"
    longest = vllm_config.model_config.max_model_len
    if not isinstance(length, int) or isinstance(length, bool):
        raise VLLMValidationError(f"{said} must be an integer, not of type {type(length).__name__}")
    if not 1 <= length <= longest:
        raise VLLMValidationError(f"{said} must be in [1, max_model_len {longest}]; start vLLM with a larger max_model_len for "
                                  "longer ones")
    if not rules.depends_on_length():
        raise VLLMValidationError(f"{said} must not be given where rope_parameters have one basis for all lengths; 'dynamic', "
                                  "'longrope' and a learned basis have several")
    if not isinstance(params, SamplingParams) or vllm_config.speculative_config or vllm_config.use_v2_model_runner:
        raise VLLMValidationError(f"{said} must not be given with pooling, speculative decoding or vLLM's V2 model runner; "
                                  "start vLLM without, the last by VLLM_USE_V2_MODEL_RUNNER=0")
