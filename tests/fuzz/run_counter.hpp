// SPDX-License-Identifier: MIT
// Counts the runs of a fuzzer that got past the library's checks: one that only meets errors tests nothing else.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace fuzz {

/// Counts that a run met something; the counts are printed when the program ends.
inline void met(const std::string& what) {
    struct counts : std::map<std::string, std::uint64_t> {
        ~counts() {
            for (const auto& [name, count] : *this) {
                std::fprintf(stderr, "fuzz: %llu %s\n", static_cast<unsigned long long>(count), name.c_str());
            }
        }
    };
    static counts all;
    ++all[what];
}

/// Counts runs by their result and prints the shares when the program ends.
class run_counter {
 public:
    run_counter(const char* what_passes) : what_passes_(what_passes) {}
    run_counter(const run_counter&) = delete;
    ~run_counter() {
        const auto all = passed_ + refused_;
        if (all == 0) return;
        std::fprintf(stderr, "fuzz: %llu runs, %.1f %% %s, the others were refused\n",
                     static_cast<unsigned long long>(all),
                     100.0 * static_cast<double>(passed_) / static_cast<double>(all), what_passes_);
    }
    void passed() { ++passed_; }
    void refused() { ++refused_; }

 private:
    const char* what_passes_;
    std::uint64_t passed_ = 0, refused_ = 0;
};

/// An assertion in all builds.
inline void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "fuzz: must hold: %s\n", what);
    std::abort();
}

}  // namespace fuzz
