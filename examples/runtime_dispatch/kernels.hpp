// SPDX-License-Identifier: MIT
// The kernels of one instruction set as a table; every unit of the program includes this.
#pragma once

#include "cordage/angles/exact_angles.hpp"
#include "cordage/tensors/operand.hpp"

using angles = cordage::exact_angles<std::int32_t>;
using tensors = cordage::operand_list<cordage::operand<float>>;

struct kernels {
    const char* name;
    void (*forward)(const angles&, tensors, cordage::index_t begin, cordage::index_t end) noexcept;
};

extern const kernels avx512_kernels, avx2_kernels, baseline_kernels;
