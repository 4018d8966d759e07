// SPDX-License-Identifier: MIT
// GGML_OP_ROPE of ggml's CPU backend by cordage: put_in.py makes ggml_compute_forward_rope call this.
#include "rope.h"

#include <ggml.h>

#include <bit>
#include <cstring>
#include <exception>

#include "cordage/host/ggml/rotation.hpp"
#include "kept.hpp"

namespace {

namespace gg = cordage::ggml;

gg::rope_arguments arguments_of(const ggml_tensor& node) {
    const auto number = [&](int i) { return std::bit_cast<float>(node.op_params[i]); };
    gg::rope_arguments a{.n_dims = node.op_params[1],
                         .mode = node.op_params[2],
                         .n_ctx_orig = node.op_params[4],
                         .freq_base = number(5),
                         .freq_scale = number(6),
                         .ext_factor = number(7),
                         .attn_factor = number(8),
                         .beta_fast = number(9),
                         .beta_slow = number(10)};
    std::copy_n(node.op_params + 11, 4, a.sections.begin());
    return a;
}

// The lanes from `first` on.
ggml_tensor from_lane(ggml_tensor t, int first) {
    t.data = static_cast<char*>(t.data) + static_cast<std::size_t>(first) * t.nb[0];
    t.ne[0] -= first;
    return t;
}

// The lanes in front of `first`, which ggml_rope_set_offset leaves as they are.
void copy_front(const ggml_tensor& x, const ggml_tensor& dst, int first, int ith, int nth) {
    if (first == 0 || x.data == dst.data) return;
    for (std::int64_t row = ith; row < ggml_nrows(&x); row += nth) {
        const auto head = static_cast<std::size_t>(row % x.ne[1]),
                   token = static_cast<std::size_t>(row / x.ne[1] % x.ne[2]),
                   batch = static_cast<std::size_t>(row / x.ne[1] / x.ne[2]);
        std::memcpy(static_cast<char*>(dst.data) + head * dst.nb[1] + token * dst.nb[2] + batch * dst.nb[3],
                    static_cast<const char*>(x.data) + head * x.nb[1] + token * x.nb[2] + batch * x.nb[3],
                    static_cast<std::size_t>(first) * x.nb[0]);
    }
}

}  // namespace

void cordage_llama_rope(ggml_tensor* dst, int ith, int nth) noexcept try {
    static cordage_llama::kept<gg::rotation> rotations;
    const ggml_tensor& x = *dst->src[0];
    const gg::rope_arguments a = arguments_of(*dst);
    const std::span<const float> factors = cordage_llama::factors(dst->src[2], a);
    const gg::rotation& rotation = rotations.of(a, factors, 0, [&] { return gg::rotation(a, factors); });
    const int first_lane = dst->op_params[15];
    copy_front(x, *dst, first_lane, ith, nth);
    rotation.run(from_lane(x, first_lane), *dst->src[1], from_lane(*dst, first_lane), ith, nth);
} catch (const std::exception& e) {
    GGML_ABORT("cordage, rotation '%s': %s", dst->name, e.what());
}
