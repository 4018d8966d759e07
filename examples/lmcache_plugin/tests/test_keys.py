# SPDX-License-Identifier: MIT
"""LMCache's rotary_embedding_k_fused, and its FusedRope that calls it, with cordage's move in its place."""
import subprocess
import types

import lmcache
import pytest
import torch
from keys import CONFIG, HEAD_SIZE, RULES, error, rotated, table
from page_example import ROOT, commands_of, debian_packages, environment_of, example_of, needed_packages

from cordage_lmcache import serve

OLD, NEW = torch.arange(60_000, 60_016), torch.arange(120_000, 120_016)
ROUNDING = {torch.float32: 1e-7, torch.bfloat16: 2.5e-3, torch.float16: 4e-4}  # error of one rounding, root mean square


def keys(config, dtype, is_neox=True):
    """Cached keys at OLD, and the same rounded keys at NEW, in float64."""
    plain = torch.randn(len(OLD), 4, HEAD_SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    cached = rotated(plain, OLD, config, is_neox).to(dtype)
    return cached, rotated(cached, NEW - OLD, config, is_neox, is_moved=True)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name", RULES)
def test_fused_rope_moves_keys_with_one_rounding(name, dtype):
    from lmcache.v1.compute.positional_encoding import FusedRope

    cached, exact = keys(RULES[name], dtype)
    rope = types.SimpleNamespace(head_size=HEAD_SIZE, cos_sin_cache=table(RULES[name], dtype))
    fused = FusedRope(rope, True)
    own = fused(OLD, NEW, cached.clone().flatten(1)).view_as(cached)
    with serve(RULES[name]):
        got = fused(OLD, NEW, cached.clone().flatten(1)).view_as(cached)
    assert error(got, exact) <= ROUNDING[dtype] < error(own, exact)
    if name == "yarn":  # cos and sin contain the factor, so LMCache applies it twice
        assert error(own, exact) > 0.2


# Error after 1, 20 and 1000 moves by one position: each from the stored keys, or each from the keys of the move before.
@pytest.mark.parametrize("dtype, from_store, of_result", [
    (torch.bfloat16, (1.7e-3, 1.7e-3, 1.7e-3), (1.3e-3, 1.4e-2, 0.5)),
    (torch.float16, (2.2e-4, 2.2e-4, 2.2e-4), (1.8e-4, 2e-3, 6e-2)),
])
def test_keys_retrieved_from_the_store_are_rounded_once(dtype, from_store, of_result):
    """LMCache keeps the positions of stored keys and copies keys to a buffer before it moves them."""
    stored, _ = keys(CONFIG, dtype)
    cos_sin_cache = table(CONFIG, dtype, 2)
    moved_again = stored.clone()
    found = {}
    with serve(CONFIG):
        for move in range(1, 1001):
            lmcache.device_ops.rotary_embedding_k_fused(
                OLD - move + 1, OLD - move, moved_again, HEAD_SIZE, cos_sin_cache, True)
            if move in (1, 20, 1000):
                buffer = stored.clone()
                lmcache.device_ops.rotary_embedding_k_fused(OLD, OLD - move, buffer, HEAD_SIZE, cos_sin_cache, True)
                exact = rotated(stored, torch.full_like(OLD, -move), CONFIG, is_moved=True)
                found[move] = error(buffer, exact), error(moved_again, exact)
    for (mine, again), most, least in zip(found.values(), from_store, of_result, strict=True):
        assert mine <= 1.1 * most and again >= 0.9 * least


@pytest.mark.parametrize("is_neox", [True, False])
def test_strided_rows_keep_their_values(is_neox):
    config = CONFIG | {"model_type": "llama" if is_neox else "cohere"}
    cached, exact = keys(config, torch.float32, is_neox)
    values = torch.randn_like(cached)
    rows = torch.cat((cached, values), -1)
    with serve(config):
        lmcache.device_ops.rotary_embedding_k_fused_strided(
            OLD, NEW, rows, HEAD_SIZE, 2 * HEAD_SIZE, table(config, torch.float32), is_neox)
    assert error(rows[..., :HEAD_SIZE], exact) <= 1e-7 and torch.equal(rows[..., HEAD_SIZE:], values)


def test_layers_are_told_apart_by_their_table():
    config = {"model_type": "gemma3_text", "hidden_size": 256, "num_attention_heads": 4, "head_dim": HEAD_SIZE,
              "max_position_embeddings": 131072, "num_hidden_layers": 2,
              "layer_types": ["sliding_attention", "full_attention"], "rope_local_base_freq": 10000.0,
              "rope_theta": 1000000.0}
    for theta in (10000.0, 1000000.0):
        plain = CONFIG | {"rope_theta": theta}
        cached, exact = keys(plain, torch.float32)
        with serve(config):
            lmcache.device_ops.rotary_embedding_k_fused(OLD, NEW, cached, HEAD_SIZE, table(plain, torch.float32), True)
        assert error(cached, exact) <= 1e-7


def test_undo():
    own = lmcache.device_ops.rotary_embedding_k_fused
    patch = serve(CONFIG)
    assert lmcache.device_ops.rotary_embedding_k_fused != own and patch.rules.startswith("all layers (default)")
    with pytest.raises(ValueError, match="served already"):
        serve(CONFIG)
    patch.undo()
    patch.undo()
    assert lmcache.device_ops.rotary_embedding_k_fused == own


KEY, TABLE = torch.zeros(16, 4, HEAD_SIZE), table(CONFIG, torch.float32, 128)


@pytest.mark.parametrize("arguments, words", [
    ((OLD, NEW, KEY, HEAD_SIZE, table(RULES["linear"], torch.float32, 128), True), "cos_sin_cache .* must be of a rule"),
    ((OLD, NEW, KEY, HEAD_SIZE, TABLE, False), "is_neox False says interleaved, and the config says"),
    ((OLD, NEW, KEY, 32, TABLE, True), r"key \[16, 4, 64\] must be \[tokens, heads, head_size 32\]"),
    ((OLD, NEW, KEY.to(torch.uint8), HEAD_SIZE, TABLE, True), "key of torch.uint8 .* kv_cache_dtype"),
    ((OLD[:3], NEW, KEY, HEAD_SIZE, TABLE, True), r"old_positions \[3\] and new_positions \[16\] must be \[tokens\] = \[16\]"),
])
def test_errors_name_the_argument(arguments, words):
    before = arguments[2].clone()
    with serve(CONFIG), pytest.raises(ValueError, match=words):
        lmcache.device_ops.rotary_embedding_k_fused(*arguments)
    assert torch.equal(arguments[2], before)


@pytest.mark.parametrize("change, words", [
    ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "length must be given for rope_type 'dynamic'"),
    ({"rope_scaling": {"rope_type": "lineer", "factor": 2.0}}, "'lineer'"),
    ({"model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}},
     "must be rotated by one position each"),
    ({"model_type": "nanochat"}, "by the positive angle"),
])
def test_configs_are_refused_by_their_key(change, words):
    with pytest.raises(ValueError, match=words):
        serve(CONFIG | change)


def test_the_pages_commands_and_program(tmp_path):
    """The page's program runs with only what the page installs."""
    commands, (code, output) = commands_of("LMCache"), example_of("LMCache")
    assert debian_packages(commands) == needed_packages()
    run = subprocess.run([environment_of(commands, tmp_path), "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == output, run.stderr
