// SPDX-License-Identifier: MIT
// A user's program for cordage::cuda: a kernel compiles, the CUDA runtime links, words are made on the host.
#include <cordage/cuda.cuh>
#include <cstdio>

void rotate(cudaStream_t stream, const cordage::device_angles<int>& angles, const cordage::heads_view<float>& q) {
    cordage::rotate_forward<cordage::half_split>(cordage::on(stream), angles, cordage::in_place(q));
}

int main() {
    const cordage::basis basis({1.0, 0.5, 0.25, 0.125});
    const auto words = cordage::device_words(basis);
    std::printf("%zu words for the device\n", words.size());
    return words.size() == 14 ? 0 : 1;  // 3 for each pair and 1, made even
}
