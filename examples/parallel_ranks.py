# SPDX-License-Identifier: MIT
"""Context, tensor and data parallelism: a rank needs only its positions, its heads and the common t.

Two processes (gloo) rotate their shares with the same bits as one process, and train a CLEX to the same weights.
"""
import copy
import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM

from cordage_torch import CLEX, apply_to, rotate

RANKS, TOKENS, HEADS, L = 2, 256, 4, 32


def zigzag(rank: int, ranks: int, tokens: int) -> torch.Tensor:
    """The positions of a rank: 2 of 2*ranks equal pieces, one from the front and one from the back, so that causal
    attention takes the same time on every rank."""
    pieces = torch.arange(tokens).chunk(2 * ranks)
    return torch.cat([pieces[rank], pieces[2 * ranks - 1 - rank]])


def rotate_shares(rank: int) -> None:
    torch.manual_seed(0)
    q = torch.randn(1, HEADS, TOKENS, 64)
    grad = torch.randn_like(q)
    inv_freq = CLEX(64, original_length=L)(TOKENS / L).detach().requires_grad_()  # of the whole length, on all ranks
    whole, = rotate(q, position_ids=torch.arange(TOKENS), inv_freq=inv_freq)
    expected, = torch.autograd.grad(whole, inv_freq, grad)

    mine = zigzag(rank, RANKS, TOKENS)  # context parallel: the true positions of the rank's tokens
    y, = rotate(q[:, :, mine], position_ids=mine, inv_freq=inv_freq)
    assert torch.equal(y, whole[:, :, mine])
    of_heads = slice(rank * HEADS // RANKS, (rank + 1) * HEADS // RANKS)  # tensor parallel: a slice of the heads
    z, = rotate(q[:, of_heads], position_ids=torch.arange(TOKENS), inv_freq=inv_freq)
    assert torch.equal(z, whole[:, of_heads])
    for part, its_grad in ((y, grad[:, :, mine]), (z, grad[:, of_heads])):
        of_basis, = torch.autograd.grad(part, inv_freq, its_grad)
        dist.all_reduce(of_basis)  # the basis is shared: its gradient is the sum over ranks
        torch.testing.assert_close(of_basis, expected, rtol=1e-6, atol=1e-6 * expected.abs().max().item())


def train_shares(rank: int) -> None:
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                                         num_attention_heads=HEADS, max_position_embeddings=L)).double()
    model.requires_grad_(False)
    alone, text = copy.deepcopy(model), torch.randint(64, (4, 4 * L))
    share = text.chunk(RANKS)[rank]
    clex = CLEX.for_config(model.config, field="log_length", prior=("by_parts", 0.5, 4.0)).double()
    clex_alone = copy.deepcopy(clex)
    apply_to(model, clex), apply_to(alone, clex_alone)
    for net, basis, ids in ((DistributedDataParallel(model), clex, share), (alone, clex_alone, text)):
        optimizer = torch.optim.Adam(basis.parameters(), lr=1e-2)
        for _ in range(3):
            optimizer.zero_grad()
            net(ids, labels=ids).loss.backward()
            optimizer.step()
    for together, by_one in zip(clex.parameters(), clex_alone.parameters(), strict=True):
        torch.testing.assert_close(together, by_one, rtol=0, atol=1e-9)
    assert clex.W_down.abs().max() > 0.01


def run(rank: int, meeting_point: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting_point}", rank=rank, world_size=RANKS)
    rotate_shares(rank)
    train_shares(rank)
    dist.barrier()
    if rank == 0:
        print(f"{RANKS} ranks: the same bits of zig-zag and head slices, the same trained CLEX")
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(run, (f"{folder}/meeting",), nprocs=RANKS)
