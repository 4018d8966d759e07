// SPDX-License-Identifier: MIT
// Bounds the time of a fuzzer's run by the size of its input, so that a reader whose time grows with the square fails.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace fuzz {

/// From its construction to its end at most 5 s and 5 us a byte of processor time may pass, with sanitizers; a config
/// of the widest head takes 2 s, whatever its size. Aborts otherwise.
class time_limit {
 public:
    explicit time_limit(std::size_t bytes) : bytes_(bytes) {}
    time_limit(const time_limit&) = delete;
    ~time_limit() {
        const double seconds = static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
        const double most = 5.0 + 5e-6 * static_cast<double>(bytes_);
        if (seconds <= most) return;
        std::fprintf(stderr, "fuzz: %zu bytes took %.2f s, must be at most %.2f s\n", bytes_, seconds, most);
        std::abort();
    }

 private:
    std::size_t bytes_;
    std::clock_t begin_ = std::clock();
};

/// An object, or a list, whose members are all this JSON text; 300 kB.
inline std::string many_of(std::string_view json, bool in_a_list) {
    std::string all(1, in_a_list ? '[' : '{');
    for (int i = 0; all.size() < 300000; ++i) {
        if (i > 0) all += ',';
        if (!in_a_list) all += '"' + std::to_string(i) + "\":";
        all += json;
    }
    return all + (in_a_list ? ']' : '}');
}

/// Calls read(text) for an object and a list of many equal members, the last innermost object of this text, within
/// their time limit: inputs of a fuzzer are too short to show how time grows. Once in 4096 runs.
template <class Read>
void grows_linearly(std::string_view json, const Read& read) {
    static std::uint64_t runs = 0;
    if (runs++ % 4096 != 0) return;
    const std::size_t begin = json.rfind('{'), end = json.find('}', begin);
    const bool has_one = begin != json.npos && end != json.npos && end - begin < 64;
    for (const bool in_a_list : {false, true}) {
        const std::string text = many_of(has_one ? json.substr(begin, end - begin + 1) : "{}", in_a_list);
        const time_limit limit(text.size());
        read(text);
    }
}

}  // namespace fuzz
