// SPDX-License-Identifier: MIT
// Included first by test programs that must compile quickly: the building blocks of kernels become called functions,
// where users' programs inline each. Same source, same results within the tolerances, half the compile time. Option
// CORDAGE_TEST_INLINING selects it.
#pragma once

#include "cordage/core/macros.hpp"

#undef CORDAGE_ALWAYS_INLINE
#undef CORDAGE_ALWAYS_INLINE_LAMBDA
#define CORDAGE_ALWAYS_INLINE inline
#define CORDAGE_ALWAYS_INLINE_LAMBDA
