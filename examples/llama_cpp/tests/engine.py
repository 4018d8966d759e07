# SPDX-License-Identifier: MIT
"""engine.py MODEL.gguf PLAN.json OUT.npz: runs the steps of a plan on a model with llama.cpp, by llama-cpp-python's
bindings and the library of LLAMA_CPP_LIB_PATH. A separate process, since the library aborts it on invalid input.

    {"context": {field of llama_context_params: value}, "steps": [[name, argument ...], ...]}
"""
import ctypes
import json
import struct
import sys
import time

import llama_cpp.llama_cpp as api
import numpy as np


class Engine:
    def __init__(self, path, context):
        self.lines = []
        self.log_callback = api.llama_log_callback(lambda _, line, __: self.lines.append(line))
        api.llama_log_set(self.log_callback, ctypes.c_void_p(0))
        api.llama_backend_init()
        settings = api.llama_model_default_params()
        self.model = api.llama_model_load_from_file(path.encode(), settings)
        if not self.model:
            sys.exit("llama.cpp did not load the model")
        self.vocab = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))
        settings = api.llama_context_default_params()
        own = {"n_threads": 1, "n_threads_batch": 1, "type_k": 0, "type_v": 0, "flash_attn_type": 0,  # F32, no flash attention
               "n_batch": context["n_ctx"], "n_ubatch": context["n_ctx"]}
        for name, value in (own | context).items():
            setattr(settings, name, value)
        self.context = api.llama_init_from_model(self.model, settings)
        if not self.context:
            sys.exit("llama.cpp made no context")
        self.memory = api.llama_get_memory(self.context)

    def decode(self, tokens, first, sequence=0):
        """Logits [tokens, vocabulary] of tokens at the positions from `first`."""
        batch = api.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, first + i, 1, 1
            batch.seq_id[i][0] = sequence
        status = api.llama_decode(self.context, batch)
        api.llama_batch_free(batch)
        if status:
            sys.exit(f"llama_decode returned {status}")
        logits = np.ctypeslib.as_array(api.llama_get_logits(self.context), (len(tokens), self.vocab))
        return logits.copy()

    def losses(self, file, count, last):
        """Losses in nats of the last tokens, of the first `count` in a file of uint16, read by batches of 512."""
        tokens, batch, losses = np.fromfile(file, "<u2")[:count].tolist(), api.llama_batch_init(512, 0, 1), []
        for first in range(0, count, 512):
            part = tokens[first:first + 512]
            batch.n_tokens = len(part)
            wanted = [first + i >= count - last - 1 and first + i < count - 1 for i in range(len(part))]
            for i, token in enumerate(part):
                batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, first + i, 1, int(wanted[i])
                batch.seq_id[i][0] = 0
            if status := api.llama_decode(self.context, batch):
                sys.exit(f"llama_decode returned {status}")
            for i in np.flatnonzero(wanted).tolist():
                row = np.ctypeslib.as_array(api.llama_get_logits_ith(self.context, i), (self.vocab,)).astype(np.float64)
                losses.append(np.log(np.exp(row - row.max()).sum()) + row.max() - row[tokens[first + i + 1]])
        api.llama_batch_free(batch)
        return np.array(losses)

    def clear(self):
        api.llama_memory_clear(self.memory, True)

    def shift(self, sequence, by):
        """Moves all keys of a sequence to other positions at the next decode."""
        api.llama_memory_seq_add(self.memory, sequence, -1, -1, by)

    def said(self, text):
        """Whether the library has logged a line that contains the text."""
        return np.array(any(text.encode() in line for line in self.lines))

    def can_shift(self):
        return np.array(api.llama_memory_can_shift(self.memory))

    def keys(self, sequence=0):
        """Keys of the first layer, [cells, lanes], of an F32 cache without flash attention, from the sequence's saved state:
        behind whether v is transposed, the layers, the keys' type and the bytes of a row."""
        state = (ctypes.c_uint8 * api.llama_state_seq_get_size(self.context, sequence))()
        api.llama_state_seq_get_data(self.context, state, len(state), sequence)
        head_dim = api.llama_model_n_embd(self.model) // api.llama_model_n_head(self.model)
        lanes = api.llama_model_n_head_kv(self.model) * head_dim
        head = struct.pack("<IIiQ", 1, api.llama_model_n_layer(self.model), 0, 4 * lanes)
        begin = bytes(state).index(head) + len(head)
        last, first = (of(self.memory, sequence) for of in (api.llama_memory_seq_pos_max, api.llama_memory_seq_pos_min))
        cells = last - first + 1
        return np.frombuffer(state, np.float32, cells * lanes, begin).reshape(cells, lanes).copy()

    def generate(self, tokens, count):
        """The most likely token after a prompt, `count` times."""
        made, rows = [], self.decode(tokens, 0)
        while len(made) < count:
            made.append(int(rows[-1].argmax()))
            rows = self.decode(made[-1:], len(tokens) + len(made) - 1)
        return np.array(made)

    def seconds(self, tokens, repetitions):
        """Time of decoding a prompt, the minimum of several repetitions."""
        least = np.inf
        for _ in range(repetitions):
            self.clear()
            start = time.perf_counter()
            self.decode(tokens, 0)
            least = min(least, time.perf_counter() - start)
        return np.array(least)


def main(model, plan, out):
    with open(plan, encoding="utf-8") as file:
        plan = json.load(file)
    engine = Engine(model, plan["context"])
    results = [getattr(engine, name)(*rest) for name, *rest in plan["steps"]]
    np.savez(out, **{str(i): result for i, result in enumerate(r for r in results if r is not None)})


if __name__ == "__main__":
    main(*sys.argv[1:])
