// SPDX-License-Identifier: MIT
// XLA's buffers as cordage sees them, and its errors; for the handlers of both platforms.
#pragma once

#include <xla/ffi/api/ffi.h>

#include <new>
#include <vector>

#include "cordage/kernels.hpp"

namespace cordage_jax {

namespace ffi = xla::ffi;
using namespace cordage;

/// Runs body and converts what it throws to an XLA error.
template <class Body>
ffi::Error guarded(const Body& body) {
    try {
        body();
        return ffi::Error::Success();
    } catch (const error& wrong) {
        return ffi::Error::InvalidArgument(wrong.what());
    } catch (const std::bad_alloc&) {
        return ffi::Error(ffi::ErrorCode::kResourceExhausted, "cordage_jax: out of memory");
    }
}

inline std::vector<index_t> sizes_of(const ffi::AnyBuffer& x) { return {x.dimensions().begin(), x.dimensions().end()}; }

template <class T>
T* data_of(const ffi::AnyBuffer& x) {
    return static_cast<T*>(x.untyped_data());
}

/// Calls body with a value of the element type of x; throws for types without kernels.
template <class Body>
void for_type(const char* name, const ffi::AnyBuffer& x, const Body& body) {
    switch (x.element_type()) {
        case ffi::F32:
            return body(float{});
        case ffi::F64:
            return body(double{});
        case ffi::F16:
            return body(float16{});
        case ffi::BF16:
            return body(bfloat16{});
        default:
            fail<value_error>({"cordage_jax: ", name, " must be float32, float64, float16 or bfloat16"});
    }
}
template <class Body>
void for_pairing(bool is_interleaved, const Body& body) {
    return is_interleaved ? body(interleaved{}) : body(half_split{});
}

/// [rows, tokens, heads, head_dim]
template <class T>
heads_view<T> heads_of(const ffi::AnyBuffer& x) {
    const auto sizes = sizes_of(x);
    if (sizes.size() != 4) fail<shape_error>({"cordage_jax: x must be [rows, tokens, heads, head_dim]"});
    return token_major(data_of<T>(x), {sizes[0], sizes[1], sizes[2], sizes[3]});
}

}  // namespace cordage_jax
