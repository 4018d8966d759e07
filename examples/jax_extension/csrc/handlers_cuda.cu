// SPDX-License-Identifier: MIT
// Handlers that XLA calls for a GPU: the rotation, its gradient, and moves of cached keys, on XLA's stream. Nothing
// synchronises.
#include <cuda_runtime.h>

#include <algorithm>

#include "buffers.hpp"
#include "cordage/backend/cuda/basis_words.cuh"
#include "cordage/cuda.cuh"

using namespace cordage_jax;

namespace {

/// XLA's stream, and memory of the device that lasts as long as a call.
struct device_call {
    cudaStream_t stream;
    ffi::ScratchAllocator& memory;

    template <class T>
    T* allocated(index_t count) const {
        const auto found = memory.Allocate(sizeof(T) * static_cast<std::size_t>(std::max<index_t>(count, 1)), 256);
        if (!found || *found == nullptr) throw std::bad_alloc();
        return static_cast<T*>(*found);
    }
    std::span<double> zeros(index_t count) const {
        double* const numbers = allocated<double>(count);
        check(cudaMemsetAsync(numbers, 0, sizeof(double) * static_cast<std::size_t>(count), stream));
        return {numbers, static_cast<std::size_t>(count)};
    }
    static void check(cudaError_t status) {
        if (status != cudaSuccess) throw cuda_error("cordage_jax", "a kernel or memset", status);
    }
};

/// Numbers of float32 or float64 in device memory.
struct real_numbers {
    void* data = nullptr;
    bool is_double = false;

    real_numbers() = default;
    real_numbers(const char* name, const ffi::AnyBuffer& x)
        : data(x.untyped_data()), is_double(x.element_type() == ffi::F64) {
        if (!is_double && x.element_type() != ffi::F32) {
            fail<value_error>({"cordage_jax: ", name, " must be float32 or float64"});
        }
    }
    __device__ double operator[](index_t i) const {
        return is_double ? static_cast<const double*>(data)[i] : static_cast<const float*>(data)[i];
    }
    __device__ void set(index_t i, double x) const {
        if (is_double)
            static_cast<double*>(data)[i] = x;
        else
            static_cast<float*>(data)[i] = static_cast<float>(x);
    }
};

/// inv_freq exp(log_alpha) for launch_basis_words, inv_freq by value, as it is an attribute in host memory.
class basis_numbers {
 public:
    /// @param log_alpha  [bases, pairs]; data null: 0
    basis_numbers(ffi::Span<const double> inv_freq, double attention_factor, const real_numbers& log_alpha)
        : log_alpha_(log_alpha), pairs_(static_cast<index_t>(inv_freq.size())), factor_(attention_factor) {
        if (pairs_ > most_pairs) {
            fail<value_error>(
                {"cordage_jax: inv_freq of ", pairs_, " pairs must have at most ", most_pairs, " on a GPU"});
        }
        std::copy(inv_freq.begin(), inv_freq.end(), rates_);
    }
    __device__ double inv_freq(index_t basis, index_t pair) const {
        const double a = log_alpha_.data == nullptr ? 0.0 : log_alpha_[basis * pairs_ + pair];
        return a == 0.0 ? rates_[pair] : rates_[pair] * exp(a);
    }
    __device__ double attention_factor(index_t) const { return factor_; }

    device_basis launch(const device_call& call, index_t bases) const {
        auto* const words = call.allocated<std::uint64_t>(device_words_size(pairs_, bases));
        return backend::launch_basis_words(call.stream, *this, pairs_, bases, words);
    }

 private:
    static constexpr index_t most_pairs = 256;

    real_numbers log_alpha_;
    index_t pairs_;
    double factor_;
    double rates_[most_pairs] = {};
};

device_basis bases_of(const device_call& call, ffi::Span<const double> inv_freq, double attention_factor,
                      const ffi::AnyBuffer& log_alpha, index_t rows) {
    const auto sizes = sizes_of(log_alpha);
    const auto pairs = static_cast<index_t>(inv_freq.size());
    if (sizes.size() != 2 || (sizes[0] != 1 && sizes[0] != rows) || sizes[1] != pairs) {
        fail<shape_error>({"cordage_jax: log_alpha must be [1 or rows ", rows, ", rotary_dim/2 ", pairs, "]"});
    }
    return basis_numbers(inv_freq, attention_factor, {"log_alpha", log_alpha}).launch(call, sizes[0]);
}

constexpr unsigned threads = 256;
unsigned blocks_for(index_t count) {
    return static_cast<unsigned>(std::clamp<index_t>(rounded_up_quotient(count, threads), 1, 65'535));
}

template <class Given>
__global__ void widen(const Given* from, double* to, index_t count) {
    const index_t step = index_t{gridDim.x} * blockDim.x;
    for (index_t i = index_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        to[i] = static_cast<double>(from[i]);
    }
}

/// Positions [rows, tokens] of x as doubles, so that kernels are compiled for few types.
position_view<double> positions_of(const device_call& call, const char* name, const ffi::AnyBuffer& ids,
                                   const ffi::AnyBuffer& x) {
    const auto sizes = sizes_of(ids), wanted = sizes_of(x);
    if (sizes.size() != 2 || sizes[0] != wanted.at(0) || sizes[1] != wanted.at(1)) {
        fail<shape_error>({"cordage_jax: ", name, " must be [rows, tokens] of x"});
    }
    const auto view = [&](const double* first) { return position_view<double>(first, sizes[0], sizes[1], sizes[1]); };
    const auto widened = [&]<class Given>(Given) {
        const index_t count = sizes[0] * sizes[1];
        auto* const wide = call.allocated<double>(count);
        widen<<<blocks_for(count), threads, 0, call.stream>>>(data_of<const Given>(ids), wide, count);
        device_call::check(cudaGetLastError());
        return view(wide);
    };
    switch (ids.element_type()) {
        case ffi::S32:
            return widened(std::int32_t{});
        case ffi::S64:
            return widened(std::int64_t{});
        case ffi::F32:
            return widened(float{});
        case ffi::F64:
            return view(data_of<const double>(ids));
        default:
            fail<value_error>({"cordage_jax: ", name, " must be int32, int64, float32 or float64"});
    }
}
/// As for_type, for types that a GPU rotates.
template <class Body>
void for_device_type(const char* name, const ffi::AnyBuffer& x, const Body& body) {
    for_type(name, x, [&]<class T>(T) {
        if constexpr (std::same_as<T, double>) {
            fail<value_error>({"cordage_jax: ", name, " on a GPU must be float32, float16 or bfloat16"});
        } else {
            body(T{});
        }
    });
}

// Handlers --------------------------------------------------------------------------------------------------------

ffi::Error rotate(cudaStream_t stream, ffi::ScratchAllocator memory, ffi::AnyBuffer x, ffi::AnyBuffer position_ids,
                  ffi::AnyBuffer log_alpha, ffi::Result<ffi::AnyBuffer> y, ffi::Span<const double> inv_freq,
                  double attention_factor, bool is_interleaved, bool is_adjoint) {
    return guarded([&] {
        const device_call call{stream, memory};
        const device_basis bases = bases_of(call, inv_freq, attention_factor, log_alpha, sizes_of(x).at(0));
        const exact_angles angles(bases, positions_of(call, "position_ids", position_ids, x));
        for_device_type("x", x, [&]<class T>(T) {
            const auto operand = from_to(heads_of<const T>(x), heads_of<T>(*y));
            for_pairing(is_interleaved, [&]<class Pairing>(Pairing) {
                if (is_adjoint) {
                    rotate_backward<Pairing>(on(stream), angles, operand);
                } else {
                    rotate_forward<Pairing>(on(stream), angles, operand);
                }
            });
        });
    });
}

/// to_log_alpha = inv_freq to_inv_freq; both gradients in their types.
__global__ void write_gradients(const double* inv_freq, const double* to_inv_freq, real_numbers to_log_alpha,
                                index_t numbers, const double* to_position, real_numbers to_positions,
                                index_t positions) {
    const index_t step = index_t{gridDim.x} * blockDim.x, first = index_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (index_t i = first; i < numbers; i += step) to_log_alpha.set(i, inv_freq[i] * to_inv_freq[i]);
    for (index_t i = first; i < positions; i += step) to_positions.set(i, to_position[i]);
}

ffi::Error rotate_gradients(cudaStream_t stream, ffi::ScratchAllocator memory, ffi::AnyBuffer grad_y, ffi::AnyBuffer y,
                            ffi::AnyBuffer position_ids, ffi::AnyBuffer log_alpha, ffi::Result<ffi::AnyBuffer> grad_x,
                            ffi::Result<ffi::AnyBuffer> grad_log_alpha, ffi::Result<ffi::AnyBuffer> grad_positions,
                            ffi::Span<const double> inv_freq, double attention_factor, bool is_interleaved) {
    return guarded([&] {
        const device_call call{stream, memory};
        const device_basis bases = bases_of(call, inv_freq, attention_factor, log_alpha, sizes_of(y).at(0));
        const exact_angles angles(bases, positions_of(call, "position_ids", position_ids, y));
        const auto numbers = static_cast<index_t>(log_alpha.element_count());
        const auto positions = static_cast<index_t>(position_ids.element_count());
        rotation_gradients grads{.inv_freq = call.zeros(numbers), .position_ids = call.zeros(positions)};
        for_device_type("x", y, [&]<class T>(T) {
            const auto operand = grad_through(heads_of<const T>(grad_y), heads_of<const T>(y), heads_of<T>(*grad_x));
            const index_t size = backward_workspace_size(angles, operand.shape());
            grads.workspace = {call.allocated<double>(size), static_cast<std::size_t>(size)};
            for_pairing(is_interleaved,
                        [&]<class Pairing>(Pairing) { rotate_backward<Pairing>(on(stream), angles, grads, operand); });
        });
        write_gradients<<<blocks_for(std::max(numbers, positions)), threads, 0, stream>>>(
            bases.view().inv_freq, grads.inv_freq.data(), {"grad_log_alpha", *grad_log_alpha}, numbers,
            grads.position_ids.data(), {"grad_positions", *grad_positions}, positions);
        device_call::check(cudaGetLastError());
    });
}

ffi::Error move(cudaStream_t stream, ffi::ScratchAllocator memory, ffi::AnyBuffer keys, ffi::AnyBuffer old_positions,
                ffi::AnyBuffer new_positions, ffi::Result<ffi::AnyBuffer> moved, ffi::Span<const double> from_inv_freq,
                double from_factor, ffi::Span<const double> to_inv_freq, double to_factor, bool is_interleaved) {
    return guarded([&] {
        const device_call call{stream, memory};
        const device_basis from = basis_numbers(from_inv_freq, from_factor, {}).launch(call, 1);
        const device_basis to = basis_numbers(to_inv_freq, to_factor, {}).launch(call, 1);
        const exact_angles before(from, positions_of(call, "old_positions", old_positions, keys));
        const exact_angles after(to, positions_of(call, "new_positions", new_positions, keys));
        for_device_type("keys", keys, [&]<class T>(T) {
            const auto operand = from_to(heads_of<const T>(keys), heads_of<T>(*moved));
            for_pairing(is_interleaved,
                        [&]<class Pairing>(Pairing) { rebase<Pairing>(on(stream), after - before, operand); });
        });
    });
}

using buffer = ffi::AnyBuffer;
using numbers = ffi::Span<const double>;

auto on_device() { return ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>().Ctx<ffi::ScratchAllocator>(); }

}  // namespace

// All other symbols are hidden.
#pragma GCC visibility push(default)
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_rotate, rotate,
                              on_device()
                                  .Arg<buffer>()
                                  .Arg<buffer>()
                                  .Arg<buffer>()
                                  .Ret<buffer>()
                                  .Attr<numbers>("inv_freq")
                                  .Attr<double>("attention_factor")
                                  .Attr<bool>("is_interleaved")
                                  .Attr<bool>("is_adjoint"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_rotate_gradients, rotate_gradients,
                              on_device()
                                  .Arg<buffer>()
                                  .Arg<buffer>()
                                  .Arg<buffer>()
                                  .Arg<buffer>()
                                  .Ret<buffer>()
                                  .Ret<buffer>()
                                  .Ret<buffer>()
                                  .Attr<numbers>("inv_freq")
                                  .Attr<double>("attention_factor")
                                  .Attr<bool>("is_interleaved"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_move, move,
                              on_device()
                                  .Arg<buffer>()
                                  .Arg<buffer>()
                                  .Arg<buffer>()
                                  .Ret<buffer>()
                                  .Attr<numbers>("from_inv_freq")
                                  .Attr<double>("from_factor")
                                  .Attr<numbers>("to_inv_freq")
                                  .Attr<double>("to_factor")
                                  .Attr<bool>("is_interleaved"));
#pragma GCC visibility pop
