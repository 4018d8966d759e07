// SPDX-License-Identifier: MIT
// printf into a string; serves the program's messages, tables and scripts.
#pragma once

#include <string>

namespace demo {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

}  // namespace demo
