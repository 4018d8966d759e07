# SPDX-License-Identifier: MIT
"""Small random models, and vLLM runs of them in separate processes, with and without the plug-in."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2] / "docs/site"))  # page_example
TRAINED = 64  # positions
SIZES = {"vocab_size": 97, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 1, "head_dim": 32, "max_position_embeddings": TRAINED, "initializer_range": 0.15,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def save_model(folder, family="llama", rope=None, **changes):
    """The folder of a random model with fixed seed."""
    settings = SIZES | {"rope_parameters": rope or {"rope_type": "default", "rope_theta": 1000.0}} | changes
    config = CONFIG_MAPPING[family](**settings)
    torch.manual_seed(7)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return str(folder)


def save_vision_model(folder, family, rope):
    """As above for a model that also reads images, with a tower of one layer."""
    text = SIZES | {"rope_parameters": rope, "max_position_embeddings": 4 * TRAINED}
    tower = {"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "out_hidden_size": 64, "intermediate_size": 64,
             "deepstack_visual_indexes": []}
    torch.manual_seed(7)
    model = AutoModelForImageTextToText.from_config(CONFIG_MAPPING[family](text_config=text, vision_config=tower))
    model.save_pretrained(folder)
    return str(folder)


def load_model(folder, kind=AutoModelForCausalLM):
    return kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def prompt(length, seed=11):
    return torch.randint(3, SIZES["vocab_size"], (length,), generator=torch.Generator().manual_seed(seed)).tolist()


@torch.no_grad()
def logprobs(model, ids, made, **inputs):
    """log p of every token of `made`, the first after ids, by transformers."""
    of_all = model(torch.tensor([ids + made]), **inputs).logits[0].log_softmax(-1)
    return of_all[len(ids) - 1:-1].gather(1, torch.tensor(made)[:, None])[:, 0].tolist()


def largest(a, b):
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


@pytest.fixture(scope="session")
def run_vllm():
    def run(*engines, plugin=True, **environment):
        """serve.py with [settings, calls] of each engine."""
        eager = all(settings.get("enforce_eager", True) for settings, _ in engines)
        own = {"TORCH_COMPILE_DISABLE": str(int(eager)),  # otherwise vLLM's sampler is compiled nevertheless
               "VLLM_PLUGINS": "cordage" if plugin else "", "VLLM_NO_USAGE_STATS": "1",
               "VLLM_CACHE_ROOT": str(Path(sys.prefix).parent / "cache"),
               "VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(HERE),
               "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
        done = subprocess.run([sys.executable, str(HERE / "serve.py")], input=json.dumps(engines), capture_output=True,
                              text=True, env=os.environ | own | environment)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])
    return run
