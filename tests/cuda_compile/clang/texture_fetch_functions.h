// SPDX-License-Identifier: MIT
// Nothing: clang 19 includes this header of CUDA 12 first of all, and CUDA 13 has none.
