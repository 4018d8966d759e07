# SPDX-License-Identifier: MIT
"""Rotations of the PyPI packages, each called as its users call it, with cos and sin made before the clock starts."""
import numpy as np
import onnx
import onnxruntime
import torch
from case import DTYPES, HALF_SPLIT, HEAD_DIM, INTERLEAVED, INV_FREQ, THETA_BASE
from rounds import Calls
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb


class PythonEntry(Calls):
    """`call` returns the rotated q and k, out of place; `token_major` makes [tokens, heads, HEAD_DIM] of either."""

    def __init__(self, name, style, call, token_major):
        super().__init__(name, torch.no_grad()(call))
        self.style, self.token_major = style, token_major

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def result(self):
        return tuple(self.token_major(y) for y in self.call())


def llama_embedding():
    config = LlamaConfig(hidden_size=32 * HEAD_DIM, num_attention_heads=32,
                         rope_parameters={"rope_type": "default", "rope_theta": THETA_BASE})
    return LlamaRotaryEmbedding(config)


def transformers_eager(case, compiled=False):
    cos, sin = llama_embedding()(case.q, case.positions[None])
    q, k = (x[None].transpose(1, 2) for x in (case.q, case.k))
    rotate = apply_rotary_pos_emb
    if compiled:
        torch._dynamo.reset()
        rotate = torch.compile(rotate, dynamic=False)
    name = "transformers_compiled" if compiled else "transformers_eager"
    return PythonEntry(name, HALF_SPLIT, lambda: rotate(q, k, cos, sin), lambda y: y.transpose(1, 2)[0])


def transformers_compiled(case):
    return transformers_eager(case, compiled=True)


def torch_complex(case):
    """The product of complex numbers of the LLaMA release."""
    inv_freq = torch.from_numpy(INV_FREQ).float()
    angles = torch.outer(case.positions.float(), inv_freq)
    factor = torch.polar(torch.ones_like(angles), angles)[:, None]

    def rotate(x):
        z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(z * factor).flatten(-2).type_as(x)

    return PythonEntry("torch_complex", INTERLEAVED, lambda: (rotate(case.q), rotate(case.k)), lambda y: y)


def onnx_runtime(case, style):
    """The contrib operator, inputs and outputs bound, with transformers' cos and sin as exporters write them."""
    if case.dtype == "bf16":
        raise NotImplementedError("the operator has no bf16 on CPU")
    emb_cos, emb_sin = llama_embedding()(case.q, case.positions[None])
    arrays = {
        "positions": np.arange(len(case.positions))[None],
        "cos": emb_cos[0, :, : HEAD_DIM // 2].contiguous().numpy(),
        "sin": emb_sin[0, :, : HEAD_DIM // 2].contiguous().numpy(),
        "q": case.q.flatten(1)[None].numpy(),
        "k": case.k.flatten(1)[None].numpy(),
    }

    def declared(name, like):
        return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(like.dtype), like.shape)

    nodes = [
        onnx.helper.make_node("RotaryEmbedding", [name, "positions", "cos", "sin"], [name + "_out"],
                              domain="com.microsoft", num_heads=heads, interleaved=int(style == INTERLEAVED))
        for name, heads in (("q", case.heads), ("k", case.kv_heads))
    ]
    graph = onnx.helper.make_graph(nodes, "rope", [declared(name, array) for name, array in arrays.items()],
                                   [declared(name + "_out", arrays[name]) for name in ("q", "k")])
    model = onnx.helper.make_model(graph, ir_version=10, opset_imports=[
        onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = case.threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
    outputs = [onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(arrays[name])) for name in ("q", "k")]
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in zip(("q_out", "k_out"), outputs):
        binding.bind_ortvalue_output(name, value)

    def call():
        session.run_with_iobinding(binding)
        return outputs

    def token_major(y):
        return torch.from_numpy(y.numpy().copy())[0].unflatten(-1, (-1, HEAD_DIM))

    name = "onnxruntime_" + ("interleaved" if style == INTERLEAVED else "half_split")
    return PythonEntry(name, style, call, token_major)


def makers():
    """Functions from a case to an entry."""
    return [transformers_eager, transformers_compiled, torch_complex, lambda case: onnx_runtime(case, HALF_SPLIT),
            lambda case: onnx_runtime(case, INTERLEAVED)]
