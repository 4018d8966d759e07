// SPDX-License-Identifier: MIT
// The C interface between the comparison and a shared library that rotates, or passes over, q and k. The driver
// (libraries.py) declares the same structs.
#pragma once

#include <cstdint>

extern "C" {

enum rope_dtype : std::int32_t { rope_fp32 = 0, rope_fp16 = 1, rope_bf16 = 2 };
enum rope_style : std::int32_t { rope_half_split = 0, rope_interleaved = 1, rope_memory_limit = 2 };

/// The tensors to rotate: q [tokens, heads, head_dim] and k [tokens, kv_heads, head_dim], dense.
struct rope_case {
    std::int64_t tokens, heads, kv_heads, head_dim;
    std::int32_t dtype;             ///< rope_dtype
    std::int32_t threads;           ///< upper bound on the threads used
    const std::int64_t* positions;  ///< [tokens]; outlives the peer's setup
    float theta_base;
};

/// One implementation. `setup` is not timed; it returns the argument of the other functions, or nullptr if the case is
/// not supported.
struct rope_peer {
    const char* name;
    std::int32_t style;   ///< rope_style
    std::int32_t passes;  ///< over q and k in memory, for the reader: 2 reads and writes each byte once
    void* (*setup)(const rope_case*);
    void (*load)(void*, const void* q, const void* k);  ///< copies q and k in; k is nullptr where kv_heads is 0
    void (*run)(void*, std::int64_t repeats);           ///< the timed function
    void (*store)(void*, void* q, void* k);             ///< copies the result of the last run out
    void (*release)(void*);
};

/// Writes the address of the library's implementations to *first; returns their number. The library owns them.
std::int32_t rope_peers(const rope_peer** first);

}  // extern "C"
