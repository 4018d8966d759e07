// SPDX-License-Identifier: MIT
// The backends by name; serves rotation.
#pragma once

namespace cordage::backend {

/// The plain, readable truth that every other backend is tested against.
struct scalar {};

}  // namespace cordage::backend
