// SPDX-License-Identifier: MIT
// Every macro of the library; serves all stages.
#pragma once

#include <cassert>

/// Precondition of an internal function. On in debug and sanitizer builds, gone under NDEBUG.
#ifndef CORDAGE_ASSERT
#define CORDAGE_ASSERT(condition) assert(condition)
#endif

/// Asks the compiler to inline a kernel's building block whatever its size; the second one stands after a lambda's
/// parameters. What has no Arch in its name and is called by kernels needs it too, or a unit built for one instruction
/// set leaves a copy that the linker may give to all (docs/backends.md).
#define CORDAGE_ALWAYS_INLINE inline __attribute__((always_inline))
#define CORDAGE_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))

/// Keeps one body of a function for all its callers, so that they get the same bits: two inlined copies may fuse other
/// products and sums.
#if defined(__clang__)
#define CORDAGE_ONE_BODY __attribute__((noinline))
#else
#define CORDAGE_ONE_BODY __attribute__((noinline, noclone))
#endif

/// Stands before a function that kernels on a GPU call too. Nothing where no CUDA compiler reads it.
#if defined(__CUDACC__) || defined(__CUDA__)
#define CORDAGE_HOST_DEVICE __host__ __device__
#else
#define CORDAGE_HOST_DEVICE
#endif
