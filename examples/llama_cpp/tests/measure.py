# SPDX-License-Identifier: MIT
"""The row of llama.cpp in docs/engines.md, as JSON: errors at far positions, greedy tokens and times compared with its own."""
import json
import tempfile
from pathlib import Path

import numpy as np
from conftest import FOLDER, difference, random_model, run_llama, write_gguf

FAR, LENGTH, GENERATED = 1_000_000, 512, 24
ROUNDS = 5


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(5)
        prompt = [int(token) for token in rng.integers(3, 61, 40)]
        small = write_gguf(random_model("llama"), "llama", folder / "small.gguf")
        near = run_llama(folder, "own", small, ["decode", prompt, 0])[0]
        both = ("cordage", "own")
        errors = [difference(run_llama(folder, library, small, ["decode", prompt, FAR])[0], near) for library in both]
        greedy = [run_llama(folder, library, small, ["generate", prompt, GENERATED])[0] for library in both]
        wide = random_model("llama", hidden_size=1024, intermediate_size=2048, num_attention_heads=16, num_key_value_heads=4)
        wide = write_gguf(wide, "llama", folder / "wide.gguf")
        long = [int(token) for token in rng.integers(3, 61, LENGTH)]
        times = np.array([[run_llama(folder, library, wide, ["seconds", long, 3])[0] for library in both]
                          for _ in range(ROUNDS)]).min(0) * 1e3
        real = FOLDER / "perplexities.json"  # test_real_model.py's
        found = json.loads(real.read_text()) if real.is_file() else None
        real = "" if found is None else (
            f"; SmolLM2-135M, perplexity of the last 1024 of {found['window']:,} tokens: unscaled {found['unscaled']:.2f}, YaRN by "
            f"its settings {found['YaRN']:.2f}, the basis that the demo learned for 65,536 tokens {found['learned']:.2f}")
        print(json.dumps({
            "engine": "llama.cpp", "version": "llama-cpp-python 0.3.36",
            "replaced": "the rotation, on its way into the cache too, and the K-shift on the CPU; a learned basis in a whole "
                        "GGUF file",
            "difference": f"logits at positions from 10^6, of the largest: {errors[0]:.1e}, its own rotation {errors[1]:.1e}{real}",
            "equal": f"{int((greedy[0] == greedy[1]).sum())} of {GENERATED} greedy tokens",
            "time": f"a prompt of {LENGTH}, 2 layers of 16 heads, F32: {times[0]:.0f} ms, its own {times[1]:.0f}"}))


if __name__ == "__main__":
    main()
