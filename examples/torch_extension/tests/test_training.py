# SPDX-License-Identifier: MIT
"""A step of training a model's CLEX, against plain autograd through the released formula."""
import torch
from released_formula import released_inv_freq
from small_models import TRAINED, small, tokens

from cordage_torch import CLEX, apply_to

T, TIME_DT, RATE = 3.0, 0.05, 0.1


class PlainRotary(torch.nn.Module):
    """transformers' rotary embedding, with gradients to a basis."""

    def __init__(self, inv_freq):
        super().__init__()
        self.inv_freq = inv_freq

    def forward(self, x, position_ids):
        angle = torch.cat(2 * [position_ids[..., None] * self.inv_freq], -1)
        return angle.cos().to(x.dtype), angle.sin().to(x.dtype)


def test_one_step_moves_the_weights_by_the_formulas_gradient():
    ids = tokens(int(T * TRAINED))
    model = small("llama", dtype=torch.float64, attention="sdpa").requires_grad_(False)
    clex = CLEX.for_config(model.config, field="released", step_size=TIME_DT, t_max=T).double()
    torch.manual_seed(5)
    with torch.no_grad():
        clex.W_down.normal_(std=0.05)
    before = [p.detach().clone() for p in clex.parameters()]

    weights = [p.detach().clone().requires_grad_() for p in clex.parameters()]
    theirs = small("llama", dtype=torch.float64, attention="sdpa").requires_grad_(False)
    theirs.model.rotary_emb = PlainRotary(released_inv_freq(*weights, T, time_dt=TIME_DT, theta_base=1000.0))
    expected_loss = theirs(ids, labels=ids).loss
    expected = torch.autograd.grad(expected_loss, weights)

    apply_to(model, clex)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE)
    with clex.held_at(T):
        loss = model(ids, labels=ids).loss
    loss.backward()
    optimizer.step()

    torch.testing.assert_close(loss, expected_loss, rtol=1e-7, atol=0)
    for now, was, gradient in zip(clex.parameters(), before, expected, strict=True):
        moved = (was - now.detach()) / RATE
        assert gradient.abs().max() > 1e-4
        assert (moved - gradient).abs().max() <= 1e-5 * gradient.abs().max()


def test_a_few_steps_lower_the_loss():
    ids = tokens(4 * TRAINED)
    model = small("llama").requires_grad_(False)
    clex = CLEX.for_config(model.config, field="log_length")
    apply_to(model, clex)
    optimizer = torch.optim.Adam(clex.parameters(), lr=1e-2)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = model(ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 1e-3
