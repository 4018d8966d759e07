// SPDX-License-Identifier: MIT
// DLPack's structs, for programs without dlpack.h: the same layout and field names; a host adapter.
#pragma once

#include <cstddef>
#include <cstdint>

/// The ABI of DLPack 1.x (dmlc/dlpack, dlpack.h), whose layout is unchanged since 1.0. The field names are those of
/// dlpack.h, so that view.hpp reads that header's structs too.
namespace cordage::dlpack {

/// Device of the data. DLPack has more values; these are used here.
enum device_type : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, rocm = 10, rocm_host = 11 };

/// DLDevice.
struct device {
    std::int32_t device_type;
    std::int32_t device_id;
};

/// Kind of an element. DLPack has more values; these are used here.
enum type_code : std::uint8_t { signed_integer = 0, unsigned_integer = 1, floating = 2, brain_floating = 4 };

/// DLDataType.
struct data_type {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;  ///< 1 unless an element is a short vector
};

/// DLTensor.
struct tensor {
    void* data;
    dlpack::device device;
    std::int32_t ndim;
    data_type dtype;
    std::int64_t* shape;
    std::int64_t* strides;      ///< in elements; nullptr (before 1.2) if the tensor is dense
    std::uint64_t byte_offset;  ///< of the first element from data
};

/// DLManagedTensor, before 1.0: has no read-only flag.
struct managed_tensor {
    tensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(managed_tensor* self);
};

/// DLPackVersion.
struct version {
    std::uint32_t major;
    std::uint32_t minor;
};
/// The version that these structs follow.
inline constexpr std::uint32_t major_version = 1;

/// A bit of managed_tensor_versioned::flags: the tensor is read-only.
inline constexpr std::uint64_t read_only_flag = 1;

/// DLManagedTensorVersioned.
struct managed_tensor_versioned {
    dlpack::version version;
    void* manager_ctx;
    void (*deleter)(managed_tensor_versioned* self);
    std::uint64_t flags;
    tensor dl_tensor;
};

static_assert(sizeof(data_type) == 4 && sizeof(device) == 8 && sizeof(version) == 8);
static_assert(sizeof(void*) != 8 || (sizeof(tensor) == 48 && offsetof(tensor, shape) == 24));
static_assert(sizeof(void*) != 8 || (sizeof(managed_tensor_versioned) == 80 && sizeof(managed_tensor) == 64));

}  // namespace cordage::dlpack
