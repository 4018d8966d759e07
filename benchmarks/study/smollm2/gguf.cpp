// SPDX-License-Identifier: MIT
// From ggml's blocks to numbers.
#include "smollm2/gguf.hpp"

#include "cordage/pair/format.hpp"

namespace demo {
namespace {

using cordage::checkpoint_detail::number_at;

// How a type stores `values` consecutive numbers in `bytes` bytes.
struct block {
    std::uint64_t values, bytes;
};
block block_of(std::uint32_t type, const std::string& name) {
    switch (type) {
        case 0:
            return {1, 4};
        case 1:
            return {1, 2};
        case 2:
            return {32, 18};
        case 3:
            return {32, 20};
        case 8:
            return {32, 34};
        default:
            cordage::fail<cordage::value_error>({"gguf: tensor ", cordage::in_quotes(name), " of type ", type,
                                                 " must be F32, F16, Q4_0, Q4_1 or Q8_0"});
    }
}

float half_at(const char* from) { return cordage::to_float(number_at<cordage::float16>(from)); }

void dequantise(std::uint32_t type, const char* from, float* to) {
    if (type == 0) *to = number_at<float>(from);
    if (type == 1) *to = half_at(from);
    if (type == 8) {
        const float scale = half_at(from);
        for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(static_cast<signed char>(from[2 + i]));
    }
    if (type != 2 && type != 3) return;
    const float scale = half_at(from), least = type == 3 ? half_at(from + 2) : -8.0f * scale;
    const char* const nibbles = from + (type == 3 ? 4 : 2);
    for (int i = 0; i < 16; ++i) {
        const auto both = static_cast<unsigned char>(nibbles[i]);
        to[i] = scale * static_cast<float>(both & 15) + least;
        to[16 + i] = scale * static_cast<float>(both >> 4) + least;
    }
}

}  // namespace

std::vector<float> values(const cordage::gguf_file& file, const std::string& name, const std::vector<index_t>& shape) {
    const cordage::gguf_tensor& from = file.tensor(name);
    const block b = block_of(from.type, name);
    if (from.shape != shape || shape.back() % static_cast<index_t>(b.values) != 0) {
        cordage::fail<cordage::value_error>(
            {"gguf: tensor ", cordage::in_quotes(name), " must have the shape that the model's sizes give"});
    }
    std::uint64_t blocks = static_cast<std::uint64_t>(shape.back()) / b.values;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) blocks *= static_cast<std::uint64_t>(shape[i]);
    const std::string bytes = file.bytes(name, blocks * b.bytes);
    std::vector<float> made(blocks * b.values);
    for (std::size_t i = 0; i < blocks; ++i) dequantise(from.type, &bytes[i * b.bytes], &made[i * b.values]);
    return made;
}

}  // namespace demo
