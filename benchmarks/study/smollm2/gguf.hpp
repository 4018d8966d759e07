// SPDX-License-Identifier: MIT
// The tensors of a GGUF file as float, whatever ggml stores them in; serves the demo on a real model.
#pragma once

#include <string>
#include <vector>

#include "cordage/models/checkpoint/gguf.hpp"

namespace demo {

using cordage::index_t;

/// The values of a tensor in float, dequantised as ggml does: F32, F16, Q4_0, Q4_1 or Q8_0.
/// @throws cordage::value_error  naming the tensor, if it is missing, has another shape or another type, or lies beyond
///                               the end of the file
std::vector<float> values(const cordage::gguf_file& file, const std::string& name, const std::vector<index_t>& shape);

}  // namespace demo
