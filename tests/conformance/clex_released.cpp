// SPDX-License-Identifier: MIT
// clex_released.json: the CLEX layer as released, which is another function than the paper's. Not in cordage yet.
#include "kinds.hpp"

namespace conformance {

std::span<const kind> clex_released_kinds() {
    static constexpr kind kinds[] = {
        {.name = "solution", .marked_by = "config"},
        {.name = "inference"},
        {.name = "training"},
    };
    return kinds;
}

}  // namespace conformance
