#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts cordage's rotation and K-shift into a folder of llama.cpp's sources.

    python put_in.py LLAMA_CPP

Replaces the rotation of ggml's CPU backend, the K-shift of the cache and the check that rejects a K-shift under M-RoPE by calls
of rope.h, and fuses a rotation with the store of its result into the cache. Each edited function is found by its name, and its
text must have the digest of the tested version (llama-cpp-python 0.3.36); if one differs, nothing is written.
"""
import hashlib
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = f'#include "{HERE / "rope.h"}"\n'
TESTED = "llama-cpp-python 0.3.36"

# File, head of the function, sha256 of its text, the text to replace (None: the whole body), and its replacement.
PLACES = [
    ("ggml/src/ggml-cpu/ops.cpp", "void ggml_compute_forward_rope(",
     "96d268512ea6196b4a70359d008281652a40b844c38639bf748d5d5ee7b9f798", None,
     "cordage_llama_rope(dst, params->ith, params->nth);"),
    ("ggml/src/ggml-cpu/ggml-cpu.c", "static int ggml_cpu_try_fuse_ops(",
     "7ce0d3a015a88cbbde4e14dc1b0619281363ab34f9cc19ad8bc1b584b80528af", r"return 0;(?=\n}$)",
     """if (node->op == GGML_OP_ROPE) {
        const enum ggml_op stored[] = { GGML_OP_ROPE, GGML_OP_VIEW, GGML_OP_SET_ROWS };
        const int last = node_n + 2;
        if (ggml_can_fuse_subgraph(cgraph, node_n, 3, stored, &last, 1) &&
            cordage_llama_rope_into_rows(node, cgraph->nodes[node_n + 1], cgraph->nodes[last], params->ith, params->nth)) {
            return 2;
        }
    }
    return 0;"""),
    ("src/llama-kv-cache.cpp", "ggml_tensor * llama_kv_cache::build_rope_shift(",
     "09c3181b946fe8f03e5ba6bfee4e227be11a94d1af2abd25bbc2d5e7e148cf84", None, """const auto & sections = hparams.rope_sections;
    return cordage_llama_shift(ctx, cur, shift, rot, factors,
        {(int) hparams.n_rot(il), (int) hparams.rope_type, (int) cparams.n_ctx_orig_yarn, freq_base, freq_scale,
         cparams.yarn_ext_factor, cparams.yarn_beta_fast, cparams.yarn_beta_slow,
         {sections[0], sections[1], sections[2], sections[3]}});"""),
    ("src/llama-kv-cache.cpp", "bool llama_kv_cache::get_can_shift(",
     "8f9dc1752a10497c2ef7df9ba776ee6351d754dda1da92d69c0cc93ce897bc02", r"hparams\.n_pos_per_embd\(\) > 1", "false"),
    ("src/llama-kv-cache.cpp", "void llama_kv_cache::seq_add(",
     "113c1f6a7aad1ac492cdcaaf752b6e572abeb403a1957e92098ac90affb5612a", r"GGML_ASSERT\(hparams\.n_pos_per_embd\(\).*?\);", ""),
]


def function_at(text: str, head: str, path: Path) -> tuple[int, int, int]:
    """Offsets of the function's begin, of its body's opening brace and of its end."""
    begins = [m.start() for m in re.finditer("^" + re.escape(head), text, re.MULTILINE)]
    if len(begins) != 1:
        raise ValueError(f"{path} has {len(begins)} functions '{head}...', must have 1: this is not the tested llama.cpp, of "
                         f"{TESTED}")
    body = text.index("{", begins[0])
    end = text.index("\n}", body) + 2  # llama.cpp's functions end with a brace in the first column
    return begins[0], body, end


def edited(root: Path) -> dict[Path, str]:
    """The files with the edits in them."""
    texts: dict[Path, str] = {}
    for name, head, digest, place, ours in PLACES:
        path = root / name
        text = texts.get(path) or path.read_text()
        if INCLUDE in text and path not in texts:
            raise ValueError(f"{path} has cordage in it already; unpack the sources anew to put it in again")
        begin, body, end = function_at(text, head, path)
        found = hashlib.sha256(text[begin:end].encode()).hexdigest()
        if found != digest:
            raise ValueError(f"{path}: the text of '{head}...' has sha256 {found}, must have {digest}: this is not the tested "
                             f"llama.cpp, of {TESTED}")
        if place is None:
            function = text[begin:body] + "{\n    " + ours + "\n}"
        else:
            function = re.sub(place, ours, text[begin:end], count=1)
        texts[path] = text[:begin] + function + text[end:]
    lists = root / "CMakeLists.txt"
    texts = {path: INCLUDE + text for path, text in texts.items()}
    texts[lists] = lists.read_text() + f'\ninclude("{HERE / "cordage.cmake"}")\n'
    return texts


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        raise ValueError("LLAMA_CPP, the folder of llama.cpp's sources, must be the one argument")
    texts = edited(Path(arguments[0]))
    for path, text in texts.items():
        path.write_text(text)
    print(f"cordage rotates in {arguments[0]}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, OSError) as error:
        sys.exit(f"put_in: {error}")
