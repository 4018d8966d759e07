# SPDX-License-Identifier: MIT
"""CLEX: against the formulas in torch's own operations, and its settings."""
import pytest
import torch
from released_formula import released_inv_freq
from torch.autograd import gradcheck

from cordage_torch import CLEX, LearnedTable, Tempered


def with_random_weights(clex, size=0.05, seed=3):
    torch.manual_seed(seed)
    with torch.no_grad():
        clex.W_down.normal_(std=size)
    return clex.double()


def test_without_weights_it_is_its_prior():
    for field in ("paper", "log_length"):
        inv_freq = CLEX(8, original_length=16, field=field)(4.0)
        pair = torch.arange(4, dtype=torch.float64)
        torch.testing.assert_close(inv_freq, 10000.0**(-2 * pair / 8) * 4.0**(-2 * pair / 6), rtol=1e-9, atol=0)
    linear = CLEX(8, original_length=16, prior="linear")
    torch.testing.assert_close(linear(4.0), linear(1.0) / 4, rtol=1e-9, atol=0)


@pytest.mark.parametrize("activation", ["tanh", "silu"])
def test_the_released_field_is_the_released_formula(activation):
    clex = with_random_weights(CLEX(8, original_length=16, field="released", activation=activation, step_size=0.05))
    weights = torch.randn(4, dtype=torch.float64)
    mine = torch.autograd.grad((clex(3.0) * weights).sum(), list(clex.parameters()))
    formula = released_inv_freq(clex.W_up, clex.W_down, 3.0, time_dt=0.05, activation=activation)
    torch.testing.assert_close(clex(3.0), formula, rtol=1e-11, atol=0)
    theirs = torch.autograd.grad((formula * weights).sum(), list(clex.parameters()))
    torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("settings", [{"field": "paper"}, {"field": "log_length", "prior": ("by_parts", 0.5, 4.0)},
                                      {"field": "released", "step_size": 0.1},
                                      {"field": "paper", "prior": "yarn", "step_size": 0.1, "activation": "tanh"}])
def test_gradients_at_several_t(settings):
    clex = with_random_weights(CLEX(6, original_length=16, hidden=5, t_max=5.0, **settings))
    ts = torch.tensor([1.5, 4.0], dtype=torch.float64)

    def basis(up, down):
        return torch.func.functional_call(clex, {"W_up": up, "W_down": down}, (ts,))

    assert basis(clex.W_up, clex.W_down).shape == (2, 3)
    # The adaptive solver's steps move with the weights; its values move by less than the tolerance.
    assert gradcheck(basis, (clex.W_up, clex.W_down), eps=1e-5, atol=1e-6)


def test_one_rate_serves_a_table_and_the_ode():
    t, rate = 8.0, 0.01
    clex = CLEX(64, original_length=8192, theta_base=1e5, t_max=t, field="log_length", prior="linear")
    table = LearnedTable(CLEX(64, original_length=8192, theta_base=1e5, t_max=t, field="log_length", prior="linear", hidden=1), knots=[t])
    moved = {}
    for basis in (clex, table):
        optimizer = torch.optim.Adam((p for p in basis.parameters() if p.requires_grad), lr=rate)
        before = basis(t).detach()
        basis(t).log().sum().backward()
        optimizer.step()
        moved[basis] = (before / basis(t).detach()).log().max() / rate
    assert 0.8 < moved[table] < 1 and 0.6 < moved[clex] / torch.log(torch.tensor(t)) < 1.4


def test_attention_factor_is_the_priors():
    _, factor = CLEX(8, original_length=4096, prior="yarn").basis(4.0)
    assert float(factor) == pytest.approx(0.1 * torch.log(torch.tensor(4.0)).item() + 1)


def test_float_weights_get_float_gradients():
    clex = CLEX(8, original_length=16)
    clex(2.0).sum().backward()
    assert clex.W_down.grad.dtype == torch.float32 and clex.W_down.grad.abs().sum() > 0


def test_weights_are_saved_and_loaded():
    clex = with_random_weights(CLEX(8, original_length=16))
    other = CLEX(8, original_length=16).double()
    other.load_state_dict(clex.state_dict())
    assert torch.equal(other(3.3), clex(3.3)) and set(clex.state_dict()) == {"W_up", "W_down"}


def test_t_of_a_length():
    exact, cached = (CLEX(8, original_length=16, cached_t=steps) for steps in (None, (2, 4, 16)))
    assert [float(exact.t_of(torch.tensor(n))) for n in (1, 16, 40, 999)] == [1, 1, 2.5, 16]
    assert [float(cached.t_of(torch.tensor(n))) for n in (1, 32, 33, 999)] == [2, 2, 4, 16]
    with exact.held_at(3.0):
        assert float(exact.t_of(torch.tensor(1))) == 3.0
    assert float(exact.t_of(torch.tensor(1))) == 1.0


@pytest.mark.parametrize("settings, words", [
    ({"rotary_dim": 7}, "rotary_dim 7 must be even"),
    ({"field": "log"}, "field 'log' must be one of"),
    ({"field": "log_time"}, "'released'; 'log_length' is 'log_time' in other units"),
    ({"activation": "relu"}, "activation 'relu' must be 'silu' or 'tanh'"),
    ({"prior": "ntk"}, "prior 'ntk' must be 'ntk_aware'"),
    ({"prior": ()}, "prior '' must be 'ntk_aware'"),
    ({"prior": ("linear", 3.0)}, "prior 'linear' with 1 numbers must have none"),
    ({"prior": ("by_parts", 4.0, 1.0)}, "rotations_high 1 must be finite and >= rotations_low 4"),
    ({"prior": "linear", "field": "released"}, "prior 'linear' must be 'ntk_aware' where field is 'released'"),
    ({"hidden": 0}, "hidden 0 must be >= 1"),
    ({"original_length": 0}, "original_length 0 must be"),
    ({"t_max": 0.5}, "t_max 0.5 must be"),
    ({"tolerance": 0}, "tolerance.relative 0 must be"),
    ({"step_size": -1.0}, "step_size -1 must be"),
    ({"cached_t": [2, 20]}, r"cached_t \[2, 20\] must be"),
])
def test_errors_name_the_setting(settings, words):
    with pytest.raises(ValueError, match=words):
        CLEX(**({"rotary_dim": 8, "original_length": 16} | settings))


@pytest.mark.parametrize("make", [lambda: CLEX(8, original_length=16, cached_t=(2.0, 4.0)),
                                  lambda: LearnedTable(CLEX(8, original_length=16)), lambda: Tempered(CLEX(8, original_length=16))])
def test_a_basis_made_on_meta_is_loaded(make):
    """What is no parameter is on the CPU; once, it was on meta."""
    good = make()
    with torch.device("meta"):
        loaded = make()
    loaded.to_empty(device="cpu")
    loaded.load_state_dict(good.state_dict())
    with torch.device("meta"):
        assert torch.equal(loaded(2.0), good(2.0)) and float(loaded.t_of(torch.tensor(32, device="cpu"))) == 2.0
        with loaded.held_at(3.0):
            assert float(loaded.t_of(torch.tensor(32, device="cpu"))) == 3.0


def test_a_ratio_on_meta_is_refused_and_weights_on_meta_give_a_basis_on_it():
    assert CLEX(8, original_length=16).to("meta")(2.0).is_meta
    with pytest.raises(ValueError, match="CLEX: t on meta must be on cpu"):
        CLEX(8, original_length=16)(torch.tensor(2.0, device="meta"))


def test_t_out_of_range():
    with pytest.raises(ValueError, match=r"t 17 must be in \[1, 16\]"):
        CLEX(8, original_length=16)(17.0)
    with pytest.raises(ValueError, match="held_at: t 0.5"), CLEX(8, original_length=16).held_at(0.5):
        pass
