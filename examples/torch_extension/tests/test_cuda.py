# SPDX-License-Identifier: MIT
"""What only a GPU has: no synchronisation, CUDA graphs, streams, numbers in its memory. Other tests run on both devices."""
import pytest
import torch
from gradients import check_gradients, leaf
from test_rotation import INV_FREQ, plain, q_and_k

from cordage_torch import PagedCache, RMSNorm, move, rotate, rotate_and_store, rotate_by_table, scale_queries

pytestmark = pytest.mark.usefixtures("gpu")
FACTOR = torch.tensor(1.25, dtype=torch.float64)


class step:
    """Every function once, forward and backward, on tensors of a GPU."""

    def __init__(self, gpu, stored=torch.int8):
        torch.manual_seed(3)
        self.q, self.k, self.v = (torch.randn(1, 2, 70, 8, device=gpu, requires_grad=True) for _ in range(3))
        self.ids, self.slots = torch.arange(70, device=gpu), torch.arange(70, device=gpu).flip(0)
        self.weights = [torch.randn(8, device=gpu, requires_grad=True) for _ in range(2)]
        self.scale, self.bias = torch.rand(2, device=gpu), torch.ones(2, device=gpu)
        self.direction = torch.randn(1, 2, 70, 8, device=gpu)
        self.stored, self.gpu = stored, gpu

    def __call__(self, inv_freq, attention_factor=1.0):
        """Results and gradients to all that has one."""
        angles = {"position_ids": self.ids, "inv_freq": inv_freq, "attention_factor": attention_factor}
        norm = RMSNorm(*self.weights)
        plain_q, = rotate(self.q, **angles)
        normed = rotate(self.q, self.k, norm=norm, **angles)
        inputs = [x for x in (self.q, self.k, *self.weights, inv_freq, attention_factor)
                  if isinstance(x, torch.Tensor) and x.requires_grad]
        grads = torch.autograd.grad([plain_q, *normed], inputs, [self.direction] * 3)
        with torch.no_grad():
            cos = torch.cos(self.ids[None, :, None] * torch.ones(3, device=self.gpu))
            by_table, = rotate_by_table(self.q, cos=cos, sin=cos)
            cache = PagedCache.zeros(10, 8, 2, 8, dtype=self.stored, device=self.gpu)
            stored_q = rotate_and_store(self.q, self.k, self.v, cache=cache, slot_mapping=self.slots, norm=norm, **angles)
            move(cache, self.slots, self.slots + 10, from_position_ids=self.ids, position_ids=self.ids + 5, inv_freq=inv_freq)
            scaled = scale_queries(self.q, scale=self.scale, bias=self.bias, position_ids=self.ids)
        results = (plain_q, *normed, *grads, by_table, stored_q, scaled, *cache[:4])
        return [x.detach().clone() for x in results if x is not None]


def test_float64_is_refused():
    with pytest.raises(ValueError, match="on a GPU must be float32"):
        rotate(torch.zeros(1, 1, 2, 4, dtype=torch.float64, device="cuda"), position_ids=torch.arange(2, device="cuda"),
               inv_freq=torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_a_call_waits_for_nothing(where, gpu):
    """Of numbers on the CPU only those without a gradient, which must go there."""
    run, numbers = step(gpu), (leaf(INV_FREQ, where), leaf(FACTOR, where))
    if where == "cuda":
        numbers = [x.requires_grad_() for x in numbers]
    run(*numbers)
    torch.cuda.set_sync_debug_mode("error")
    try:
        run(*numbers)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_graph_keeps_numbers_of_the_cpu(gpu):
    run = step(gpu)
    theta = [INV_FREQ * x for x in torch.linspace(1.0, 0.5, 40).tolist()]  # more than torch's pool has streams
    run(theta[0])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # all but the first are on no device yet
        captured = [run(one) for one in theta]
    for i in range(200):  # other bases in their places
        rotate(run.q, position_ids=run.ids, inv_freq=INV_FREQ / (i + 7))
    with torch.no_grad():
        run.q.mul_(2)
    graph.replay()
    for one, got in zip(theta, captured, strict=True):
        assert all(torch.equal(mine, wanted) for mine, wanted in zip(got, run(one), strict=True))


def test_a_graph_follows_numbers_on_the_gpu(gpu):
    run, inv_freq, factor = step(gpu), INV_FREQ.to(gpu).requires_grad_(), FACTOR.to(gpu).requires_grad_()
    side = torch.cuda.Stream()  # as torch asks for before a capture with a backward pass
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run(inv_freq, factor)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run(inv_freq, factor)
    with torch.no_grad():
        inv_freq.copy_(INV_FREQ.flip(0))
        factor.fill_(0.5)
    graph.replay()
    expected = run(INV_FREQ.flip(0).to(gpu).requires_grad_(), torch.tensor(0.5, dtype=torch.float64, device=gpu, requires_grad=True))
    assert all(torch.equal(mine, wanted) for mine, wanted in zip(captured, expected, strict=True))


@pytest.mark.parametrize("norm", [False, True])
def test_gradients_to_numbers_on_the_cpu(norm, gpu):
    """Other tests have the numbers on the GPU."""
    q, k = q_and_k(requires_grad=True)
    ids = torch.rand(5, dtype=torch.float64).mul(9).requires_grad_()
    inputs = (q, k, ids, INV_FREQ.clone().requires_grad_(), FACTOR.clone().requires_grad_())

    def rotated(q, k, ids, inv_freq, factor):
        return rotate(q, k, position_ids=ids, inv_freq=inv_freq.cpu(), attention_factor=factor.cpu(),
                      norm=RMSNorm() if norm else None)

    check_gradients(rotated, inputs, gpu)


def test_numbers_on_the_gpu_are_exact_at_far_positions(gpu):
    ids = torch.tensor([0, -7, 2**31 - 5, 123_456_789], device=gpu)
    x, theta = torch.randn(1, 1, 4, 8, device=gpu), torch.tensor([1.0, -0.31, 1e-9, 3.7e5], dtype=torch.float64)
    on_cpu, = rotate(x, position_ids=ids, inv_freq=theta)
    on_gpu, = rotate(x, position_ids=ids, inv_freq=theta.to(gpu))
    assert torch.equal(on_cpu, on_gpu)


def test_invalid_numbers_on_the_gpu_are_not_numbers(gpu):
    q, ids = torch.ones(1, 1, 3, 8, device=gpu), torch.tensor([0.0, float("inf"), 1.0], device=gpu)
    good = INV_FREQ.to(gpu)
    got, = rotate(q, position_ids=ids, inv_freq=good)
    assert got[..., :6].isnan().any(-1).flatten().tolist() == [False, True, False]
    for bad in ({"inv_freq": good * float("nan")}, {"inv_freq": good * 1e300}, {"inv_freq": good, "attention_factor": FACTOR.to(gpu) * 0}):
        assert rotate(q, position_ids=torch.arange(3, device=gpu), **bad)[0][..., :6].isnan().all()


def test_numbers_of_two_devices_are_refused(gpu):
    q, ids = torch.zeros(1, 1, 2, 6, device=gpu), torch.arange(2, device=gpu)
    with pytest.raises(ValueError, match="attention_factor on cuda:0 must be on cpu, or on the GPU where inv_freq is, on cpu"):
        rotate(q, position_ids=ids, inv_freq=INV_FREQ, attention_factor=FACTOR.to(gpu))
    with pytest.raises(ValueError, match=r"x\[0\] on cpu must be on cuda"):
        rotate(q.cpu(), position_ids=ids.cpu(), inv_freq=INV_FREQ.to(gpu))


def test_a_call_on_another_stream(gpu):
    q, k = q_and_k(torch.float32, device=gpu)
    ids, stream = torch.arange(5, device=gpu), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        q.mul_(2)  # the rotation waits for it, being on its stream
        got, _ = rotate(q, k, position_ids=ids, inv_freq=INV_FREQ.to(gpu))
    stream.synchronize()
    torch.testing.assert_close(got.cpu().double(), plain(q.cpu().double(), ids.cpu(), INV_FREQ), rtol=0, atol=4e-6)


def test_slots_that_move_over_each_other(gpu):
    """All are read before one is written, in any order; a slot outside the cache is skipped."""
    torch.manual_seed(5)
    keys, values = (torch.randn(4, 8, 2, 8, device=gpu) for _ in range(2))
    cache, ids = PagedCache(keys.clone(), values.clone()), torch.arange(6, device=gpu)
    old, new = (torch.tensor(x, device=gpu) for x in ([0, 1, 2, 3, -1, 32], [1, 2, 3, 0, 9, 10]))
    move(cache, old, new, from_position_ids=ids, position_ids=ids + 3, inv_freq=INV_FREQ)
    wanted, = rotate(keys.flatten(0, 1)[None, :4], position_ids=torch.full((4,), 3, device=gpu), inv_freq=INV_FREQ, heads_first=False)
    torch.testing.assert_close(cache.keys.flatten(0, 1)[new[:4]], wanted[0], rtol=0, atol=4e-6)
    assert torch.equal(cache.values.flatten(0, 1)[new[:4]], values.flatten(0, 1)[old[:4]])
    assert torch.equal(cache.keys.flatten(0, 1)[4:], keys.flatten(0, 1)[4:])
