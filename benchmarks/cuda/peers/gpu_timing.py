# SPDX-License-Identifier: MIT
"""Timing on a device: every implementation's calls are one CUDA graph, and the graphs run alternately."""
import random
import re


class TimedGraph:
    """`calls` calls of `rotate`, on the sets of a case one after the other, as one graph timed by events."""

    def __init__(self, case, rotate):
        import torch

        self.calls = case.calls
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            for _ in range(3):  # compilers and caches of the packages come to rest
                rotate(case.sets[0])
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph), torch.no_grad():
            # Results are kept, so that none lies where the cache still has the one before.
            self.results = [rotate(case.sets[i % len(case.sets)]) for i in range(case.calls)]
        self.seconds()

    def seconds(self):
        self.graph.replay()  # untimed: the device is busy until the host has enqueued what is timed
        self.begin.record()
        self.graph.replay()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end) * 1e-3 / self.calls


def interleaved(graphs, rounds):
    """{name: [seconds of a call, one of each round]}; in every round each graph runs once, in random order."""
    times = {name: [] for name in graphs}
    for number in range(rounds):
        for name in random.Random(number).sample(list(graphs), len(graphs)):
            times[name].append(graphs[name].seconds())
    return times


def one_line(reason):
    """The text of an exception, without the folders of this machine."""
    text = " ".join(f"{type(reason).__name__}: {reason}".split())
    return re.sub(r"(?<![\w:/])/(?:[^\s/:]+/)+", "", text)[:200]


def compare_on(case, makers, make_graph, largest_error, rounds):
    """{"times": {name: [seconds]}, "errors": {name: largest}, "left_out": {name: reason}} of (name, style, prepare).

    Whatever a package throws is the reason why it is left out; one that rotates wrongly is not timed. A style of None
    is no rotation."""
    graphs, errors, left_out, prepared = {}, {}, {}, []
    for name, style, prepare in makers:
        try:
            rotate = prepare(case)
            prepared.append(rotate)
            if style is not None:
                case.fill()
                before = case.sets[0].flat.clone()
                rotated = [y.clone() for y in rotate(case.sets[0])]
                case.sets[0].flat.copy_(before)
                errors[name] = case.error(style, rotated)
                if not errors[name] < largest_error:
                    raise ArithmeticError(f"it rotates wrongly: error {errors[name]:.1e}")
            graphs[name] = make_graph(case, rotate)
        except Exception as reason:  # noqa: BLE001
            errors.pop(name, None)
            left_out[name] = one_line(reason)
    case.fill()
    times = interleaved(graphs, rounds)
    for rotate in prepared:
        getattr(rotate, "close", lambda: None)()
    return {"times": times, "errors": errors, "left_out": left_out}


def compare_once(cases, name, dtype, compare, save):
    """cases[name][dtype] = compare(), unless it is there; save() is called before it begins and when it ends.

    A case that a package ends the process in is there too, so that the next run goes on behind it."""
    if dtype in cases.get(name, {}):
        return
    of_dtypes = cases.setdefault(name, {})
    of_dtypes[dtype] = {"times": {}, "errors": {}, "left_out": {"the whole case": "the process ended in it"}}
    save()
    try:
        of_dtypes[dtype] = compare()
    except Exception as reason:
        of_dtypes[dtype]["left_out"] = {"the whole case": one_line(reason)}
        raise
    except SystemExit:  # out of time: the next run begins with it
        del of_dtypes[dtype]
        raise
    finally:
        save()
