// SPDX-License-Identifier: MIT
// The structs of host/dlpack/abi.hpp compared with those of DLPack's header, which host/dlpack/view.hpp also reads.
#include <dlpack/dlpack.h>

#include "cordage/host/dlpack/view.hpp"

namespace dl = cordage::dlpack;

#define SAME_PLACE(ours, theirs, field) static_assert(offsetof(ours, field) == offsetof(theirs, field))

static_assert(sizeof(dl::tensor) == sizeof(DLTensor) && sizeof(dl::data_type) == sizeof(DLDataType));
SAME_PLACE(dl::tensor, DLTensor, data);
SAME_PLACE(dl::tensor, DLTensor, device);
SAME_PLACE(dl::tensor, DLTensor, ndim);
SAME_PLACE(dl::tensor, DLTensor, dtype);
SAME_PLACE(dl::tensor, DLTensor, shape);
SAME_PLACE(dl::tensor, DLTensor, strides);
SAME_PLACE(dl::tensor, DLTensor, byte_offset);
SAME_PLACE(dl::device, DLDevice, device_type);
SAME_PLACE(dl::device, DLDevice, device_id);
SAME_PLACE(dl::data_type, DLDataType, code);
SAME_PLACE(dl::data_type, DLDataType, bits);
SAME_PLACE(dl::data_type, DLDataType, lanes);

static_assert(sizeof(dl::managed_tensor) == sizeof(DLManagedTensor));
SAME_PLACE(dl::managed_tensor, DLManagedTensor, dl_tensor);
SAME_PLACE(dl::managed_tensor, DLManagedTensor, manager_ctx);
SAME_PLACE(dl::managed_tensor, DLManagedTensor, deleter);

static_assert(sizeof(dl::managed_tensor_versioned) == sizeof(DLManagedTensorVersioned));
SAME_PLACE(dl::managed_tensor_versioned, DLManagedTensorVersioned, version);
SAME_PLACE(dl::managed_tensor_versioned, DLManagedTensorVersioned, manager_ctx);
SAME_PLACE(dl::managed_tensor_versioned, DLManagedTensorVersioned, deleter);
SAME_PLACE(dl::managed_tensor_versioned, DLManagedTensorVersioned, flags);
SAME_PLACE(dl::managed_tensor_versioned, DLManagedTensorVersioned, dl_tensor);
SAME_PLACE(dl::version, DLPackVersion, major);
SAME_PLACE(dl::version, DLPackVersion, minor);

static_assert(dl::major_version == DLPACK_MAJOR_VERSION);
static_assert(dl::read_only_flag == DLPACK_FLAG_BITMASK_READ_ONLY);
static_assert(int{dl::cpu} == kDLCPU && int{dl::cuda} == kDLCUDA && int{dl::cuda_host} == kDLCUDAHost);
static_assert(int{dl::rocm} == kDLROCM && int{dl::rocm_host} == kDLROCMHost);
static_assert(int{dl::signed_integer} == kDLInt && int{dl::unsigned_integer} == kDLUInt &&
              int{dl::floating} == kDLFloat && int{dl::brain_floating} == kDLBfloat);

int main() {
    float data[3 * 2 * 8] = {};
    std::int64_t shape[] = {3, 2, 8}, strides[] = {16, 8, 1};
    const DLTensor theirs{data, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shape, strides, 0};
    DLManagedTensorVersioned managed{{1, 0}, nullptr, nullptr, DLPACK_FLAG_BITMASK_READ_ONLY, theirs};
    const auto view = dl::view<float>(theirs, dl::axes::tokens_heads);
    const dl::owned held(&managed);
    return view.data == data && view.shape.tokens == 3 && held.is_read_only() ? 0 : 1;
}
