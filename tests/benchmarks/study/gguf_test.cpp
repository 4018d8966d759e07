// SPDX-License-Identifier: MIT
#include "smollm2/gguf.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <stdexcept>

#include "smollm2/llama_config.hpp"

using namespace demo;

namespace {

// The bytes of a file, written piece by piece.
struct bytes {
    std::vector<std::byte> all;

    template <class Number>
    bytes& number(Number x) {
        const auto* from = reinterpret_cast<const std::byte*>(&x);
        all.insert(all.end(), from, from + sizeof x);
        return *this;
    }
    bytes& text(const std::string& x) {
        number(std::uint64_t{x.size()});
        for (const char c : x) number(c);
        return *this;
    }
    bytes& header(std::uint64_t tensors, std::uint64_t entries) {
        return number(std::uint32_t{0x46554747}).number(std::uint32_t{3}).number(tensors).number(entries);
    }
    bytes& tensor(const std::string& name, std::vector<std::uint64_t> extents, std::uint32_t type,
                  std::uint64_t offset) {
        text(name).number(static_cast<std::uint32_t>(extents.size()));
        for (const std::uint64_t extent : extents) number(extent);
        return number(type).number(offset);
    }
    bytes& aligned() {
        while (all.size() % 32 != 0) number(std::byte{});
        return *this;
    }
};

constexpr std::uint32_t uint32_type = 4, float_type = 6, string_type = 8, array_type = 9;
constexpr std::uint16_t half_one = 0x3c00, half_two = 0x4000;

// Three tensors of 32 values: Q4_1 with scale 2 and least 1, Q8_0 with scale 2, F32.
bytes good_file() {
    bytes b;
    b.header(3, 4);
    b.text("general.architecture").number(string_type).text("llama");
    b.text("llama.block_count").number(uint32_type).number(std::uint32_t{30});
    b.text("llama.rope.freq_base").number(float_type).number(1e5f);
    b.text("tokenizer.ggml.tokens")
        .number(array_type)
        .number(string_type)
        .number(std::uint64_t{2})
        .text("a")
        .text("bc");
    b.tensor("four", {32, 1}, 3, 0).tensor("eight", {32}, 8, 32).tensor("full", {16, 2}, 0, 96).aligned();
    b.number(half_two).number(half_one);
    for (int i = 0; i < 16; ++i) b.number(static_cast<std::uint8_t>(i + 16 * (15 - i)));
    b.aligned().number(half_two);
    for (int i = 0; i < 32; ++i) b.number(static_cast<std::int8_t>(i - 16));
    b.aligned();
    for (int i = 0; i < 32; ++i) b.number(0.5f * static_cast<float>(i));
    return b;
}

bytes one_tensor(const std::vector<std::uint64_t>& extents, std::uint32_t type, std::uint64_t offset) {
    bytes b;
    b.header(1, 0).tensor("x", extents, type, offset).aligned();
    for (int i = 0; i < 64; ++i) b.number(std::byte{});
    return b;
}

void refused(const bytes& b, const char* why) { CHECK_THROWS_WITH_AS(gguf_file(b.all), why, std::runtime_error); }

}  // namespace

TEST_CASE("study/gguf: numbers, strings and dequantised tensors") {
    const gguf_file file(good_file().all);
    CHECK(file.text("general.architecture") == "llama");
    CHECK(file.count("llama.block_count") == 30);
    CHECK(file.number("llama.rope.freq_base") == 1e5);
    const auto four = file.values("four", {1, 32}), eight = file.values("eight", {32}),
               full = file.values("full", {2, 16});
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

TEST_CASE("study/gguf: what is missing or has another shape is refused by name") {
    const gguf_file file(good_file().all);
    CHECK_THROWS_WITH_AS(file.number("llama.x"), "gguf: the file has no llama.x", std::runtime_error);
    CHECK_THROWS_WITH_AS(file.values("four", {32}), "gguf: four has another shape than the model's sizes say",
                         std::runtime_error);
    CHECK_THROWS_WITH_AS(config_of(file), "gguf: the file has no llama.attention.head_count", std::runtime_error);
    CHECK_THROWS_WITH_AS(gguf_file(std::filesystem::path("no/such.gguf")), "gguf: cannot read no/such.gguf",
                         std::runtime_error);
}

TEST_CASE("study/gguf: a file cut anywhere is refused") {
    const bytes whole = good_file();
    for (std::size_t size = 0; size < whole.all.size(); ++size) {
        const std::vector<std::byte> cut(whole.all.begin(), whole.all.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_THROWS_AS(gguf_file{cut}, std::runtime_error);
    }
}

TEST_CASE("study/gguf: hostile counts, types and offsets are refused") {
    constexpr std::uint64_t huge = std::uint64_t{1} << 62;
    refused(bytes().number(std::uint32_t{7}), "gguf: the file does not begin with GGUF");
    refused(bytes().number(std::uint32_t{0x46554747}).number(std::uint32_t{1}), "gguf: version 1 is not read");
    refused(bytes().header(huge, 0), "gguf: the file ends within a value");
    refused(bytes().header(0, huge), "gguf: the file ends within a value");
    refused(bytes().header(0, 1).number(~std::uint64_t{0}), "gguf: the file ends within a value");
    refused(bytes().header(0, 1).text("x").number(std::uint32_t{99}).number(0),
            "gguf: a value has the unknown type 99");
    refused(bytes().header(0, 1).text("x").number(array_type).number(string_type).number(huge),
            "gguf: the file ends within a value");
    refused(bytes().header(0, 1).text("x").number(array_type).number(array_type).number(huge),
            "gguf: arrays of arrays are not read");
    refused(one_tensor({}, 0, 0), "gguf: x has 0 dimensions");
    refused(one_tensor({1, 1, 1, 1, 1}, 0, 0), "gguf: x has 5 dimensions");
    refused(one_tensor({0}, 0, 0), "gguf: x has an extent out of range");
    refused(one_tensor({huge}, 0, 0), "gguf: x has an extent out of range");
    refused(one_tensor({1u << 30, 1u << 30, 1u << 30, 1u << 30}, 0, 0), "gguf: x is larger than the file");
    refused(one_tensor({16}, 12, 0), "gguf: x has the type 12, which is not read");
    refused(one_tensor({48}, 8, 0), "gguf: x has a row of part of a block");
    refused(one_tensor({16}, 0, 4), "gguf: x ends behind the file");
    refused(one_tensor({16}, 0, ~std::uint64_t{0}), "gguf: x ends behind the file");
    bytes twice;
    twice.header(2, 0).tensor("x", {1}, 0, 0).tensor("x", {1}, 0, 0);
    refused(twice, "gguf: two tensors are called x");
    bytes unaligned;
    unaligned.header(0, 1).text("general.alignment").number(uint32_type).number(std::uint32_t{0});
    refused(unaligned, "gguf: general.alignment is out of range");
}
