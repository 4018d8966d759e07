# SPDX-License-Identifier: MIT
"""Replaces a model's own function apply_rotary_pos_emb, for inference and training."""
import torch
from cordage_torch.conventions import convention_of
from cordage_torch.rotation import rotate_by_table
from torch import nn

_CONVENTIONS = {}  # conventions of the replaced functions


class rotary_pos_emb(nn.Module):
    """Rotates q and k by the model's own cos and sin, in one pass, with gradients in another.

    In float32 and float64 the result has the bits of the replaced function. In bfloat16 and float16 the arithmetic is
    float32, rounded once. q and k are [batch, heads, tokens, head_dim], or with unsqueeze_dim=2 [batch, tokens, heads,
    head_dim].
    """

    can_torch_compile = True
    has_backward = True

    def forward(self, q, k, cos, sin, unsqueeze_dim=1):
        return _rotated(_convention(type(self)), q, k, cos, sin, unsqueeze_dim)


@torch.compiler.assume_constant_result
def _convention(function):
    """The convention of the replaced function: layouts of pairs and tables differ, and one model uses the negative angle."""
    if function not in _CONVENTIONS:
        found = convention_of(lambda *arguments: function.forward(None, *arguments))
        if found is None:
            raise ValueError("rotary_pos_emb: the model's function must rotate pairs of lanes as some model of transformers "
                             "5.22 does, and does not; leave this model without the kernel")
        _CONVENTIONS[function] = found
    return _CONVENTIONS[function]


def _rotated(convention, q, k, cos, sin, unsqueeze_dim):
    if q.dim() != 4 or k.dim() != 4:
        raise ValueError(f"rotary_pos_emb: q {list(q.shape)} and k {list(k.shape)} must have four dimensions; leave this "
                         "model without the kernel")
    if cos.requires_grad or sin.requires_grad:
        raise ValueError("rotary_pos_emb: cos and sin must not require a gradient; "
                         "cordage_torch.apply_to(model, basis) has gradients to the frequencies")
    if q.is_cuda and not torch._C._dispatch_has_kernel_for_dispatch_key("cordage::rotate_by_table", "CUDA"):
        raise ValueError("rotary_pos_emb: q on a GPU needs cordage_torch with CUDA; build it where nvcc is, with "
                         "CORDAGE_CUDA=1 pip install ./examples/torch_extension")
    heads_dim = unsqueeze_dim % (cos.dim() + 1) + 3 - cos.dim()
    if heads_dim not in (1, 2) or cos.dim() > 3:
        raise ValueError(f"rotary_pos_emb: cos {list(cos.shape)} with unsqueeze_dim {unsqueeze_dim} must be [batch, tokens, "
                         "...] beside heads; leave this model without the kernel")
    cos, sin = convention.tables(cos, sin)
    if 2 * cos.shape[-1] != q.shape[-1] or q.shape[-1] != k.shape[-1]:
        raise ValueError(f"rotary_pos_emb: cos is for heads of {2 * cos.shape[-1]} lanes, and q has {q.shape[-1]}, k "
                         f"{k.shape[-1]}; rotary_dim of the config must be that of the heads")
    table = [one.reshape((1,) * (3 - one.dim()) + one.shape) for one in (cos, sin)]
    return convention.laid_out(tuple(_rotated_heads(x, table, convention.interleaved, heads_dim == 1) for x in (q, k)))


def _rotated_heads(x, table, interleaved, heads_first):
    wide = torch.promote_types(table[0].dtype, torch.float32)
    computed = torch.float64 if x.dtype == torch.float64 else torch.float32
    if wide != torch.float32 and wide != computed:
        raise ValueError(f"rotary_pos_emb: cos of {table[0].dtype} must not be wider than q and k of {x.dtype}; give the "
                         "model one dtype")
    cos, sin = (one.to(computed) for one in table)
    return rotate_by_table(x, cos=cos, sin=sin, interleaved=interleaved, heads_first=heads_first)[0]
