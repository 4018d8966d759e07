// SPDX-License-Identifier: MIT
// The shared library's entry points, and the kernels that any processor runs.
#define CORDAGE_C_IMPLEMENTATION
#include <cordage/c/cordage.h>
