# SPDX-License-Identifier: MIT
"""The row of LMCache in docs/engines.md, as JSON: errors of keys that go from position 60 000 to 120 000, and the time."""
import json
import time
from importlib.metadata import version

import lmcache
import torch
from conftest import ROOT  # noqa: F401
from keys import CONFIG, HEAD_SIZE, RULES, error, table, rotated

from cordage_lmcache import serve

OLD, NEW = torch.arange(60_000, 60_256), torch.arange(120_000, 120_256)


def errors(config, dtype):
    plain = torch.randn(len(OLD), 8, HEAD_SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    cached = rotated(plain, OLD, config).to(dtype)
    exact = rotated(cached, NEW - OLD, config, is_moved=True)
    cos_sin_cache, found = table(config, dtype), []
    for served in (True, False):
        key = cached.clone()
        call(config, served)(OLD, NEW, key, HEAD_SIZE, cos_sin_cache, True)
        found.append(error(key, exact))
    return found


def call(config, served):
    def function(*arguments):
        if not served:
            return lmcache.device_ops.rotary_embedding_k_fused(*arguments)
        with serve(config):
            return lmcache.device_ops.rotary_embedding_k_fused(*arguments)
    return function


def milliseconds():
    """Milliseconds for 256 tokens of 8 heads in bfloat16, alternately: cordage's move, LMCache's own."""
    key, cos_sin_cache = torch.randn(len(OLD), 8, HEAD_SIZE).bfloat16(), table(CONFIG, torch.bfloat16)
    own = lmcache.device_ops.rotary_embedding_k_fused
    with serve(CONFIG):
        mine, taken = lmcache.device_ops.rotary_embedding_k_fused, ([], [])
        for _ in range(50):
            for one, into in ((mine, taken[0]), (own, taken[1])):
                start = time.perf_counter()
                one(OLD, NEW, key, HEAD_SIZE, cos_sin_cache, True)
                into.append((time.perf_counter() - start) * 1e3)
    return [float(torch.tensor(one[5:]).median()) for one in taken]


def main():
    torch.set_num_threads(1)
    (f32, own32), (b16, own16) = errors(CONFIG, torch.float32), errors(CONFIG, torch.bfloat16)
    yarn, own_yarn = errors(RULES["yarn"], torch.bfloat16)
    mine, own = milliseconds()
    print(json.dumps({
        "engine": "LMCache", "version": version("lmcache"), "replaced": "`rotary_embedding_k_fused`: cached keys that move",
        "difference": f"60 000 → 120 000: float32 {f32:.1e}, its own {own32:.1e}; bfloat16 {b16:.2e}, {own16:.2e}; "
                      f"YaRN {yarn:.2e}, {own_yarn:.2e}",
        "equal": "-", "time": f"256×8 in bfloat16: {mine:.2f} ms, its own {own:.2f}"}))


if __name__ == "__main__":
    main()
