# SPDX-License-Identifier: MIT
"""LearnedTable, and user-defined bases, under apply_to."""
import math

import pytest
import torch
from small_models import TRAINED, small, tokens
from torch.autograd import gradcheck

from cordage_torch import CLEX, LearnedTable, Tempered, apply_to


def table(t_max=8.0, knots=None, **settings):
    prior = CLEX(8, original_length=16, t_max=t_max, field="log_length", prior=("by_parts", 0.5, 4.0), hidden=1, **settings)
    made = LearnedTable(prior, knots).double()
    torch.manual_seed(3)
    with torch.no_grad():
        made.offsets.normal_(std=0.1)
    return made


def test_knots_are_the_doublings_and_the_end():
    assert [round(t) for t in table(8.0).log_knots.exp().tolist()] == [1, 2, 4, 8]
    assert [round(t) for t in table(6.0).log_knots.exp().tolist()] == [1, 2, 4, 6]
    assert [round(t, 3) for t in table(1.5).log_knots.exp().tolist()] == [1, 1.5]


def test_log_alpha_is_the_priors_and_a_gated_offset_linear_in_log_t():
    made = table()
    gate = 1 / (1 + 16 * 10000.0**(-torch.arange(4, dtype=torch.float64) / 4))
    gated = gate * made.offsets
    offset = lambda t: (made(t) / made.prior(t)).log()  # noqa: E731
    close = {"rtol": 0, "atol": 1e-12}
    torch.testing.assert_close(offset(1.0), torch.zeros(4, dtype=torch.float64), **close)
    for knot, t in enumerate((2.0, 4.0, 8.0)):
        torch.testing.assert_close(offset(t), gated[knot], **close)
    torch.testing.assert_close(offset(math.sqrt(2)), gated[0] / 2, **close)
    torch.testing.assert_close(offset(4 * math.sqrt(2)), (gated[1] + gated[2]) / 2, **close)
    beyond = table(knots=[2.0, 4.0])
    torch.testing.assert_close((beyond(8.0) / beyond.prior(8.0)).log(), gate * beyond.offsets[1], **close)
    many = made(torch.tensor([1.0, 3.0, 8.0], dtype=torch.float64))
    torch.testing.assert_close(many, torch.stack([made(1.0), made(3.0), made(8.0)]), **close)


def test_gradients():
    made = table()
    for t in (1.5, 2.0, 7.0):
        def at(offsets, t=t):
            return torch.func.functional_call(made, {"offsets": offsets}, (t,))
        assert gradcheck(at, made.offsets.detach().clone().requires_grad_())
    assert [name for name, p in made.named_parameters() if p.requires_grad] == ["offsets"]


def test_apply_to_takes_it_and_its_weights_learn():
    model = small("llama").requires_grad_(False)
    made = LearnedTable(CLEX.for_config(model.config, field="log_length", prior=("by_parts", 0.5, 4.0), hidden=1))
    with apply_to(model, made) as patch:
        assert "LearnedTable" in patch.rules
        ids = tokens(4 * TRAINED)
        model(ids, labels=ids).loss.backward()
        assert made.offsets.grad[1].abs().min() > 0 and made.offsets.grad[[0, 2, 3]].abs().max() == 0  # t = 4 is knot 1
        with made.held_at(16.0):
            made.offsets.grad = None
            model(ids, labels=ids).loss.backward()
        assert made.offsets.grad[3].abs().min() > 0 and made.offsets.grad[:3].abs().max() == 0


def test_a_basis_of_ones_own():
    class Halved(torch.nn.Module):
        rotary_dim, theta_base = 16, 1000.0

        def __init__(self):
            super().__init__()
            self.log_alpha = torch.nn.Parameter(torch.full((8,), -math.log(2.0), dtype=torch.float64))

        def t_of(self, length):
            return torch.ones((), dtype=torch.float64)

        def basis(self, t):
            inv_freq = self.theta_base**(-torch.arange(8, dtype=torch.float64) / 8)
            return inv_freq * self.log_alpha.exp(), torch.ones((), dtype=torch.float64)

    model, halved, ids = small("llama"), Halved(), tokens(2 * TRAINED)
    with torch.no_grad(), apply_to(model, {"rope_type": "linear", "factor": 2.0}):
        expected = model(ids).logits
    apply_to(model, halved)
    logits = model(ids).logits
    torch.testing.assert_close(logits, expected)
    logits.square().sum().backward()
    assert halved.log_alpha.grad.abs().min() > 0


def test_errors_name_the_argument():
    for knots in ([], [1.0, 2.0], [4.0, 2.0], [2.0, 2.0]):
        with pytest.raises(ValueError, match="LearnedTable: knots .* must be one or more increasing ratios > 1"):
            table(knots=knots)
    with pytest.raises(TypeError, match="LearnedTable: prior of type Tempered must be a CLEX; a temperature goes over the table"):
        LearnedTable(Tempered(CLEX(8, original_length=64)))
