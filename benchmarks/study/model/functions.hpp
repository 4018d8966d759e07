// SPDX-License-Identifier: MIT
// The decoder's operations as autograd functions: RMSNorm, causal attention, and norm and rotation of q and k.
#pragma once

#include <ATen/ATen.h>

#include "model/products.hpp"
#include "model/rotary.hpp"

namespace demo {

/// x / rms(x) * gain, row by row; x [..., width], gain [width].
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gain);

/// softmax(factor q k^T / sqrt(head_dim) - slope distance + causal mask) v; all [windows, tokens, heads, head_dim].
/// @param rotation  has factors, if there are any
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const rotary& rotation);

/// q and k [windows, tokens, heads, head_dim], each normalized, times its gain [head_dim], and rotated: one pass of
/// cordage's forward and one of its backward, which has the gradients to x, gains, basis and attention factor.
struct query_and_key {
    at::Tensor q, k;
};
query_and_key normalized_and_rotated(const query_and_key& x, const query_and_key& gains, const rotary& rotation);

}  // namespace demo
