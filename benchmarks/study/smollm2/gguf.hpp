// SPDX-License-Identifier: MIT
// Reads a model in a GGUF file (ggml's format, version 2 or 3): its numbers and its tensors; serves the demo on a real
// model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cordage/core/index.hpp"

namespace demo {

using cordage::index_t;

/// A tensor as the file stores it. Shapes are slowest first; ggml writes them the other way round.
struct gguf_tensor {
    std::vector<index_t> shape;
    std::uint32_t type;                ///< ggml's: 0 F32, 1 F16, 2 Q4_0, 3 Q4_1, 8 Q8_0; others cannot be read
    std::span<const std::byte> bytes;  ///< of the file
};

/// A file in memory. Every count and offset is checked against the size of the file, whatever it contains.
class gguf_file {
 public:
    /// @throws std::runtime_error  naming the file, if it cannot be read
    explicit gguf_file(const std::filesystem::path& file);
    /// @throws std::runtime_error  saying what is wrong with these bytes
    explicit gguf_file(std::vector<std::byte> bytes);
    gguf_file(gguf_file&&) = default;

    /// A number or truth value of the metadata, such as "llama.rope.freq_base". @throws std::runtime_error if missing
    double number(const std::string& key) const;
    /// The same as a count, 1 ... 2^31. @throws std::runtime_error if it is not one
    index_t count(const std::string& key) const;
    /// A string of the metadata. @throws std::runtime_error if missing
    const std::string& text(const std::string& key) const;

    /// @throws std::runtime_error  unless there is such a tensor of that shape
    const gguf_tensor& tensor(const std::string& name, const std::vector<index_t>& shape) const;
    /// Its values in float, dequantised as ggml does. @throws std::runtime_error as tensor
    std::vector<float> values(const std::string& name, const std::vector<index_t>& shape) const;

 private:
    void read();

    std::vector<std::byte> bytes_;
    std::map<std::string, double> numbers_;
    std::map<std::string, std::string> texts_;
    std::map<std::string, gguf_tensor> tensors_;
};

}  // namespace demo
