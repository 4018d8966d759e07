// SPDX-License-Identifier: MIT
#include "smollm2/gguf.hpp"

#include <doctest/doctest.h>

#include "models/checkpoint/gguf_bytes.hpp"
#include "smollm2/llama_config.hpp"

using namespace demo;

namespace {

constexpr std::uint16_t half_one = 0x3c00, half_two = 0x4000;

// Three tensors of 32 values: Q4_1 with scale 2 and least 1, Q8_0 with scale 2, F32.
cordage_test::gguf_bytes good_file() {
    cordage_test::gguf_bytes b;
    b.header(3, 3).words("general.architecture", "llama").number("llama.block_count", 30);
    b.real("llama.attention.layer_norm_rms_epsilon", 0.5f);
    b.tensor("four", {32, 1}, 3, 0).tensor("eight", {32}, 8, 32).tensor("full", {16, 2}, 0, 96).aligned();
    b.bytes(half_two, 2).bytes(half_one, 2);
    for (std::uint64_t i = 0; i < 16; ++i) b.bytes(i + 16 * (15 - i), 1);
    b.aligned().bytes(half_two, 2);
    for (int i = 0; i < 32; ++i) b.bytes(static_cast<std::uint64_t>(i - 16), 1);
    b.aligned();
    for (int i = 0; i < 32; ++i) b.floats({0.5f * static_cast<float>(i)});
    return b;
}

}  // namespace

TEST_CASE("study/gguf: dequantised tensors") {
    const cordage::gguf_file file = good_file().file();
    const auto four = values(file, "four", {1, 32}), eight = values(file, "eight", {32}),
               full = values(file, "full", {2, 16});
    for (std::size_t i = 0; i < 16; ++i) {  // the low nibbles are the first half
        const auto x = static_cast<float>(i);
        CHECK(four[i] == 2.0f * x + 1.0f);
        CHECK(four[16 + i] == 2.0f * (15.0f - x) + 1.0f);
    }
    for (std::size_t i = 0; i < 32; ++i) {
        CHECK(eight[i] == 2.0f * (static_cast<float>(i) - 16.0f));
        CHECK(full[i] == 0.5f * static_cast<float>(i));
    }
}

TEST_CASE("study/gguf: what is missing, cut, or has another shape or type is refused by name") {
    const cordage_test::gguf_bytes whole = good_file();
    const cordage::gguf_file file = whole.file();
    const auto refused = [](const cordage::gguf_file& from, const char* name, const std::vector<index_t>& shape,
                            const char* why) {
        CHECK_THROWS_WITH_AS(values(from, name, shape), why, cordage::value_error);
    };
    refused(file, "x", {32}, "test: tensor 'x' must be in the file");
    refused(file, "four", {32}, "gguf: tensor 'four' must have the shape that the model's sizes give");
    cordage_test::gguf_bytes cut = whole;
    cut.all.pop_back();
    refused(cut.file(), "full", {2, 16}, "test: tensor 'full' must end within the file");
    cordage_test::gguf_bytes other;
    other.header(2, 0).tensor("part", {48}, 8, 0).tensor("k", {256}, 12, 0).aligned();
    refused(other.file(), "part", {48}, "gguf: tensor 'part' must have the shape that the model's sizes give");
    refused(other.file(), "k", {256}, "gguf: tensor 'k' of type 12 must be F32, F16, Q4_0, Q4_1 or Q8_0");
    CHECK_THROWS_WITH_AS(config_of(file), "gguf: llama.attention.head_count must be given", cordage::value_error);
}
