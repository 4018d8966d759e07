# SPDX-License-Identifier: MIT
"""A temperature for each head, learned on frozen weights and then folded into the weights of the queries."""
from __future__ import annotations

import torch
from torch import Tensor, nn

_NORMS = ("q_norm", "q_layernorm", "query_layernorm")


class HeadTemperatures(nn.Module):
    """Attention scores of each head times exp(log_tau), by its queries; a context manager.

        with HeadTemperatures(model) as temperatures:                 # 1 of every head, and learns
            ...                                                       # your loop, over temperatures.parameters()
        temperatures.fold(model)                                      # for good; then any engine reads the weights

    Args:
        model: a transformers model whose attentions have queries of a projection q_proj, or the first rows of qkv_proj, with no
            norm behind it: Llama, Mistral, Qwen 2, Phi-3. A norm of the queries would take the factor away again

    The parameter `log_tau` is [layers, heads] float32. Raises ValueError naming the argument.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        found = [(name, module) for name, module in model.named_modules()
                 if isinstance(getattr(module, "layer_idx", None), int) and hasattr(module, "head_dim")]
        if not found:
            raise ValueError(f"HeadTemperatures: model {type(model).__name__} must have attentions with a head_dim")
        for name, attention in found:
            _check(name, attention)
        self.attentions = tuple(attention for _, attention in found)  # not submodules, as they are the model's
        self.log_tau = nn.Parameter(torch.zeros(len(found), _heads(found[0][1])))
        self._hooks: list = []

    @property
    def temperatures(self) -> Tensor:
        """[layers, heads] float32."""
        return self.log_tau.detach().exp()

    def __enter__(self) -> HeadTemperatures:
        for layer, attention in enumerate(self.attentions):
            def scaled(module, args, out, layer=layer, attention=attention):
                return out * self._factors(layer, attention, out.shape[-1]).to(out.device, out.dtype)
            self._hooks.append(_queries(attention).register_forward_hook(scaled))
        return self

    def __exit__(self, *exception) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _factors(self, layer: int, attention: nn.Module, rows: int) -> Tensor:
        of_queries = self.log_tau[layer].exp().repeat_interleave(attention.head_dim)
        return torch.nn.functional.pad(of_queries, (0, rows - len(of_queries)), value=1.0)

    @torch.no_grad()
    def fold(self, model: nn.Module) -> None:
        """Multiplies the rows of the queries' weights, and their biases, of a model of the same architecture, in place."""
        for layer, attention in enumerate(HeadTemperatures(model).attentions):
            projection = _queries(attention)
            factors = self._factors(layer, attention, projection.weight.shape[0])
            for weight in filter(lambda one: one is not None, (projection.weight, projection.bias)):
                weight.copy_((weight.float().t() * factors.to(weight.device)).t())


def _queries(attention: nn.Module) -> nn.Module:
    return getattr(attention, "q_proj", None) or getattr(attention, "qkv_proj", None)


def _heads(attention: nn.Module) -> int:
    return attention.config.num_attention_heads


def _check(name: str, attention: nn.Module) -> None:
    norm = next((one for one in _NORMS if hasattr(attention, one)), None)
    if norm:
        raise ValueError(f"HeadTemperatures: model has {name}.{norm}, a norm of queries, must have none: it takes a factor of W_q away "
                         "again; use one temperature, Tempered(basis)")
    projection, rows = _queries(attention), _heads(attention) * attention.head_dim
    if hasattr(attention, "qkv_proj") and not hasattr(attention, "q_proj"):
        rows += 2 * attention.config.num_key_value_heads * attention.head_dim
    if not isinstance(projection, nn.Linear) or projection.out_features != rows:
        raise ValueError(f"HeadTemperatures: model has {name} of type {type(attention).__name__}, must have q_proj or qkv_proj with the "
                         "rows of each head's queries; use one temperature, Tempered(basis)")
