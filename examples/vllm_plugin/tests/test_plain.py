# SPDX-License-Identifier: MIT
"""Models by their configs: the same tokens as with vLLM's own rotation, eager and compiled, and as transformers."""
import pytest
from conftest import TRAINED, largest, load_model, logprobs, prompt, save_model

LONG = 4 * TRAINED
AGREEMENT = 1e-4  # of log-probabilities in float32: vLLM's angles are float32
METHODS = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": TRAINED},
    "llama3": {"rope_type": "llama3", "factor": 4.0, "original_max_position_embeddings": TRAINED, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0},
}
GEMMA = {"full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1000.0},
         "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}
DEEPSEEK = {  # sizes of heads that vLLM's latent attention has on the CPU
    "num_key_value_heads": 2, "head_dim": 64, "kv_lora_rank": 512, "q_lora_rank": None, "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 32, "v_head_dim": 32, "first_k_dense_replace": 2, "n_routed_experts": 2, "n_shared_experts": 1,
    "num_experts_per_tok": 1, "moe_intermediate_size": 32, "n_group": 1, "topk_group": 1}
CLASSES = {"default": "Rotary", "linear": "LinearScalingRotary", "dynamic": "DynamicNTKScalingRotary",
           "yarn": "YaRNScalingRotary", "llama3": "Llama3Rotary"}
TOKENS = 24


def longrope(pairs):
    return {"rope_type": "longrope", "original_max_position_embeddings": TRAINED, "factor": 4.0, "rope_theta": 1000.0,
            "short_factor": [1.0] * pairs, "long_factor": [1.0 + 0.3 * i for i in range(pairs)]}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """name: [folder, the classes that rotate its q and k]."""
    root = tmp_path_factory.mktemp("models")
    found = {name: [save_model(root / name, rope={"rope_theta": 1000.0} | rope, max_position_embeddings=LONG),
                    [f"Cordage{CLASSES[name]}Embedding"]] for name, rope in METHODS.items()}
    found["phi3"] = [save_model(root / "phi3", "phi3", longrope(16), max_position_embeddings=LONG,
                                original_max_position_embeddings=TRAINED), ["CordagePhi3LongRoPEScaledRotaryEmbedding"]]
    found["gemma3"] = [save_model(root / "gemma3", "gemma3_text", GEMMA, max_position_embeddings=LONG, sliding_window=32,
                                  query_pre_attn_scalar=32, layer_types=["sliding_attention", "full_attention"]),
                       ["CordageLinearScalingRotaryEmbedding", "CordageRotaryEmbedding"]]
    found["deepseek_v2"] = [save_model(root / "deepseek_v2", "deepseek_v2", max_position_embeddings=LONG, **DEEPSEEK),
                            ["CordageRotaryEmbedding"]]
    yarn = METHODS["yarn"] | {"rope_theta": 1000.0, "mscale": 1.0, "mscale_all_dim": 0.7}
    found["deepseek_v3"] = [save_model(root / "deepseek_v3", "deepseek_v3", yarn, max_position_embeddings=LONG, **DEEPSEEK),
                            ["CordageDeepseekScalingRotaryEmbedding"]]
    return found


CALL = [{"ids": prompt(LONG - 40), "tokens": TOKENS}, {"ids": prompt(20, seed=12), "tokens": TOKENS}]


@pytest.fixture(scope="module")
def served(models, run_vllm):
    """name: [with the plug-in, without it], eager."""
    # Where the processor has AMX, vLLM selects a kernel of latent attention that takes no float32.
    latent = {name: {"attention_backend": "CPU_MLA"} for name in ("deepseek_v2", "deepseek_v3")}
    engines = [[{"model": folder, "max_model_len": LONG} | latent.get(name, {}), [CALL]] for name, (folder, _) in models.items()]
    return dict(zip(models, zip(run_vllm(*engines), run_vllm(*engines, plugin=False)), strict=True))


@pytest.mark.parametrize("name", [*METHODS, "phi3", "gemma3", "deepseek_v2", "deepseek_v3"])
def test_tokens_are_those_of_vllm_and_of_transformers(name, models, served):
    folder, classes = models[name]
    ours, own = served[name]
    assert ours["rotary"] == classes and not any("Cordage" in one for one in own["rotary"])
    model = load_model(folder)
    for mine, theirs, request in zip(ours["answers"][0], own["answers"][0], CALL, strict=True):
        if name != "deepseek_v2":  # vLLM's own CPU kernel rotates lanes that are slices of wider heads incorrectly
            assert mine["tokens"] == theirs["tokens"]
            assert largest(mine["logprobs"], theirs["logprobs"]) <= AGREEMENT
        if name != "phi3" or len(request["ids"]) > TRAINED:  # short prompts: transformers takes the short factors
            assert largest(mine["logprobs"], logprobs(model, request["ids"], mine["tokens"])) <= AGREEMENT


def test_compiled_code_is_not_that_of_vllms_own_rotation(models, served, run_vllm, tmp_path):
    """A class that dispatches and one that does not. All in one folder of compiled code, vLLM's own first; the second start of
    ours finds its code there."""
    names = ["default", "phi3"]
    engines = [[{"model": models[name][0], "max_model_len": LONG, "enforce_eager": False}, [CALL]] for name in names]
    own = run_vllm(*engines, plugin=False, VLLM_CACHE_ROOT=str(tmp_path))
    for _ in range(2):
        ours = run_vllm(*engines, VLLM_CACHE_ROOT=str(tmp_path))
        for name, of_ours, of_own in zip(names, ours, own, strict=True):
            by_eager = served[name][0]["answers"][0]
            for mine, theirs, eager in zip(of_ours["answers"][0], of_own["answers"][0], by_eager, strict=True):
                assert mine["tokens"] == theirs["tokens"] == eager["tokens"]
                assert largest(mine["logprobs"], eager["logprobs"]) <= AGREEMENT
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"cordage_vllm" in code for code in kept)
