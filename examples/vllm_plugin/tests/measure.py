# SPDX-License-Identifier: MIT
"""The row of vLLM in docs/engines.md, as JSON: a learned basis served beside transformers, and the time of the rotation."""
import contextlib
import io
import json
import os
import tempfile
import time
from unittest import mock

os.environ |= {"VLLM_PLUGINS": "cordage", "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1",
               "TORCH_COMPILE_DISABLE": "1"}

import torch  # noqa: E402
import vllm  # noqa: E402
from conftest import TRAINED, largest, load_model, logprobs, prompt, save_model  # noqa: E402
from learned_basis import table  # noqa: E402
from serve import serve  # noqa: E402
from vllm.config import set_current_vllm_config  # noqa: E402
from vllm.engine.arg_utils import EngineArgs  # noqa: E402
from vllm.model_executor.custom_op import op_registry_oot  # noqa: E402
from vllm.model_executor.layers.rotary_embedding import RotaryEmbedding  # noqa: E402

from cordage_torch import save_longrope  # noqa: E402

TOKENS = 24


def served(folder):
    """Largest difference of log-probabilities, and how many greedy tokens are those of transformers."""
    config = load_model(save_model(folder)).config
    save_longrope(config, table(config), 8 * TRAINED, folder)
    ids, model = prompt(300), load_model(folder)
    (made,), = serve({"model": folder, "max_model_len": 8 * TRAINED}, [[{"ids": ids, "tokens": TOKENS}]])["answers"]
    expected = model.generate(torch.tensor([ids]), max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False)[0, len(ids):]
    equal = sum(a == b for a, b in zip(made["tokens"], expected.tolist(), strict=True))
    return largest(made["logprobs"], logprobs(model, ids, made["tokens"])), equal


def times(folder):
    """Microseconds, the best of 101, of vLLM's layer for q and k of 512 tokens, 32 and 8 heads of 128, in bfloat16: cordage,
    vLLM's own."""
    save_model(folder, head_dim=128)
    config = EngineArgs(model=folder, skip_tokenizer_init=True, enforce_eager=True).create_engine_config()
    with set_current_vllm_config(config):
        arguments = (128, 128, 4096, 1000.0, True, torch.bfloat16)
        layers = [RotaryEmbedding(*arguments)]
        with mock.patch.dict(op_registry_oot, clear=True):
            layers.append(RotaryEmbedding(*arguments))
    q, k, _ = torch.randn(512, 48 * 128, dtype=torch.bfloat16).split([32 * 128, 8 * 128, 8 * 128], -1)
    ids, taken = torch.arange(512) + 1000, ([], [])
    for _ in range(101):
        for layer, of_layer in zip(layers, taken):
            start = time.perf_counter()
            layer.forward_cpu(ids, q, k)
            of_layer.append((time.perf_counter() - start) * 1e6)
    return [min(of_layer) for of_layer in taken]


@torch.no_grad()
def main():
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        difference, equal = served(folder + "/model")
        cordage, own = times(folder + "/layer")
    print(json.dumps({
        "engine": "vLLM", "version": vllm.__version__.split("+")[0],
        "replaced": "the rotation of the classes of `get_rope`; a basis for each request, in its prefix-cache keys",
        "difference": f"log-probabilities of a learned basis from transformers': {difference:.1e}",
        "equal": f"{equal} of {TOKENS} tokens",
        "time": f"q and k of a layer, 512×(32+8)×128 in bfloat16, one thread: {cordage:.0f} µs, vLLM {own:.0f} with its "
                "table"}),
        flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
