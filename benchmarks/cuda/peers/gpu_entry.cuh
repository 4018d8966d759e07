// SPDX-License-Identifier: MIT
// Wraps a rotating class as an entry of the C interface; serves the libraries of the comparison on a device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu_peer_abi.hpp"

namespace gpu_peers {

/// Calls f(q, k) with pointers to CUDA's own type of the elements.
template <class F>
std::int32_t with_elements(std::int32_t dtype, void* q, void* k, const F& f) {
    const auto call = [&]<class T>(T*) { return static_cast<std::int32_t>(f(static_cast<T*>(q), static_cast<T*>(k))); };
    switch (dtype) {
        case gpu_rope_fp32:
            return call(static_cast<float*>(nullptr));
        case gpu_rope_fp16:
            return call(static_cast<__half*>(nullptr));
        default:
            return call(static_cast<__nv_bfloat16*>(nullptr));
    }
}

/// Kernel is constructed from a gpu_rope_case, or throws if it does not support it, and has int run(q, k, stream).
template <class Kernel>
constexpr gpu_rope_peer gpu_entry(const char* name, gpu_rope_style style) {
    return {.name = name,
            .style = style,
            .setup = [](const gpu_rope_case* c) -> void* {
                try {
                    return new Kernel(*c);
                } catch (...) {  // no exception may cross a C interface: the case is not supported
                    return nullptr;
                }
            },
            .run = [](void* self, void* q, void* k, void* stream) -> std::int32_t {
                try {
                    return static_cast<Kernel*>(self)->run(q, k, static_cast<cudaStream_t>(stream));
                } catch (...) {
                    return -1;
                }
            },
            .release = [](void* self) { delete static_cast<Kernel*>(self); }};
}

}  // namespace gpu_peers
