// SPDX-License-Identifier: MIT
// Where a lane's access to memory goes, after every check.
#pragma once

#include <cstddef>

#include "ptx/warp.hpp"

namespace cordage_test::ptx {

enum class access_kind : u8 { read, write, update };

/// The bytes of an access; null if they do not exist, which is reported, as is everything else that is wrong.
/// @param data  of a write: what will be written, for several threads may write the same
std::byte* accessed(const instruction& i, warp& w, int lane, u64 address, u32 bytes, access_kind kind,
                    const std::byte* data = nullptr);

}  // namespace cordage_test::ptx
