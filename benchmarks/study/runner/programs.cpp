// SPDX-License-Identifier: MIT
// Looking for programs on PATH.
#include "runner/programs.hpp"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace demo {

void require_program(const std::string& name, const std::string& packages) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (access((folder + "/" + name).c_str(), X_OK) == 0) return;
    }
    throw std::runtime_error("demo: the program '" + name + "' is not on PATH; install " + packages + " (apt)");
}

}  // namespace demo
