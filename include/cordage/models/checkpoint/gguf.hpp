// SPDX-License-Identifier: MIT
// Reads the metadata of a GGUF file (ggml's format, version 2 or 3), which need not be trusted, and its tensors by
// name.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/core/index.hpp"
#include "cordage/models/checkpoint/file_bytes.hpp"

namespace cordage {

/// A tensor as the file stores it.
struct gguf_tensor {
    std::vector<index_t> shape;  ///< slowest first; the file has the reverse order
    std::uint32_t type = 0;      ///< ggml's: 0 F32, 1 F16, 2 Q4_0, 8 Q8_0, ...
    std::uint64_t begin = 0;     ///< offset of its first byte in the file
};

/// A file of metadata by key and tensors by name: "GGUF", version, number of tensors, number of keys; the keys, each
/// with a type and a value; the tensors, each with its extents, type and offset; then the tensors' bytes, aligned.
///
/// The part before the tensors' bytes is read when the file is opened, the bytes of a tensor when they are requested.
/// Time is linear in that part; memory too, with every count checked against the file's length. Kept are numbers, truth
/// values, strings, and arrays of numbers of at most most_entries; other arrays (a vocabulary) are skipped.
class gguf_file {
 public:
    static constexpr std::uint64_t longest_header = 100'000'000;         ///< bytes before those of tensors
    static constexpr std::uint64_t most_names = std::uint64_t{1} << 18;  ///< keys; tensors
    static constexpr std::uint64_t most_entries = 4096;                  ///< of an array that is kept

    /// @throws value_error  naming the fault: not a regular file, not GGUF of version 2 or 3, truncated, a count beyond
    ///                      the limits above, a key or a tensor that occurs twice, an unknown type of a value
    explicit gguf_file(const std::filesystem::path& path) : gguf_file(checkpoint_detail::file_bytes(path, "gguf")) {}
    /// From any seekable stream; `who` begins the messages.
    explicit gguf_file(std::unique_ptr<std::istream> bytes, std::string who = "gguf")
        : gguf_file(checkpoint_detail::file_bytes(std::move(bytes), std::move(who))) {}

    const std::string& who() const noexcept { return bytes_.who(); }
    /// Numbers and truth values by key, such as "llama.rope.freq_base": one entry, or those of an array.
    const std::map<std::string, std::vector<double>, std::less<>>& numbers() const noexcept { return numbers_; }
    const std::map<std::string, std::string, std::less<>>& texts() const noexcept { return texts_; }
    const std::map<std::string, gguf_tensor, std::less<>>& tensors() const noexcept { return tensors_; }

    /// The numbers of a key; nullptr if no key has this name or its value is no number.
    const std::vector<double>* entries(std::string_view key) const {
        const auto found = numbers_.find(key);
        return found == numbers_.end() ? nullptr : &found->second;
    }
    /// The number of a key, the first one of an array; nullopt as for entries, and for an array without entries.
    std::optional<double> number(std::string_view key) const {
        const auto* const found = entries(key);
        return found == nullptr || found->empty() ? std::nullopt : std::optional(found->front());
    }
    /// The same as a count, 1 ... 2^31. @throws value_error  if it is another number
    std::optional<index_t> count(std::string_view key) const {
        const auto value = number(key);
        if (value && (!(*value >= 1.0 && *value <= 0x1p31) || *value != std::floor(*value))) {
            bytes_.refuse({key, " ", *value, " must be an integer in 1 ... 2^31"});
        }
        return value ? std::optional(static_cast<index_t>(*value)) : std::nullopt;
    }

    /// The first `count` bytes of a tensor. @throws value_error  if they lie beyond the end of the file
    std::string bytes(const std::string& name, std::uint64_t count) const {
        const std::uint64_t begin = tensor(name).begin;
        if (begin > bytes_.size() || count > bytes_.size() - begin) {
            bytes_.refuse({"tensor ", in_quotes(name), " must end within the file"});
        }
        return bytes_.read(begin, count);
    }
    /// A tensor of F32 or F16, converted to double.
    /// @throws value_error  if no tensor has this name, if it has another type, or lies beyond the end of the file
    std::vector<double> values(const std::string& name) const {
        const gguf_tensor& found = tensor(name);
        if (found.type > 1) bytes_.refuse({"tensor ", in_quotes(name), " of type ", found.type, " must be F32 or F16"});
        std::uint64_t size = found.type == 0 ? 4 : 2;
        for (const index_t extent : found.shape) {
            const auto count = static_cast<std::uint64_t>(extent);
            if (size > bytes_.size() / count) bytes_.refuse({"tensor ", in_quotes(name), " must end within the file"});
            size *= count;
        }
        const std::string all = bytes(name, size);
        return found.type == 0 ? checkpoint_detail::widened<float>(all) : checkpoint_detail::widened<float16>(all);
    }

    /// @throws value_error  if no tensor has this name
    const gguf_tensor& tensor(std::string_view name) const {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) bytes_.refuse({"tensor ", in_quotes(name), " must be in the file"});
        return found->second;
    }

 private:
    // Reads from the front, a block of the file at a time.
    class cursor {
     public:
        explicit cursor(const checkpoint_detail::file_bytes& bytes) : bytes_(bytes) {}

        std::uint64_t place() const { return place_; }
        void skip(std::uint64_t count) {
            if (count > bytes_.size() - place_) bytes_.refuse({"the file must not end within a value"});
            place_ += count;
            if (place_ > longest_header) {
                bytes_.refuse({"metadata must have at most ", longest_header, " bytes"});
            }
        }
        std::string_view take(std::uint64_t count) {
            const std::uint64_t begin = place_;
            skip(count);
            if (begin < begin_ || place_ > begin_ + block_.size()) {
                begin_ = begin;
                block_ = bytes_.read(begin, std::max(count, std::min(block_size, bytes_.size() - begin)));
            }
            return std::string_view(block_).substr(static_cast<std::size_t>(begin - begin_),
                                                   static_cast<std::size_t>(count));
        }
        template <class Number>
        Number number() {
            return checkpoint_detail::number_at<Number>(take(sizeof(Number)).data());
        }
        std::string text() {
            const auto count = number<std::uint64_t>();
            return std::string(take(count));
        }

     private:
        static constexpr std::uint64_t block_size = 1 << 16;
        const checkpoint_detail::file_bytes& bytes_;
        std::string block_;
        std::uint64_t begin_ = 0, place_ = 0;  // of the block, of the next byte
    };
    static constexpr std::uint32_t string_type = 8, array_type = 9;

    explicit gguf_file(checkpoint_detail::file_bytes bytes) : bytes_(std::move(bytes)) {
        cursor from(bytes_);
        if (bytes_.size() < 24 || from.take(4) != "GGUF") bytes_.refuse({"the file must begin with GGUF"});
        const auto version = from.number<std::uint32_t>();
        if (version != 2 && version != 3) bytes_.refuse({"version ", version, " must be 2 or 3, little-endian"});
        const auto tensors = from.number<std::uint64_t>(), keys = from.number<std::uint64_t>();
        for (const auto& [name, count] : {std::pair{"tensors", tensors}, {"keys", keys}}) {
            if (count > most_names) bytes_.refuse({name, " ", count, " must be at most ", most_names});
        }
        std::set<std::string> found;
        for (std::uint64_t i = 0; i < keys; ++i) read_key(from, found);
        for (std::uint64_t i = 0; i < tensors; ++i) read_tensor(from);
        const double step = number("general.alignment").value_or(32.0);
        if (!(step >= 1.0 && step <= 65536.0)) bytes_.refuse({"general.alignment ", step, " must be 1 to 65536"});
        const auto alignment = static_cast<std::uint64_t>(step);
        const std::uint64_t begin = (from.place() + alignment - 1) / alignment * alignment;
        for (auto& [name, entry] : tensors_) {
            if (begin > bytes_.size() || entry.begin > bytes_.size() - begin) {
                bytes_.refuse({"tensor ", in_quotes(name), " must begin within the file"});
            }
            entry.begin += begin;
        }
    }

    template <class Number>
    static double read_as(cursor& from) {
        return static_cast<double>(from.number<Number>());
    }
    // @param found  the keys so far, those of arrays that are not kept too
    void read_key(cursor& from, std::set<std::string>& found) {
        // Bytes and reader of a number of each type; 0 for strings and arrays.
        // clang-format off
        static constexpr std::uint64_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        static constexpr double (*read[])(cursor&) = {
            read_as<std::uint8_t>, read_as<std::int8_t>, read_as<std::uint16_t>, read_as<std::int16_t>,
            read_as<std::uint32_t>, read_as<std::int32_t>, read_as<float>, read_as<std::uint8_t>, nullptr, nullptr,
            read_as<std::uint64_t>, read_as<std::int64_t>, read_as<double>};
        // clang-format on
        const std::string key = from.text();
        if (!found.insert(key).second) bytes_.refuse({"key ", in_quotes(key), " must occur once"});
        auto type = from.number<std::uint32_t>();
        if (type == string_type) {
            texts_.emplace(key, from.text());
            return;
        }
        std::uint64_t count = 1;
        if (type == array_type) {
            type = from.number<std::uint32_t>();
            count = from.number<std::uint64_t>();
            for (std::uint64_t i = 0; type == string_type && i < count; ++i) from.skip(from.number<std::uint64_t>());
            if (type == string_type) return;
        }
        if (type >= std::size(sizes) || sizes[type] == 0) {
            bytes_.refuse({"key ", in_quotes(key), " of type ", type, " must be of a known type"});
        }
        if (count > most_entries) {
            if (count > longest_header) bytes_.refuse({"the file must not end within a value"});
            from.skip(count * sizes[type]);
            return;
        }
        std::vector<double> numbers;
        for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(read[type](from));
        numbers_.emplace(key, std::move(numbers));
    }
    void read_tensor(cursor& from) {
        const std::string name = from.text();
        const auto axes = from.number<std::uint32_t>();
        if (axes < 1 || axes > 4) bytes_.refuse({"tensor ", in_quotes(name), " of ", axes, " axes must have 1 to 4"});
        gguf_tensor made;
        for (std::uint32_t i = 0; i < axes; ++i) {
            const auto extent = from.number<std::uint64_t>();
            if (extent < 1 || extent > (std::uint64_t{1} << 31)) {
                bytes_.refuse({"tensor ", in_quotes(name), " extent ", extent, " must be 1 to 2^31"});
            }
            made.shape.insert(made.shape.begin(), static_cast<index_t>(extent));
        }
        made.type = from.number<std::uint32_t>();
        made.begin = from.number<std::uint64_t>();
        if (!tensors_.emplace(name, std::move(made)).second) {
            bytes_.refuse({"tensor ", in_quotes(name), " must occur once"});
        }
    }

    checkpoint_detail::file_bytes bytes_;
    std::map<std::string, std::vector<double>, std::less<>> numbers_;
    std::map<std::string, std::string, std::less<>> texts_;
    std::map<std::string, gguf_tensor, std::less<>> tensors_;
};

}  // namespace cordage
