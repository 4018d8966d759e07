// SPDX-License-Identifier: MIT
// Other programs that the demo runs: whether they are there.
#pragma once

#include <string>

namespace demo {

/// @throws std::runtime_error  unless `name` is found on PATH; the message names the Debian packages that bring it
void require_program(const std::string& name, const std::string& packages);

}  // namespace demo
