// SPDX-License-Identifier: MIT
// A rotation by way of CUDA's runtime: with a device, its numbers, plain and from a graph; without one, the error.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "cordage/cuda.cuh"

using namespace cordage;

namespace {

constexpr heads_shape shape{1, 33, 5, 128};

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

// The largest difference from the scalar backend, after a forward call and, from a graph, an inverse and a forward one
// that may overlap.
double difference() {
    std::vector<double> inv_freq(64);
    for (int i = 0; i < 64; ++i) inv_freq[i] = std::pow(10'000.0, -i / 64.0);
    const basis b(inv_freq, 1.25);
    std::vector<std::int32_t> ids(33);
    for (int i = 0; i < 33; ++i) ids[i] = 65'000'000 * i;
    std::vector<float> x(33 * 5 * 128), found(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.1f * static_cast<float>(i));

    float* q = copied(x);
    const device_angles<std::int32_t> angles(device_basis(copied(device_words(b)), b.pairs()),
                                             {copied(ids), 1, shape.tokens, 0});
    const auto q_view = in_place(token_major(q, shape));
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamCreate(&stream));
    rotate_forward<half_split>(on(stream), angles, q_view);
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    rotate_inverse<half_split>(on(stream).overlapping(), angles, q_view);
    rotate_forward<half_split>(on(stream).overlapping(), angles, q_view);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    check(cudaGraphLaunch(executable, stream));
    check(cudaStreamSynchronize(stream));
    check(cudaMemcpy(found.data(), q, found.size() * sizeof(float), cudaMemcpyDeviceToHost));

    rotate_forward<half_split, backend::scalar>(exact_angles(b, ids), in_place(token_major(x.data(), shape)));
    double largest = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) largest = std::fmax(largest, std::fabs(double{found[i]} - x[i]));
    return largest;
}

}  // namespace

int main() try {
    const double largest = difference();
    std::printf("largest difference %g\n", largest);
    return largest <= 3e-6 ? 0 : 1;
} catch (const cuda_error& e) {
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
