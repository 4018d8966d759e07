# SPDX-License-Identifier: MIT
"""The parts of examples/tune_basis.py: windows and their gradient, pass keys, starts, the report."""
import math

import pytest
import torch
from small_models import small, tokens
from trained_llama import EXAMPLES  # noqa: F401  puts examples/ on the path
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig
from tuning.measuring import ask, measured_row
from tuning.report import difference, interval, table, verdict
from tuning.starts import BY_PARTS, UNSCALED, Start, clex_from, inverse_digits, points
from tuning.windows import CHUNKS, PrefixKeys, read, window_at

from cordage_torch import CLEX, LearnedTable, Tempered, apply_to

T = 4.0


def window(length=128, begin=None, count=96):
    return window_at(tokens(400, 1)[0], 7, count, length, begin, torch.Generator().manual_seed(3))


def test_a_window_has_chunks_with_gaps_and_a_passage_again():
    dense, gapped = window(96), window(1000, begin=1)
    assert torch.equal(dense.positions, torch.arange(96)) and gapped.positions[-1] == 999 and gapped.positions[0] == 0
    steps = gapped.positions.diff()
    assert (steps >= 1).all() and 1 < (steps > 1).sum() <= CHUNKS - 1
    assert (steps[gapped.behind - 1:] == 1).all() and gapped.behind == 80 and gapped.again == 92
    assert gapped.ids[0] == 1 and torch.equal(gapped.ids[1:], dense.ids[1:])
    again = gapped.ids[gapped.again:]
    assert any(torch.equal(again, gapped.ids[at:at + 4]) for at in range(gapped.behind))
    assert torch.equal(gapped.ids[1:gapped.again], tokens(400, 1)[0, 8:7 + gapped.again])


def whole_losses(model, one):
    """Of one pass over the whole window, whose mask is said, as transformers takes gaps for other texts."""
    logits = model(one.ids[None], position_ids=one.positions[None], attention_mask=torch.ones_like(one.ids[None]), use_cache=False).logits
    return cross_entropy(logits[0, one.behind:-1].float(), one.ids[one.behind + 1:], reduction="none")


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("family", ["llama", "qwen3", "phi3", "gpt_neox", "gemma3_text"])
def test_losses_and_gradients_are_those_of_a_whole_pass(family, attention):
    """Of one layer, whose keys and values do not depend on the basis."""
    more = {"layer_types": ["full_attention"]} if family == "gemma3_text" else {}
    model, one = small(family, attention=attention, dtype=torch.float64, num_hidden_layers=1, **more).requires_grad_(False), window()
    basis = LearnedTable(clex_from(model.config, BY_PARTS, 128), knots=[T])
    if family in ("llama", "qwen3", "gemma3_text"):
        basis = Tempered(basis, power=0.3)
    numbers = [p for p in basis.parameters() if p.requires_grad]
    with apply_to(model, basis), basis.held_at(T):
        expected = whole_losses(model, one)
        keys = PrefixKeys(model, basis, T)
        assert keys.can_turn
        losses = read(model, one, keys).losses
        torch.testing.assert_close(losses, expected)
        for got, wanted in zip(torch.autograd.grad(losses.mean(), numbers), torch.autograd.grad(expected.mean(), numbers)):
            torch.testing.assert_close(got, wanted)
            assert wanted.abs().max() > 1e-6


def test_a_gap_is_not_the_beginning_of_another_text():
    model, one = small("llama", attention="sdpa"), window()
    with torch.no_grad():
        packed = model(one.ids[None], position_ids=one.positions[None], use_cache=False).logits  # as transformers takes it
        assert (cross_entropy(packed[0, one.behind:-1], one.ids[one.behind + 1:]) - read(model, one).losses.mean()).abs() > 1e-3


def encode(text):
    return [3 + ord(letter) % 50 for letter in text]


def test_a_pass_key_is_asked_as_if_its_sentence_stood_in_the_text():
    """Of one layer, in which cached tokens do not see others."""
    model, one = small("llama", num_hidden_layers=1, dtype=torch.float64), window(1000, count=200)
    with torch.no_grad():
        loss, found = ask(model, read(model, one).cache, one, encode, torch.Generator().manual_seed(5))
        draw = torch.Generator().manual_seed(5)
        key = "".join(str(digit) for digit in torch.randint(10, (5,), generator=draw).tolist())
        sentence = torch.tensor(encode(f" The pass key is {key}. Remember it. {key} is the pass key."))
        place = int(torch.randint(1, one.behind - len(sentence), (), generator=draw))
        ids = torch.cat([one.ids[:place], sentence, one.ids[place + len(sentence):],
                         torch.tensor(encode(f" What is the pass key? The pass key is {key}"))])
        positions = torch.cat([one.positions, 1000 + torch.arange(len(ids) - len(one.ids))])
        logits = model(ids[None], position_ids=positions[None], attention_mask=torch.ones_like(ids[None])).logits[0, -6:-1]
        assert loss == pytest.approx(cross_entropy(logits, ids[-5:]).item(), abs=1e-5)  # cross entropy is of float32
        assert found == bool((logits.argmax(-1) == ids[-5:]).all())


def test_a_row_has_a_number_for_each_window():
    row = measured_row(small("llama"), tokens(2000, 1)[0], 3, 300, 32, 600, 1, None, encode, 1)
    assert {name: len(numbers) for name, numbers in row.items()} == {"dense": 3, "chunks": 3, "whole": 1, "digits": 3, "found": 3, "asked": 3}
    assert "digits" not in measured_row(small("llama"), tokens(2000, 1)[0], 2, 96, 32, 600, 0, None, encode, 1)  # no room for a sentence


def test_starts():
    config = LlamaConfig(hidden_size=64, num_attention_heads=2, max_position_embeddings=64)
    own = CLEX.for_config(config, hidden=1)(1.0)
    torch.testing.assert_close(clex_from(config, UNSCALED, 512)(8.0), own, rtol=1e-12, atol=0)
    plain = CLEX.for_config(config, hidden=1, prior=("by_parts", 1, 4), t_max=16.0)
    torch.testing.assert_close(clex_from(config, BY_PARTS, 512)(8.0), plain(8.0), rtol=1e-9, atol=0)
    doubled = clex_from(config, Start(1.0, 4.0, 2.0), 512)
    torch.testing.assert_close(doubled(doubled.t_of(torch.tensor(512)).item()), plain(16.0), rtol=1e-9, atol=0)
    assert [inverse_digits(n, 2) for n in (1, 2, 3, 4)] == [0.5, 0.25, 0.75, 0.125]
    every = points(40)
    assert every[0] == BY_PARTS and len(set(every)) == 40 and points(1) == [BY_PARTS]
    assert all(0.25 <= low <= 2 and 2 <= high / low <= 32 and 1 <= times <= 2 for low, high, times in every)


def test_intervals_and_the_verdict():
    assert interval([1.0, 2.0, 3.0]) == pytest.approx((2.0, 4.303 / math.sqrt(3)))  # by a table of Student's t
    assert interval([1.0]) == (1.0, math.inf)
    rows = {"unscaled": {"dense": [1.0, 1.1, 1.2], "chunks": [9.0, 8.0, 7.0], "found": [0.0] * 3, "asked": [8.0] * 3},
            "closed": {"dense": [1.3, 1.3, 1.5], "chunks": [2.0, 2.1, 2.2], "found": [1.0] * 3, "asked": [8.0] * 3}}

    def learned(dense, chunks):
        rows["learned"] = rows["closed"] | {"dense": [a + b for a, b in zip(rows["closed"]["dense"], dense)],
                                            "chunks": [a + b for a, b in zip(rows["closed"]["chunks"], chunks)]}
        return verdict(rows, "learned")

    better, worse, noise = [-0.2, -0.21, -0.19], [0.2, 0.21, 0.19], [-0.2, 0.1, 0.0]
    assert difference(rows["closed"], rows["unscaled"], "dense")[0] == pytest.approx(0.267, abs=1e-3)
    said = learned(noise, better)
    assert said[0].startswith("learned minus closed: text, dense -0.033 ± ") and said[1].startswith("learning is worth it here: lower loss "
                                                                                                 "of text, chunks")
    assert learned(worse, better)[1] == "learning trades: lower loss of text, chunks, higher of text, dense"
    for small in (noise, [-0.005, -0.0051, -0.0049]):  # which is resolved, and too little
        assert learned(noise, small)[1].startswith("learning is not worth it here: no loss is lower by 0.01 with an interval below 0; use")
    assert learned(worse, noise)[1].startswith("learning is not worth it here: higher loss of text, dense; use closed")
    lines = table(rows)
    assert lines[0].split("  ")[-1] == "pass keys" and lines[2].endswith("3 of 24") and len({len(line) for line in lines}) == 1
