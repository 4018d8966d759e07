// SPDX-License-Identifier: MIT
// Which backend a call uses when it names none; serves stage rotation.
#pragma once

#include "cordage/backend/scalar/backward.hpp"
#include "cordage/backend/scalar/forward.hpp"

namespace cordage::backend {

/// The fastest backend that this translation unit can have.
using fastest = scalar;

}  // namespace cordage::backend
