// SPDX-License-Identifier: MIT
// Rotations through the CUDA runtime: with a device their results, directly and from a graph with overlapping kernels;
// without one the error.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "cordage/cuda.cuh"

using namespace cordage;

namespace {

constexpr index_t tokens = 1000, pairs = 64;
constexpr heads_shape shape{1, tokens, 5, 2 * pairs};
constexpr int calls = 8;
constexpr double allowed = 1e-5;  // of 17 rotations in float; wrong order gives errors of 1

void check(cudaError_t status) {
    if (status != cudaSuccess) throw cuda_error("on_device", "a call of the test's", status);
}

template <class T>
T* copied(const std::vector<T>& from) {
    T* to = nullptr;
    check(cudaMalloc(&to, from.size() * sizeof(T)));
    check(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}
template <class T>
std::vector<T> copied_back(const T* from, std::size_t count) {
    std::vector<T> to(count);
    check(cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
}

// Runs what `enqueue` puts on the stream, `calls` times, as one graph.
template <class Enqueue>
void run_graph(cudaStream_t stream, const Enqueue& enqueue) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < calls; ++i) enqueue();
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    check(cudaGraphLaunch(executable, stream));
    check(cudaStreamSynchronize(stream));
}

struct inputs {
    basis b;
    std::vector<std::int32_t> ids;
    std::vector<float> x;
    cudaStream_t stream;
    device_angles<std::int32_t> angles;

    inputs()
        : b(frequencies(), 1.25),
          ids(tokens),
          x(static_cast<std::size_t>(tokens * shape.heads * shape.head_dim)),
          stream(nullptr),
          angles(device_basis(copied(device_words(b)), pairs), {copied(spread_over_int32(ids)), 1, tokens, 0}) {
        check(cudaStreamCreate(&stream));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.1f * static_cast<float>(i));
    }

 private:
    static std::vector<double> frequencies() {
        std::vector<double> inv_freq(pairs);
        for (int i = 0; i < pairs; ++i) inv_freq[i] = std::pow(10'000.0, -i / double{pairs});
        return inv_freq;
    }
    static const std::vector<std::int32_t>& spread_over_int32(std::vector<std::int32_t>& ids) {
        for (int i = 0; i < tokens; ++i) ids[i] = 2'000'000 * i;
        return ids;
    }
};

// The largest difference from the scalar backend, after a forward call and, from a graph, inverse and forward ones that
// may overlap.
double difference(const inputs& in) {
    float* const q = copied(in.x);
    const auto q_view = in_place(token_major(q, shape));
    rotate_forward<half_split>(on(in.stream), in.angles, q_view);
    run_graph(in.stream, [&] {
        rotate_inverse<half_split>(on(in.stream).overlapping(), in.angles, q_view);
        rotate_forward<half_split>(on(in.stream).overlapping(), in.angles, q_view);
    });
    const std::vector<float> found = copied_back(q, in.x.size());
    std::vector<float> expected = in.x;
    rotate_forward<half_split, backend::scalar>(exact_angles(in.b, in.ids),
                                                in_place(token_major(expected.data(), shape)));
    double largest = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        largest = std::fmax(largest, std::fabs(double{found[i]} - double{expected[i]}));
    }
    return largest;
}

// dL/dinv_freq and grad_x of backward passes, each from the grad_x of the one before it. Their second kernel reads what
// the first one just wrote, and the next call's first kernel overwrites that.
std::vector<double> gradients(const inputs& in, const on_stream& where) {
    float* const y = copied(in.x);
    float* const g = copied(in.x);
    double* const sums = copied(std::vector<double>(pairs));
    const index_t size = backward_workspace_size(in.angles, shape);
    double* const workspace = copied(std::vector<double>(static_cast<std::size_t>(size), 1e30));
    const auto view = [](float* x) { return token_major(x, shape); };
    run_graph(in.stream, [&] {
        const rotation_gradients grads{.inv_freq = {sums, static_cast<std::size_t>(pairs)},
                                       .workspace = {workspace, static_cast<std::size_t>(size)}};
        rotate_backward<half_split>(where, in.angles, grads, grad_through(view(g), view(y), view(g)));
    });
    std::vector<double> found = copied_back(sums, static_cast<std::size_t>(pairs));
    const std::vector<float> grad_x = copied_back(g, in.x.size());
    found.insert(found.end(), grad_x.begin(), grad_x.end());
    return found;
}

// An error thrown by a call is cleared from the host's last error.
bool throws_once(const on_stream& where) {
    try {
        where.launch("on_device", backend::empty_kernel{}, {.threads = {4096, 1, 1}, .blocks = {}});
    } catch (const cuda_error&) {
        return cudaPeekAtLastError() == cudaSuccess;
    }
    return false;
}

// Whether kernels that may overlap do: code for older devices does not.
bool is_for_this_device() {
    int device = 0, major = 0;
    cudaFuncAttributes code{};
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    check(cudaFuncGetAttributes(&code, backend::run_kernel<backend::empty_kernel>));
    if (major < 9 || code.ptxVersion >= 90) return true;
    std::printf("compiled for older devices: no kernels overlap; compile it with -arch=native\n");
    return false;
}

bool is_right(const inputs& in) {
    if (!is_for_this_device()) return false;
    const double largest = difference(in);
    const bool is_same = gradients(in, on(in.stream)) == gradients(in, on(in.stream).overlapping());
    const bool is_thrown_once = throws_once(on(in.stream));
    std::printf("largest difference %g; overlapping gradients %s; an error is %s\n", largest,
                is_same ? "the same" : "others", is_thrown_once ? "thrown once" : "left behind");
    return largest <= allowed && is_same && is_thrown_once;
}

}  // namespace

int main() try { return is_right(inputs()) ? 0 : 1; } catch (const cuda_error& e) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) {
        std::printf("%s\n", e.what());
        return 1;
    }
    float x[2] = {};
    const std::int32_t id = 0;
    const std::uint64_t words[5] = {};
    try {
        rotate_forward<half_split>(on(nullptr), device_angles<std::int32_t>(device_basis(words, 1), {&id, 1, 1, 0}),
                                   in_place(token_major(x, {1, 1, 1, 2})));
    } catch (const error& of_launch) {
        std::printf("no device: %s\n", of_launch.what());
        return std::strncmp(of_launch.what(), "rotate_forward: cuda", 20) == 0 ? 0 : 1;
    }
    return 1;
}
