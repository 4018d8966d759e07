// SPDX-License-Identifier: MIT
// From the bytes of a GGUF file to numbers, bounds first.
#include "smollm2/gguf.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "cordage/pair/format.hpp"

namespace demo {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error("gguf: " + why); }

// Reads from the front.
class cursor {
 public:
    explicit cursor(std::span<const std::byte> bytes) : all_(bytes), left_(bytes) {}

    std::span<const std::byte> take(std::uint64_t count) {
        if (count > left_.size()) refuse("the file ends within a value");
        const auto taken = left_.first(static_cast<std::size_t>(count));
        left_ = left_.subspan(taken.size());
        return taken;
    }
    template <class Number>
    Number number() {
        Number made;
        std::memcpy(&made, take(sizeof made).data(), sizeof made);
        return made;
    }
    std::string text() {
        const auto from = take(number<std::uint64_t>());
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    std::uint64_t place() const { return all_.size() - left_.size(); }

 private:
    std::span<const std::byte> all_, left_;
};

constexpr std::uint32_t string_type = 8, array_type = 9;

double number_of(cursor& from, std::uint32_t type) {
    switch (type) {
        case 0:
            return from.number<std::uint8_t>();
        case 1:
            return from.number<std::int8_t>();
        case 2:
            return from.number<std::uint16_t>();
        case 3:
            return from.number<std::int16_t>();
        case 4:
            return from.number<std::uint32_t>();
        case 5:
            return from.number<std::int32_t>();
        case 6:
            return double{from.number<float>()};
        case 7:
            return from.number<std::uint8_t>() != 0 ? 1.0 : 0.0;
        case 10:
            return static_cast<double>(from.number<std::uint64_t>());
        case 11:
            return static_cast<double>(from.number<std::int64_t>());
        case 12:
            return from.number<double>();
        default:
            refuse("a value has the unknown type " + std::to_string(type));
    }
}

// Arrays are skipped. An entry has at least a byte, so that a count beyond the file ends with an error at its end.
void skip_array(cursor& from) {
    const auto type = from.number<std::uint32_t>();
    const auto count = from.number<std::uint64_t>();
    if (type == array_type) refuse("arrays of arrays are not read");
    for (std::uint64_t i = 0; i < count; ++i) {
        if (type == string_type) {
            from.take(from.number<std::uint64_t>());
        } else {
            number_of(from, type);
        }
    }
}

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
            refuse(name + " has the type " + std::to_string(type) + ", which is not read");
    }
}

gguf_tensor tensor_of(cursor& from, const std::string& name) {
    gguf_tensor made{};
    const auto dimensions = from.number<std::uint32_t>();
    if (dimensions < 1 || dimensions > 4) refuse(name + " has " + std::to_string(dimensions) + " dimensions");
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        const auto size = from.number<std::uint64_t>();
        if (size < 1 || size > (std::uint64_t{1} << 31)) refuse(name + " has an extent out of range");
        made.shape.insert(made.shape.begin(), static_cast<index_t>(size));
    }
    made.type = from.number<std::uint32_t>();
    return made;
}

std::uint64_t bytes_of(const gguf_tensor& t, const std::string& name, std::uint64_t most) {
    const block b = block_of(t.type, name);
    if (static_cast<std::uint64_t>(t.shape.back()) % b.values != 0) refuse(name + " has a row of part of a block");
    std::uint64_t blocks = static_cast<std::uint64_t>(t.shape.back()) / b.values;
    for (std::size_t i = 0; i + 1 < t.shape.size(); ++i) {
        const auto extent = static_cast<std::uint64_t>(t.shape[i]);
        if (blocks > most / extent) refuse(name + " is larger than the file");
        blocks *= extent;
    }
    if (blocks > most / b.bytes) refuse(name + " is larger than the file");
    return blocks * b.bytes;
}

float half_at(const std::byte* from) {
    cordage::float16 x;
    std::memcpy(&x, from, sizeof x);
    return cordage::to_float(x);
}

void dequantise(std::uint32_t type, const std::byte* from, float* to) {
    if (type == 0) std::memcpy(to, from, sizeof *to);
    if (type == 1) *to = half_at(from);
    if (type == 8) {
        const float scale = half_at(from);
        for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(std::to_integer<std::int8_t>(from[2 + i]));
    }
    if (type != 2 && type != 3) return;
    const float scale = half_at(from), least = type == 3 ? half_at(from + 2) : -8.0f * scale;
    const std::byte* const nibbles = from + (type == 3 ? 4 : 2);
    for (int i = 0; i < 16; ++i) {
        to[i] = scale * static_cast<float>(std::to_integer<int>(nibbles[i] & std::byte{15})) + least;
        to[16 + i] = scale * static_cast<float>(std::to_integer<int>(nibbles[i] >> 4)) + least;
    }
}

std::vector<std::byte> bytes_of_file(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::error_code failure;
    std::vector<std::byte> bytes(static_cast<std::size_t>(in ? std::filesystem::file_size(file, failure) : 0));
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!in || failure) refuse("cannot read " + file.string());
    return bytes;
}

template <class Map>
const auto& found(const Map& map, const std::string& name) {
    const auto at = map.find(name);
    if (at == map.end()) refuse("the file has no " + name);
    return at->second;
}

}  // namespace

gguf_file::gguf_file(const std::filesystem::path& file) : gguf_file(bytes_of_file(file)) {}

gguf_file::gguf_file(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) { read(); }

void gguf_file::read() {
    cursor from(bytes_);
    if (from.number<std::uint32_t>() != 0x46554747) refuse("the file does not begin with GGUF");
    if (const auto version = from.number<std::uint32_t>(); version != 2 && version != 3) {
        refuse("version " + std::to_string(version) + " is not read");
    }
    const auto tensors = from.number<std::uint64_t>(), entries = from.number<std::uint64_t>();
    for (std::uint64_t i = 0; i < entries; ++i) {
        const std::string key = from.text();
        const auto type = from.number<std::uint32_t>();
        if (type == array_type) {
            skip_array(from);
        } else if (type == string_type) {
            texts_[key] = from.text();
        } else {
            numbers_[key] = number_of(from, type);
        }
    }
    std::vector<std::pair<std::string, std::uint64_t>> offsets;
    for (std::uint64_t i = 0; i < tensors; ++i) {
        const std::string name = from.text();
        const bool is_new = tensors_.try_emplace(name, tensor_of(from, name)).second;
        if (!is_new) refuse("two tensors are called " + name);
        offsets.emplace_back(name, from.number<std::uint64_t>());
    }
    const double alignment = numbers_.contains("general.alignment") ? numbers_["general.alignment"] : 32.0;
    if (!(alignment >= 1.0 && alignment <= 65536.0)) refuse("general.alignment is out of range");
    const auto step = static_cast<std::uint64_t>(alignment);
    const std::span<const std::byte> all(bytes_);
    const std::uint64_t begin = (from.place() + step - 1) / step * step;
    if (begin > all.size() && tensors > 0) refuse("the file ends before its tensors");
    for (auto& [name, offset] : offsets) {
        gguf_tensor* const t = &tensors_.at(name);
        const std::uint64_t room = all.size() - begin, size = bytes_of(*t, name, room);
        if (offset > room - size) refuse(name + " ends behind the file");
        t->bytes = all.subspan(static_cast<std::size_t>(begin + offset), static_cast<std::size_t>(size));
    }
}

double gguf_file::number(const std::string& key) const { return found(numbers_, key); }
const std::string& gguf_file::text(const std::string& key) const { return found(texts_, key); }

index_t gguf_file::count(const std::string& key) const {
    const double value = number(key);
    if (!(value >= 1.0 && value <= 0x1p31) || value != std::floor(value)) refuse(key + " is not a count");
    return static_cast<index_t>(value);
}

const gguf_tensor& gguf_file::tensor(const std::string& name, const std::vector<index_t>& shape) const {
    const gguf_tensor& made = found(tensors_, name);
    if (made.shape != shape) refuse(name + " has another shape than the model's sizes say");
    return made;
}

std::vector<float> gguf_file::values(const std::string& name, const std::vector<index_t>& shape) const {
    const gguf_tensor& from = tensor(name, shape);
    const block b = block_of(from.type, name);
    std::vector<float> made(from.bytes.size() / b.bytes * b.values);
    for (std::size_t i = 0; i * b.bytes < from.bytes.size(); ++i) {
        dequantise(from.type, &from.bytes[i * b.bytes], &made[i * b.values]);
    }
    return made;
}

}  // namespace demo
