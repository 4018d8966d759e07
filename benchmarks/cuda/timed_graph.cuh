// SPDX-License-Identifier: MIT
// Calls as the nodes of a CUDA graph, one after the other, timed by events: what the host spends on a launch is left
// out.
#pragma once

#include "device.cuh"

namespace cordage::benchmarks {

class timed_graph {
 public:
    /// Captures enqueue(i) for i = 0 ... nodes - 1 on `stream`.
    template <class Enqueue>
    timed_graph(cudaStream_t stream, int nodes, const Enqueue& enqueue) : stream_(stream), nodes_(nodes) {
        cudaGraph_t graph = nullptr;
        check("cudaStreamBeginCapture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        for (int i = 0; i < nodes; ++i) enqueue(i);
        check("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
        check("cudaGraphInstantiate", cudaGraphInstantiate(&executable_, graph, 0));
        check("cudaGraphDestroy", cudaGraphDestroy(graph));
        check("cudaEventCreate", cudaEventCreate(&begin_));
        check("cudaEventCreate", cudaEventCreate(&end_));
        seconds_of_a_node();  // the first launch uploads the graph
    }
    timed_graph(const timed_graph&) = delete;
    ~timed_graph() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
        cudaGraphExecDestroy(executable_);
    }

    /// Runs the graph once and waits for it.
    double seconds_of_a_node() const {
        float milliseconds = 0.0f;
        check("cudaEventRecord", cudaEventRecord(begin_, stream_));
        check("cudaGraphLaunch", cudaGraphLaunch(executable_, stream_));
        check("cudaEventRecord", cudaEventRecord(end_, stream_));
        check("cudaEventSynchronize", cudaEventSynchronize(end_));
        check("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, begin_, end_));
        return 1e-3 * static_cast<double>(milliseconds) / nodes_;
    }

 private:
    cudaStream_t stream_;
    int nodes_;
    cudaGraphExec_t executable_ = nullptr;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace cordage::benchmarks
