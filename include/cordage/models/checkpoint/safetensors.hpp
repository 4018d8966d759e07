// SPDX-License-Identifier: MIT
// Reads a file in the safetensors format, which need not be trusted (nlohmann-json).
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cordage/models/checkpoint/file_bytes.hpp"
#include "cordage/models/config/json.hpp"

namespace cordage {

/// The header's entry for one tensor.
struct safetensors_entry {
    std::string dtype;                 ///< as written: F32, BF16, ...
    std::vector<std::uint64_t> shape;  ///< slowest first; no axis for a scalar
    std::uint64_t begin = 0;           ///< offset of its bytes, counted from the end of the header
    std::uint64_t end = 0;
};

/// One tensor, converted to double.
struct safetensors_numbers {
    std::vector<std::uint64_t> shape;
    std::vector<double> data;
};

namespace safetensors_detail {

/// Bytes of an element; nullopt for a dtype that is unknown or has no whole bytes.
inline std::optional<std::uint64_t> element_size(std::string_view dtype) {
    static const std::map<std::string_view, std::uint64_t> sizes = {
        {"F64", 8}, {"I64", 8},  {"U64", 8},     {"C64", 8},     {"F32", 4},    {"I32", 4},
        {"U32", 4}, {"F16", 2},  {"BF16", 2},    {"I16", 2},     {"U16", 2},    {"I8", 1},
        {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}};
    const auto found = sizes.find(dtype);
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace safetensors_detail

/// A file of named tensors: 8 bytes length of the header, little-endian; the header, a JSON object of
/// {"dtype", "shape", "data_offsets": [begin, end]} by name; then the tensors' bytes, one after the other.
///
/// The header is read and checked when the file is opened, a tensor when it is requested. Every length is checked
/// against the file's length before memory is allocated. Thread-safe: bytes are read by one thread at a time and
/// converted in parallel.
class safetensors_file {
 public:
    /// The longest header that is read: the limit of the format.
    static constexpr std::uint64_t longest_header = 100'000'000;

    /// @throws value_error  naming the fault: not a regular file, truncated, a header that is too long or not strict
    ///                      JSON (config/json.hpp), a tensor whose dtype, shape and data_offsets disagree or overflow,
    ///                      tensors that overlap, leave gaps, or do not end with the file
    explicit safetensors_file(const std::filesystem::path& path)
        : safetensors_file(checkpoint_detail::file_bytes(path, "safetensors")) {}

    /// From any seekable stream; `who` begins the messages.
    explicit safetensors_file(std::unique_ptr<std::istream> bytes, std::string who = "safetensors")
        : safetensors_file(checkpoint_detail::file_bytes(std::move(bytes), std::move(who))) {}

    const std::map<std::string, safetensors_entry>& entries() const noexcept { return entries_; }

    /// A tensor of F64, F32, F16 or BF16, converted to double. NaN and infinities are kept.
    /// @throws value_error  if no tensor has this name, or if it has another dtype
    safetensors_numbers numbers(const std::string& name) const {
        const auto found = entries_.find(name);
        if (found == entries_.end()) refuse({"tensor ", in_quotes(name), " must be in the file"});
        const safetensors_entry& entry = found->second;
        const std::string bytes = bytes_.read(data_begin_ + entry.begin, entry.end - entry.begin);
        using checkpoint_detail::widened;
        if (entry.dtype == "F64") return {entry.shape, widened<double>(bytes)};
        if (entry.dtype == "F32") return {entry.shape, widened<float>(bytes)};
        if (entry.dtype == "F16") return {entry.shape, widened<float16>(bytes)};
        if (entry.dtype == "BF16") return {entry.shape, widened<bfloat16>(bytes)};
        refuse({"tensor ", in_quotes(name), " of dtype ", in_quotes(entry.dtype), " must be F64, F32, F16 or BF16"});
    }

 private:
    explicit safetensors_file(checkpoint_detail::file_bytes bytes) : bytes_(std::move(bytes)) {
        const std::uint64_t size = bytes_.size();
        if (size < 8) refuse({"file of ", size, " bytes must have at least 8"});
        const std::uint64_t header = checkpoint_detail::number_at<std::uint64_t>(bytes_.read(0, 8).data());
        if (header > longest_header || header > size - 8) {
            refuse({"header length ", header, " must be at most ", longest_header, " and the ", size - 8,
                    " bytes that follow"});
        }
        data_begin_ = 8 + header;
        parse_header(bytes_.read(8, header));
        check_layout(size - data_begin_);
    }

    [[noreturn]] void refuse(std::initializer_list<message_part> why) const { bytes_.refuse(why); }
    [[noreturn]] static void refuse(const std::string& who, std::initializer_list<message_part> why) {
        fail<value_error>({who, joined(why)});
    }

    void parse_header(const std::string& text) {
        if (!text.starts_with('{')) refuse({"header must begin with '{'"});
        const nlohmann::json header = json_detail::parse_strict_json(bytes_.who() + ": header", text);
        for (const auto& [name, value] : header.items()) {
            if (name != "__metadata__") {
                entries_.emplace(name, entry_of(message(bytes_.who(), ": tensor ", in_quotes(name)), value));
            } else if (!value.is_object() || !std::ranges::all_of(value, [](auto& each) { return each.is_string(); })) {
                refuse({"__metadata__ must be an object of strings"});
            }
        }
    }

    static safetensors_entry entry_of(const std::string& who, const nlohmann::json& value) {
        const auto field = [&](const char* name) -> const nlohmann::json& {
            if (!value.is_object() || !value.contains(name)) refuse(who, {" must be an object with '", name, "'"});
            return value[name];
        };
        const auto whole_numbers = [&](const char* name) {
            std::vector<std::uint64_t> all;
            for (const auto& each : field(name)) {
                if (!each.is_number_unsigned()) refuse(who, {": ", name, " must hold integers in 0 ... 2^64-1"});
                all.push_back(each.get<std::uint64_t>());
            }
            return all;
        };
        if (!field("dtype").is_string()) refuse(who, {": dtype must be a string"});
        if (!field("shape").is_array()) refuse(who, {": shape must be an array"});
        std::vector<std::uint64_t> shape = whole_numbers("shape");
        if (!field("data_offsets").is_array() || field("data_offsets").size() != 2) {
            refuse(who, {": data_offsets must be [begin, end]"});
        }
        const std::vector<std::uint64_t> offsets = whole_numbers("data_offsets");
        if (offsets[1] < offsets[0])
            refuse(who, {": data_offsets [", offsets[0], ", ", offsets[1], "] must not decrease"});
        safetensors_entry entry{field("dtype").get<std::string>(), std::move(shape), offsets[0], offsets[1]};
        check_size(who, entry);
        return entry;
    }

    static void check_size(const std::string& who, const safetensors_entry& entry) {
        std::optional<std::uint64_t> bytes = safetensors_detail::element_size(entry.dtype);
        if (!bytes) return;  // an unknown dtype; numbers() rejects it
        for (const std::uint64_t axis : entry.shape) {
            if (*bytes != 0 && axis > std::numeric_limits<std::uint64_t>::max() / *bytes) {
                refuse(who, {": shape must have fewer than 2^64 bytes"});
            }
            *bytes *= axis;
        }
        if (*bytes != entry.end - entry.begin) {
            refuse(who, {": data_offsets [", entry.begin, ", ", entry.end, "] must hold the ", *bytes,
                         " bytes of its shape and dtype ", in_quotes(entry.dtype)});
        }
    }

    /// Checks that tensors follow one another from the first byte to the last.
    void check_layout(std::uint64_t data_size) const {
        std::multimap<std::pair<std::uint64_t, std::uint64_t>, const std::string*> in_order;
        for (const auto& [name, entry] : entries_) in_order.emplace(std::pair{entry.begin, entry.end}, &name);
        std::uint64_t reached = 0;
        for (const auto& [range, name] : in_order) {
            if (range.first != reached) {
                refuse({"tensor ", in_quotes(*name), " data_offsets [", range.first, ", ", range.second,
                        "] must begin at ", reached, ", the end of the tensor before it"});
            }
            reached = range.second;
        }
        if (reached != data_size) {
            refuse({"data of ", data_size, " bytes must be the ", reached, " bytes of its tensors"});
        }
    }

    checkpoint_detail::file_bytes bytes_;
    std::uint64_t data_begin_ = 0;
    std::map<std::string, safetensors_entry> entries_;
};

}  // namespace cordage
