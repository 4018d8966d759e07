// SPDX-License-Identifier: MIT
// The kernels of cordage::rotate_by_table for CUDA, on torch's current stream.
#include "rotate_by_table.hpp"

#include <torch/library.h>

#include "cordage/host/aten/rotation.cuh"

namespace {

struct table_on_gpu {
    static constexpr at::DeviceType device = at::kCUDA;
    static constexpr bool has_double = false;

    explicit table_on_gpu(const at::Tensor& x) : guard_(x.device()), stream_(c10::cuda::getCurrentCUDAStream()) {}

    template <class Pairing, class T>
    void rotate(const auto& table, bool adjoint, const auto&... both) const {
        if (adjoint)
            cordage::rotate_backward<Pairing>(cordage::on(stream_), table, both...);
        else
            cordage::rotate_forward<Pairing>(cordage::on(stream_), table, both...);
    }

 private:
    c10::cuda::CUDAGuard guard_;
    c10::cuda::CUDAStream stream_;
};

}  // namespace

TORCH_LIBRARY_IMPL(cordage, CUDA, m) { m.impl("rotate_by_table", &cordage_torch::rotate_by_table<table_on_gpu>); }
