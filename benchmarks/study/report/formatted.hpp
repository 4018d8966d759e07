// SPDX-License-Identifier: MIT
// printf into a string; serves the program's messages, tables and scripts.
#pragma once

#include <string>

#include "cordage/core/index.hpp"

namespace demo {

// A count for "%ld".
inline long n(cordage::index_t count) { return static_cast<long>(count); }

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

}  // namespace demo
