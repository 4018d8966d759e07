// SPDX-License-Identifier: MIT
// The shared library's entry points.
#define CORDAGE_C_IMPLEMENTATION
#include <cordage/c/cordage.h>
