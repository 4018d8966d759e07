// SPDX-License-Identifier: MIT
// Fuzzes the reading of checkpoints: any bytes are a file, the weights of CLEX and LeRoPE in it, and an index, or one
// clear error.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "cordage/models/checkpoint/lerope.hpp"
#include "cordage/models/checkpoint/released_clex.hpp"
#include "time_limit.hpp"

namespace {

/// Every error is one of the library's, with a message.
template <class Read>
void reads_or_complains(const Read& read) {
    try {
        read();
    } catch (const cordage::error& why) {
        if (std::string_view(why.what()).empty()) std::abort();
    }
}

/// A file with this header and no tensors' bytes.
std::string with_header(const std::string& header) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
    return bytes + header;
}

cordage::safetensors_file file_of(const std::string& bytes) {
    return cordage::safetensors_file(std::make_unique<std::istringstream>(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    fuzz::grows_linearly(bytes.substr(std::min<std::size_t>(size, 8)), [](const std::string& text) {
        reads_or_complains([&] { file_of(with_header(text)); });
        reads_or_complains([&] { cordage::parse_weight_map("index", text); });
    });
    const fuzz::time_limit limit(size);
    reads_or_complains([&] {
        const cordage::safetensors_file file = file_of(bytes);
        for (const auto& [name, entry] : file.entries()) {
            reads_or_complains([&, name = name] {
                std::uint64_t count = 1;
                const auto numbers = file.numbers(name);
                for (const std::uint64_t axis : numbers.shape) count *= axis;
                if (count != numbers.data.size()) std::abort();
            });
        }
    });
    reads_or_complains([&] {
        for (const auto& layer : cordage::load_released_clex(cordage::checkpoint(file_of(bytes)))) {
            const auto& [hidden, pairs, up, down] = layer.weights;
            if (std::ssize(up) != hidden * pairs || std::ssize(down) != hidden * pairs) std::abort();
        }
    });
    reads_or_complains([&] {
        for (const double offset : cordage::load_lerope(cordage::checkpoint(file_of(bytes)), 2)) {
            if (!(offset >= -40.0 && offset <= 40.0)) std::abort();
        }
    });
    reads_or_complains([&] { cordage::load_head_temperatures(cordage::checkpoint(file_of(bytes)), 0, 2).validate(); });
    reads_or_complains([&] {
        for (const auto& [name, file] : cordage::parse_weight_map("index", bytes)) {
            if (file.find('/') != std::string::npos) std::abort();
        }
    });
    return 0;
}
