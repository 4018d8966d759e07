// SPDX-License-Identifier: MIT
// Writes small safetensors files and indices for the tests of the host adapters.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/pair/format.hpp"

namespace cordage_test {

/// The lowest `size` bytes of x, little-endian.
inline std::string little_endian(std::uint64_t x, std::size_t size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(static_cast<unsigned char>(x >> (8 * i)));
    return bytes;
}

/// A file in the format, with any header and data.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
    return little_endian(header.size(), 8) + header + data;
}

/// x in a dtype of the format.
inline std::string element_bytes(std::string_view dtype, double x) {
    const auto narrow = static_cast<float>(x);
    if (dtype == "F64") return little_endian(std::bit_cast<std::uint64_t>(x), 8);
    if (dtype == "F32") return little_endian(std::bit_cast<std::uint32_t>(narrow), 4);
    if (dtype == "F16") return little_endian(cordage::to_float16(narrow).bits, 2);
    return little_endian(cordage::to_bfloat16(narrow).bits, 2);
}

struct tensor_to_write {
    std::string name, dtype, shape;  ///< shape as in the header: "[2, 3]"
    std::vector<double> numbers;
};

/// The bytes of a file of these tensors, concatenated.
inline std::string safetensors_bytes(const std::vector<tensor_to_write>& tensors) {
    std::string header = "{\"__metadata__\": {\"format\": \"pt\"}", data;
    for (const auto& tensor : tensors) {
        const std::size_t begin = data.size();
        for (const double x : tensor.numbers) data += element_bytes(tensor.dtype, x);
        header += ", \"" + tensor.name + "\": {\"dtype\": \"" + tensor.dtype + "\", \"shape\": " + tensor.shape +
                  ", \"data_offsets\": [" + std::to_string(begin) + ", " + std::to_string(data.size()) + "]}";
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return safetensors_bytes(header, data);
}

/// A temporary folder, removed with its files at the end of the test.
class temporary_folder {
 public:
    temporary_folder() {
        static std::atomic<int> next = 0;
        const auto here = reinterpret_cast<std::uintptr_t>(this);
        do {
            path_ = std::filesystem::temp_directory_path() / cordage::message("cordage_test_", here, "_", next++);
        } while (!std::filesystem::create_directory(path_));
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path_ / name, std::ios::binary) << bytes;
        return path_ / name;
    }

 private:
    std::filesystem::path path_;
};

}  // namespace cordage_test
