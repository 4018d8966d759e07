// SPDX-License-Identifier: MIT
// Writes small GGUF files piece by piece for the tests of what reads them.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cordage/models/checkpoint/gguf.hpp"
#include "message_of_error.hpp"
#include "models/checkpoint/written_files.hpp"

namespace cordage_test {

/// The types of values in the format.
enum gguf_type : std::uint32_t { uint8 = 0, uint32 = 4, float32 = 6, boolean = 7, string = 8, array = 9, uint64 = 10 };

/// The bytes of a file, written piece by piece.
struct gguf_bytes {
    std::string all;

    gguf_bytes& bytes(std::uint64_t x, std::size_t size) {
        all += little_endian(x, size);
        return *this;
    }
    gguf_bytes& text(const std::string& x) {
        bytes(x.size(), 8);
        all += x;
        return *this;
    }
    gguf_bytes& header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
        all += "GGUF";
        return bytes(version, 4).bytes(tensors, 8).bytes(keys, 8);
    }
    gguf_bytes& number(const std::string& key, std::uint32_t x) { return text(key).bytes(uint32, 4).bytes(x, 4); }
    gguf_bytes& real(const std::string& key, float x) {
        return text(key).bytes(float32, 4).bytes(std::bit_cast<std::uint32_t>(x), 4);
    }
    gguf_bytes& words(const std::string& key, const std::string& x) { return text(key).bytes(string, 4).text(x); }
    gguf_bytes& flags(const std::string& key, const std::vector<bool>& x) {
        text(key).bytes(array, 4).bytes(boolean, 4).bytes(x.size(), 8);
        for (const bool each : x) bytes(each ? 1 : 0, 1);
        return *this;
    }
    gguf_bytes& numbers(const std::string& key, const std::vector<std::uint32_t>& x) {
        text(key).bytes(array, 4).bytes(uint32, 4).bytes(x.size(), 8);
        for (const std::uint32_t each : x) bytes(each, 4);
        return *this;
    }
    gguf_bytes& tensor(const std::string& name, const std::vector<std::uint64_t>& extents, std::uint32_t type,
                       std::uint64_t offset) {
        text(name).bytes(extents.size(), 4);
        for (const std::uint64_t extent : extents) bytes(extent, 8);
        return bytes(type, 4).bytes(offset, 8);
    }
    gguf_bytes& aligned() {
        while (all.size() % 32 != 0) bytes(0, 1);
        return *this;
    }
    gguf_bytes& floats(const std::vector<float>& x) {
        for (const float each : x) bytes(std::bit_cast<std::uint32_t>(each), 4);
        return *this;
    }

    cordage::gguf_file file() const { return cordage::gguf_file(std::make_unique<std::istringstream>(all), "test"); }
    /// The message with which the file is refused.
    std::string refusal() const {
        return message_of_error<cordage::value_error>([&] { file(); });
    }
};

}  // namespace cordage_test
