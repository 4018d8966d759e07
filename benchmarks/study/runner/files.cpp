// SPDX-License-Identifier: MIT
// Writing files.
#include "runner/files.hpp"

#include <fstream>
#include <stdexcept>

namespace demo {

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out(file);
    if (!(out << text).flush()) throw std::runtime_error("demo: cannot write " + file.string());
}

}  // namespace demo
