// SPDX-License-Identifier: MIT
// A fault of a kernel: where an instruction first had it, and how often.
#pragma once

#include <string>

#include "ptx/types.hpp"

namespace cordage_test::ptx {

struct finding {
    std::string kind;    // "out of bounds", "misaligned", "uninitialised", "race", "race between blocks", "barrier",
                         // "shuffle", "trap", "endless"
    std::string what;    // address and block of memory
    std::string kernel;  // demangled
    std::string statement;
    int line = 0;  // of the PTX
    size3 block;
    size3 thread;
    u64 count = 1;

    std::string text() const {
        const auto at = [](const size3& n) {
            return std::string("(") + std::to_string(n.x) + ", " + std::to_string(n.y) + ", " + std::to_string(n.z) +
                   ")";
        };
        return kind + ": " + what + "\n    line " + std::to_string(line) + ": " + statement + "\n    first in block " +
               at(block) + ", thread " + at(thread) + "; " + std::to_string(count) + (count == 1 ? " time" : " times") +
               "\n    of kernel " + kernel;
    }
};

}  // namespace cordage_test::ptx
