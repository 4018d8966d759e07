// SPDX-License-Identifier: MIT
// A tensor like ggml's, without ggml, for tests and fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>

/// The fields of a ggml_tensor that the adapter reads.
struct fake_tensor {
    int type = 0;
    std::int64_t ne[4] = {1, 1, 1, 1};
    std::size_t nb[4] = {};
    fake_tensor* src[10] = {};
    void* data = nullptr;
};
