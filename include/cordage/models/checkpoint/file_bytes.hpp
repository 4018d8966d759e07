// SPDX-License-Identifier: MIT
// The bytes of a file that need not be trusted, read by range; serves the formats of checkpoint/.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <istream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/pair/format.hpp"

namespace cordage::checkpoint_detail {

/// A number of type T, little-endian.
template <class T>
T number_at(const char* bytes) noexcept {
    std::array<char, sizeof(T)> native;
    std::copy_n(bytes, sizeof(T), native.begin());
    if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(native);
    return std::bit_cast<T>(native);
}

/// The numbers of a tensor of T.
template <class T>
std::vector<double> widened(const std::string& bytes) {
    std::vector<double> out(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const T x = number_at<T>(bytes.data() + i * sizeof(T));
        if constexpr (std::floating_point<T>)
            out[i] = double{x};
        else
            out[i] = double{to_float(x)};
    }
    return out;
}

/// A seekable stream and its length. Thread-safe: bytes are read by one thread at a time.
class file_bytes {
 public:
    /// @param format  the name of the file's format, which begins the messages
    /// @throws value_error  unless path is a readable regular file
    file_bytes(const std::filesystem::path& path, const char* format)
        : file_bytes(opened(path, format), message(format, " ", in_quotes(path.filename().string()))) {}
    /// @param who  begins the messages
    /// @throws value_error  unless the stream is seekable
    file_bytes(std::unique_ptr<std::istream> stream, std::string who)
        : stream_(std::move(stream)), who_(std::move(who)) {
        stream_->seekg(0, std::ios::end);
        const auto end = static_cast<std::streamoff>(stream_->tellg());
        if (!*stream_ || end < 0) refuse({"stream must be seekable"});
        size_ = static_cast<std::uint64_t>(end);
    }

    const std::string& who() const noexcept { return who_; }
    std::uint64_t size() const noexcept { return size_; }

    /// Reads `count` bytes from `begin`, which must lie within the length.
    /// @throws value_error  if the file is shorter by now
    std::string read(std::uint64_t begin, std::uint64_t count) const {
        std::string text(static_cast<std::size_t>(count), '\0');
        const std::lock_guard one_at_a_time(*reading_);
        stream_->clear();
        stream_->seekg(static_cast<std::streamoff>(begin));
        stream_->read(text.data(), static_cast<std::streamsize>(count));
        if (!*stream_) refuse({"bytes ", begin, " to ", begin + count, " must be readable"});
        return text;
    }

    [[noreturn]] void refuse(std::initializer_list<message_part> why) const {
        fail<value_error>({who_, ": ", joined(why)});
    }

 private:
    static std::unique_ptr<std::istream> opened(const std::filesystem::path& path, const char* format) {
        std::error_code ignored;  // not for pipes, whose opening would block
        if (std::filesystem::is_regular_file(path, ignored)) {
            if (auto stream = std::make_unique<std::ifstream>(path, std::ios::binary); *stream) return stream;
        }
        fail<value_error>({format, ": path ", in_quotes(path.string()), " must be a readable file"});
    }

    std::unique_ptr<std::istream> stream_;
    std::unique_ptr<std::mutex> reading_ = std::make_unique<std::mutex>();  // guards stream_
    std::string who_;
    std::uint64_t size_ = 0;
};

}  // namespace cordage::checkpoint_detail
