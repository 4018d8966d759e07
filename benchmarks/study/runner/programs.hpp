// SPDX-License-Identifier: MIT
// Checks that programs run by the demo are installed.
#pragma once

#include <string>

namespace demo {

/// @throws std::runtime_error  unless `name` is on PATH; the message names its Debian packages
void require_program(const std::string& name, const std::string& packages);

}  // namespace demo
