// SPDX-License-Identifier: MIT
// Empty: clang 19 includes this header of CUDA 12 first, and CUDA 13 has none.
