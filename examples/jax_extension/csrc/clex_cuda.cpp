// SPDX-License-Identifier: MIT
// Handlers that XLA calls for CLEX's ODE on a GPU: the weights are copied to the host, where it is solved. The call
// waits for XLA's stream.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <deque>

#include "clex.hpp"

using namespace cordage_jax;

namespace {

/// Copies of a call's buffers in host memory.
class host_copies {
 public:
    explicit host_copies(cudaStream_t stream) : stream_(stream) {}

    ffi::AnyBuffer read(const ffi::AnyBuffer& x) {
        const ffi::AnyBuffer here = empty_like(x);
        copy(here.untyped_data(), x.untyped_data(), x.size_bytes(), cudaMemcpyDeviceToHost);
        return here;
    }
    ffi::AnyBuffer empty_like(const ffi::AnyBuffer& x) {
        memory_.emplace_back(x.size_bytes());
        sizes_.emplace_back(x.dimensions().begin(), x.dimensions().end());
        buffers_.push_back({XLA_FFI_Buffer_STRUCT_SIZE, nullptr, static_cast<XLA_FFI_DataType>(x.element_type()),
                            memory_.back().data(), static_cast<std::int64_t>(sizes_.back().size()),
                            sizes_.back().data()});
        return ffi::AnyBuffer(&buffers_.back());
    }
    void write(const ffi::AnyBuffer& from, const ffi::AnyBuffer& to) {
        copy(to.untyped_data(), from.untyped_data(), to.size_bytes(), cudaMemcpyHostToDevice);
    }
    void wait() const { check(cudaStreamSynchronize(stream_)); }

 private:
    static void check(cudaError_t status) {
        if (status != cudaSuccess) fail<error>({"cordage_jax: CLEX: ", cudaGetErrorString(status)});
    }
    void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
        check(cudaMemcpyAsync(to, from, bytes, kind, stream_));
    }

    cudaStream_t stream_;
    std::deque<std::vector<std::byte>> memory_;
    std::deque<std::vector<std::int64_t>> sizes_;
    std::deque<XLA_FFI_Buffer> buffers_;
};

ffi::Error clex_on_gpu(cudaStream_t stream, ffi::AnyBuffer up, ffi::AnyBuffer down, ffi::AnyBuffer t,
                       ffi::Result<ffi::AnyBuffer> log_alpha, ffi::Result<ffi::AnyBuffer> attention_factor,
                       ffi::Dictionary settings) {
    ffi::Error status;
    const ffi::Error copied = guarded([&] {
        host_copies host(stream);
        const auto u = host.read(up), d = host.read(down), ts = host.read(t);
        const auto alphas = host.empty_like(*log_alpha), factors = host.empty_like(*attention_factor);
        host.wait();
        status = clex(u, d, ts, alphas, factors, settings);
        host.write(alphas, *log_alpha);
        host.write(factors, *attention_factor);
        host.wait();
    });
    return copied.failure() ? copied : status;
}

ffi::Error clex_gradients_on_gpu(cudaStream_t stream, ffi::AnyBuffer up, ffi::AnyBuffer down, ffi::AnyBuffer t,
                                 ffi::AnyBuffer grad_log_alpha, ffi::Result<ffi::AnyBuffer> grad_up,
                                 ffi::Result<ffi::AnyBuffer> grad_down, ffi::Dictionary settings) {
    ffi::Error status;
    const ffi::Error copied = guarded([&] {
        host_copies host(stream);
        const auto u = host.read(up), d = host.read(down), ts = host.read(t), grad = host.read(grad_log_alpha);
        const auto to_up = host.empty_like(*grad_up), to_down = host.empty_like(*grad_down);
        host.wait();
        status = clex_gradients(u, d, ts, grad, to_up, to_down, settings);
        host.write(to_up, *grad_up);
        host.write(to_down, *grad_down);
        host.wait();
    });
    return copied.failure() ? copied : status;
}

using any = ffi::AnyBuffer;

auto on_device() { return ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>(); }

}  // namespace

// All other symbols are hidden.
#pragma GCC visibility push(default)
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_clex, clex_on_gpu,
                              on_device().Arg<any>().Arg<any>().Arg<any>().Ret<any>().Ret<any>().Attrs());
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_clex_gradients, clex_gradients_on_gpu,
                              on_device().Arg<any>().Arg<any>().Arg<any>().Arg<any>().Ret<any>().Ret<any>().Attrs());
#pragma GCC visibility pop
