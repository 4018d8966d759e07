// SPDX-License-Identifier: MIT
// Files that the programs write.
#pragma once

#include <filesystem>
#include <string>

namespace demo {

/// @throws std::runtime_error  if the file cannot be written
void write(const std::filesystem::path& file, const std::string& text);

}  // namespace demo
