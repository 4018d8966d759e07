// SPDX-License-Identifier: MIT
// Every macro of the library; serves all stages.
#pragma once

#include <cassert>

/// Precondition of an internal function. Checked in debug and sanitizer builds, removed under NDEBUG.
#ifndef CORDAGE_ASSERT
#define CORDAGE_ASSERT(condition) assert(condition)
#endif

/// Always inlines a function that kernels call; the second macro follows the parameter list of a
/// lambda. A function that kernels call and that has no Arch in its name needs it: otherwise a unit built for one
/// instruction set emits a copy that the linker may use for all units (docs/backends.md).
#define CORDAGE_ALWAYS_INLINE inline __attribute__((always_inline))
#define CORDAGE_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))

/// Keeps one body of a function for all callers, so that they get the same bits: inlined copies may contract different
/// products and sums.
#if defined(__clang__)
#define CORDAGE_ONE_BODY __attribute__((noinline))
#else
#define CORDAGE_ONE_BODY __attribute__((noinline, noclone))
#endif

/// Whether device code converts fp8 by instructions: from compute capability 8.9 on, where ptxas knows them since 12.1.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900 || (__CUDA_ARCH__ >= 890 && defined(__CUDACC_VER_MAJOR__) && \
                                                        __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201))
#define CORDAGE_HAS_FP8_INSTRUCTIONS
#endif

/// Marks a function that GPU kernels also call. Empty without a CUDA compiler.
#if defined(__CUDACC__) || defined(__CUDA__)
#define CORDAGE_HOST_DEVICE __host__ __device__
#else
#define CORDAGE_HOST_DEVICE
#endif
