// SPDX-License-Identifier: MIT
// What the kernels of compiled_kernels.cu are given, for nvcc and for the tests.
#pragma once

namespace cordage_test::ptx {

struct empty_member {};

/// Has 8 bytes on the host, where the empty member takes no room, and 16 as nvcc compiles it for a device.
struct with_attribute {
    double number;
    [[no_unique_address]] empty_member none;
};
struct without_attribute {
    double number;
    empty_member none;
};

}  // namespace cordage_test::ptx
