// SPDX-License-Identifier: MIT
// What a test program that is compiled quickly includes before all else: the building blocks of kernels are functions
// that are called, where users' programs inline each into its callers. Same text, same results within the tolerances,
// half the compiler's time. Option CORDAGE_TEST_INLINING chooses.
#pragma once

#include "cordage/core/macros.hpp"

#undef CORDAGE_ALWAYS_INLINE
#undef CORDAGE_ALWAYS_INLINE_LAMBDA
#define CORDAGE_ALWAYS_INLINE inline
#define CORDAGE_ALWAYS_INLINE_LAMBDA
