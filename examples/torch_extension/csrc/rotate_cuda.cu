// SPDX-License-Identifier: MIT
// The kernels of cordage::rotate for CUDA, on torch's current stream.
#include <torch/library.h>

#include "cordage/host/aten/rotation.cuh"
#include "rotate.hpp"
#include "rotate_by_table.hpp"

namespace {

struct table_on_gpu {
    static constexpr at::DeviceType device = at::kCUDA;
    static constexpr bool has_double = false;

    explicit table_on_gpu(const at::Tensor& x) : guard_(x.device()), stream_(c10::cuda::getCurrentCUDAStream()) {}

    template <class Pairing, class T>
    void rotate(const auto& table, const auto& both, bool adjoint) const {
        if (adjoint)
            cordage::rotate_backward<Pairing>(cordage::on(stream_), table, both);
        else
            cordage::rotate_forward<Pairing>(cordage::on(stream_), table, both);
    }

 private:
    c10::cuda::CUDAGuard guard_;
    c10::cuda::CUDAStream stream_;
};

}  // namespace

TORCH_LIBRARY_IMPL(cordage, CUDA, m) {
    m.impl("rotate", &cordage_torch::rotate<cordage::aten::on_gpu>);
    m.impl("rotate_backward", &cordage_torch::rotate_backward<cordage::aten::on_gpu>);
    m.impl("rotate_by_table", &cordage_torch::rotate_by_table<table_on_gpu>);
}
