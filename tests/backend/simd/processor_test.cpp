// SPDX-License-Identifier: MIT
// The processor's own report compared with the system's.
#include "cordage/backend/simd/processor.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

using namespace cordage;

namespace {
struct any_arch {};

// The first line of a system file, or the first that begins with `start`; empty if there is none.
std::string line_of(const char* path, const std::string& start = "") {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(start)) return line;
    }
    return "";
}
}  // namespace

TEST_CASE("backend/simd/processor: AMD's fetch heads in a row by themselves, those with AVX-512 from memory too") {
    const auto& found = backend::this_processor<any_arch>();
    index_t expected = 0;
#if defined(__x86_64__)  // an emulator of others shows the file of its host
    if (line_of("/proc/cpuinfo", "vendor_id").find("AuthenticAMD") != std::string::npos) {
        const bool has_avx512 = line_of("/proc/cpuinfo", "flags").find(" avx512f") != std::string::npos;
        expected = has_avx512 ? std::numeric_limits<index_t>::max() : std::max(found.last_cache, index_t{32} << 20) / 2;
    }
#endif
    CHECK(found.prefetched_from == expected);
}

TEST_CASE("backend/simd/processor: the last-level cache has the size reported by the system") {
    std::string size = line_of("/sys/devices/system/cpu/cpu0/cache/index3/size");  // 32768K
    const index_t found = backend::this_processor<any_arch>().last_cache;
    CHECK(found >= 0);
    if (!size.empty() && size.back() == 'K' && found > 0) CHECK(found == std::stol(size) * 1024);
}
