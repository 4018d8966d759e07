// SPDX-License-Identifier: MIT
// Calls in sequence on a device, timed by events: as the nodes of a CUDA graph, which excludes the host's cost of a
// launch, or as a program enqueues them.
#pragma once

#include <functional>

#include "device.cuh"

namespace cordage::benchmarks {

/// Times what `enqueue` puts on a stream, and waits for it. It runs once untimed before: the host enqueues the second
/// run before the device has finished the first, so that waiting for the host is not timed.
class stopwatch {
 public:
    explicit stopwatch(cudaStream_t stream) : stream_(stream) {
        check("cudaEventCreate", cudaEventCreate(&begin_));
        check("cudaEventCreate", cudaEventCreate(&end_));
    }
    stopwatch(const stopwatch&) = delete;
    ~stopwatch() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }

    template <class Enqueue>
    double seconds(const Enqueue& enqueue) const {
        float milliseconds = 0.0f;
        enqueue();
        check("cudaEventRecord", cudaEventRecord(begin_, stream_));
        enqueue();
        check("cudaEventRecord", cudaEventRecord(end_, stream_));
        check("cudaEventSynchronize", cudaEventSynchronize(end_));
        check("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, begin_, end_));
        return 1e-3 * static_cast<double>(milliseconds);
    }

 private:
    cudaStream_t stream_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// enqueue(i) for i = 0 ... count - 1, captured once.
class graph_of_calls {
 public:
    graph_of_calls(cudaStream_t stream, int count, const std::function<void(int)>& enqueue)
        : stream_(stream), count_(count), watch_(stream) {
        cudaGraph_t graph = nullptr;
        enqueue(0);  // the first launch loads a kernel's code, which must not be captured
        check("cudaStreamBeginCapture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < count; ++i) enqueue(i);
        check("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
        check("cudaGraphInstantiate", cudaGraphInstantiate(&executable_, graph, 0));
        check("cudaGraphDestroy", cudaGraphDestroy(graph));
        seconds_of_a_call();  // the first launch uploads the graph
    }
    graph_of_calls(const graph_of_calls&) = delete;
    ~graph_of_calls() { cudaGraphExecDestroy(executable_); }

    double seconds_of_a_call() const {
        return watch_.seconds([&] { check("cudaGraphLaunch", cudaGraphLaunch(executable_, stream_)); }) / count_;
    }

 private:
    cudaStream_t stream_;
    int count_;
    stopwatch watch_;
    cudaGraphExec_t executable_ = nullptr;
};

/// As above, enqueued each time.
class stream_of_calls {
 public:
    stream_of_calls(cudaStream_t stream, int count, std::function<void(int)> enqueue)
        : count_(count), watch_(stream), enqueue_(std::move(enqueue)) {
        seconds_of_a_call();
    }
    double seconds_of_a_call() const {
        return watch_.seconds([&] {
            for (int i = 0; i < count_; ++i) enqueue_(i);
        }) / count_;
    }

 private:
    int count_;
    stopwatch watch_;
    std::function<void(int)> enqueue_;
};

}  // namespace cordage::benchmarks
