# SPDX-License-Identifier: MIT
"""examples/parallel_ranks.py runs on two processes, and its own checks pass."""
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small_models import TRAINED, small

from cordage_torch import CLEX, apply_to

EXAMPLES = Path(__file__).parents[2]
sys.path.insert(0, str(EXAMPLES))
from parallel_ranks import zigzag  # noqa: E402


def test_two_processes_are_one():
    done = subprocess.run([sys.executable, EXAMPLES / "parallel_ranks.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 ranks: the same bits")


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_zigzag_deals_every_position_once_and_equal_work(ranks):
    shares = [zigzag(rank, ranks, 64) for rank in range(ranks)]
    assert torch.equal(torch.cat(shares).sort().values, torch.arange(64))
    assert len({int(share.sum()) for share in shares}) == 1  # keys that causal attention reads


def test_a_patched_model_on_a_part_of_a_sequence_takes_the_t_it_is_held_at():
    model = small("llama")
    clex = CLEX.for_config(model.config)
    apply_to(model, clex)
    whole, t = torch.arange(4 * TRAINED)[None], 4.0
    expected = clex(t)
    for rank, sees_the_end in ((0, True), (1, False)):
        mine = zigzag(rank, 2, 4 * TRAINED)[None]
        rotation, _ = model.model.rotary_emb(torch.zeros(1), mine)
        assert torch.equal(rotation.inv_freq, expected) == sees_the_end
        with clex.held_at(t):
            rotation, _ = model.model.rotary_emb(torch.zeros(1), mine)
            assert torch.equal(rotation.inv_freq, expected)
    assert torch.equal(model.model.rotary_emb(torch.zeros(1), whole)[0].inv_freq, expected)
