# SPDX-License-Identifier: MIT
"""Runs vLLM in a separate process: reads [[arguments of LLM, calls], ...] as JSON, where a call is a list of requests for
one batch, and writes the results, or an engine's error message, as the last line.

A request: {"ids": token ids, "tokens": to make, "extra": extra_args or null, "salt": cache_salt or null}. Among the arguments
may be "positions": [module, class, the positions [axes][tokens] of each prompt], for a model that computes them from images.
"""
import importlib
import json
import os
import sys

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # the model in this process, for rotaries()

import torch  # noqa: E402
from vllm.platforms import current_platform  # noqa: E402

# Of the sampler's functions, before they are imported: compiling them takes longer than the model. That has another setting.
type(current_platform).simple_compile_backend = "eager"

from vllm import LLM, SamplingParams  # noqa: E402


def rotaries(model):
    return sorted({type(module).__name__ for name, module in model.named_modules() if name.split(".")[-1] == "rotary_emb"})


def answer(llm, call):
    prompts = [{"prompt_token_ids": one["ids"]} | ({"cache_salt": one["salt"]} if one.get("salt") else {}) for one in call]
    params = [SamplingParams(temperature=0, max_tokens=one["tokens"], ignore_eos=True, logprobs=0, detokenize=False,
                             extra_args=one.get("extra")) for one in call]
    return [{"tokens": list(given.outputs[0].token_ids), "cached": given.num_cached_tokens,
             "logprobs": [step[token].logprob for token, step in zip(given.outputs[0].token_ids, given.outputs[0].logprobs)]}
            for given in llm.generate(prompts, params, use_tqdm=False)]


def give_positions(module, name, positions):
    ids = torch.tensor(positions)
    made = getattr(importlib.import_module(f"vllm.model_executor.models.{module}"), name)
    made.get_mrope_input_positions = lambda *_, **__: (ids, int(ids.max()) + 1 - ids.shape[1])


def serve(settings, calls):
    if "positions" in settings:
        give_positions(*settings.pop("positions"))
    defaults = {"skip_tokenizer_init": True, "dtype": "float32", "enforce_eager": True, "kv_cache_memory_bytes": 1 << 26,
                "block_size": 32, "max_num_seqs": 8, "seed": 0}
    try:
        llm = LLM(**(defaults | settings))
        rotary = llm.apply_model(rotaries)[0] if os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0" else None
        answers = []
        for call in calls:
            try:
                answers.append(answer(llm, call))
            except Exception as refused:  # vLLM's own classes of errors too
                answers.append(str(refused))
        return {"rotary": rotary, "answers": answers}
    except Exception as refused:
        return {"error": str(refused)}


if __name__ == "__main__":
    given = [serve(*engine) for engine in json.load(sys.stdin)]
    print("\n" + json.dumps(given), flush=True)
    os._exit(0)  # what several engines leave behind in one process is not waited for
