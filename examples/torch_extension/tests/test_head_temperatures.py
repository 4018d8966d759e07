# SPDX-License-Identifier: MIT
"""HeadTemperatures: in a forward pass, folded into weights, in a GGUF file, and the models that it refuses."""
import copy

import pytest
import torch
from small_models import small, tokens

from cordage_torch import CLEX, HeadTemperatures, save_gguf


def learned(model):
    temperatures = HeadTemperatures(model)
    torch.manual_seed(5)
    temperatures.log_tau.data.normal_(std=0.3)
    return temperatures


@pytest.mark.parametrize("family", ["llama", "qwen2", "mistral", "phi3"])
def test_folded_weights_are_the_model_with_temperatures(family):
    model = small(family, dtype=torch.float64).requires_grad_(False)
    for module in model.modules():  # biases are not zero
        if getattr(module, "bias", None) is not None:
            module.bias.data.normal_()
    plain, temperatures, ids = copy.deepcopy(model), learned(model), tokens(24)
    expected = plain(ids).logits
    with temperatures:
        tempered = model(ids).logits
    torch.testing.assert_close(model(ids).logits, expected, rtol=0, atol=0)  # nothing is left
    temperatures.fold(plain)
    torch.testing.assert_close(plain(ids).logits, tempered.detach(), rtol=1e-6, atol=1e-6)  # log_tau is float32
    assert (tempered - expected).abs().max() > 1e-3
    gradient, = torch.autograd.grad(tempered.square().mean(), temperatures.log_tau)
    assert gradient.shape == (2, 4) and (gradient != 0).all()


def test_a_factor_multiplies_the_scores_of_its_head():
    model = small("llama", dtype=torch.float64, num_hidden_layers=1)
    temperatures = learned(model)
    scores = []

    def kept(module, args, out):
        scores.append(out)

    hook = model.model.layers[0].self_attn.q_proj.register_forward_hook(kept)
    model(tokens(8))
    with temperatures:
        model(tokens(8))
    hook.remove()
    before, after = (one.view(2, 8, 4, 16) for one in scores[:2])
    torch.testing.assert_close(before, after)  # the hook above came first; what follows it is scaled
    with temperatures:
        scaled = model.model.layers[0].self_attn.q_proj(torch.ones(1, 1, 64, dtype=torch.float64)).view(4, 16)
    plain = model.model.layers[0].self_attn.q_proj(torch.ones(1, 1, 64, dtype=torch.float64)).view(4, 16)
    torch.testing.assert_close(scaled / plain, temperatures.temperatures.double()[0][:, None].expand(4, 16), rtol=1e-6, atol=0)


@pytest.mark.parametrize("family, said", [
    ("qwen3", "model has model.layers.0.self_attn.q_norm, a norm of queries, must have none: it takes a factor of W_q away"),
    ("gemma3_text", "q_norm, a norm of queries"),
    ("gpt_neox", "must have")])
def test_it_refuses_models_whose_queries_cannot_take_a_factor(family, said):
    with pytest.raises(ValueError, match=f"HeadTemperatures: .*{said}"):
        HeadTemperatures(small(family))


def test_queries_in_a_gguf_file(tmp_path):
    """Float32 rows, and quantised ones, which become float16; everything else is copied."""
    gguf = pytest.importorskip("gguf")
    model = small("llama")
    rope = {"context_length": 32, "rope.dimension_count": 16, "rope.freq_base": 1000.0}
    temperatures, clex = learned(model).temperatures, CLEX.for_config(model.config, hidden=1)
    for kind in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.Q8_0):
        writer = gguf.GGUFWriter(tmp_path / "MODEL.gguf", "llama")
        writer.add_context_length(rope["context_length"])
        writer.add_rope_dimension_count(rope["rope.dimension_count"])
        writer.add_rope_freq_base(rope["rope.freq_base"])
        for layer, block in enumerate(model.model.layers):
            for name, of in (("attn_q", block.self_attn.q_proj), ("attn_k", block.self_attn.k_proj)):
                values = of.weight.detach().numpy()
                writer.add_tensor(f"blk.{layer}.{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        for wrong in (temperatures[:1], temperatures[:, :3]):
            with pytest.raises(ValueError, match=r"temperatures \[.*\] must be \[layers, heads\] = \[2, 4\] of the config"):
                save_gguf(model.config, clex, 128, tmp_path / "MODEL.gguf", tmp_path / "model.gguf", temperatures=wrong)
        save_gguf(model.config, clex, 128, tmp_path / "MODEL.gguf", tmp_path / "model.gguf", temperatures=temperatures)
        before, after = ({one.name: one for one in gguf.GGUFReader(tmp_path / name).tensors} for name in ("MODEL.gguf", "model.gguf"))
        for layer in range(2):
            name = f"blk.{layer}.attn_q.weight"
            old, new = (torch.from_numpy(gguf.quants.dequantize(one[name].data, one[name].tensor_type).copy()) for one in (before, after))
            torch.testing.assert_close(new, old * temperatures[layer].repeat_interleave(16)[:, None], rtol=1e-3, atol=1e-6)
            assert list(after[name].shape) == list(before[name].shape)
            key = f"blk.{layer}.attn_k.weight"
            assert after[key].tensor_type == kind and after[key].data.tobytes() == before[key].data.tobytes()
        shorter = small("llama", num_hidden_layers=1).config
        with pytest.raises(ValueError, match="MODEL.gguf has blk.1.attn_q.weight, must have the 1 layers of the config"):
            save_gguf(shorter, clex, 128, tmp_path / "MODEL.gguf", tmp_path / "other.gguf", temperatures=temperatures[:1])
        assert after["blk.0.attn_q.weight"].tensor_type == (kind if kind == 0 else gguf.GGMLQuantizationType.F16)
