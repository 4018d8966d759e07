// SPDX-License-Identifier: MIT
// The demo on a real model: what runs, how much of it, and its processes. Without libtorch.
#pragma once

#include <string>

#include "smollm2/parts.hpp"

namespace demo {

/// How much the demo measures; a slow machine measures less.
struct real_amount {
    index_t window;         ///< tokens of the true document
    index_t documents;      ///< rows that read it: no scaling, YaRN, by parts
    index_t windows, keys;  ///< of chunks; pass keys in each
    index_t table_steps, clex_steps;
};

/// Runs all parts that have no result in `out`, prints and writes tables, pictures and configs.
/// @throws std::runtime_error  with one message
void run_real_demo(const real_options& options);

/// Runs one part, as a process of the demo.
void run_real_part(const real_options& options, const std::string& part, std::size_t level);

}  // namespace demo
