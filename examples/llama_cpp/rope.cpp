// SPDX-License-Identifier: MIT
// GGML_OP_ROPE of ggml's CPU backend by cordage: put_in.py makes ggml_compute_forward_rope call this.
#include "rope.h"

#include <ggml-impl.h>
#include <ggml.h>

#include <algorithm>
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

// The rotation for the arguments and frequency factors of a node.
const gg::rotation& rotation_of(const ggml_tensor& node) {
    static cordage_llama::kept<gg::rotation> rotations;
    const gg::rope_arguments a = arguments_of(node);
    const std::span<const float> factors = cordage_llama::factors(node.src[2], a);
    return rotations.of(a, factors, 0, [&] { return gg::rotation(a, factors); });
}

int first_lane(const ggml_tensor& node) { return node.op_params[15]; }

// Whether set_rows stores the whole of a rotation's output, a row for each token, in a type that cordage stores.
bool goes_into_rows(const ggml_tensor& rope, const ggml_tensor& view, const ggml_tensor& set_rows) {
    constexpr ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0};
    const ggml_tensor &rows = *set_rows.src[1], &x = *rope.src[0];
    const bool is_view = view.src[0] == &rope && view.data == rope.data && view.ne[0] == rope.ne[0] * rope.ne[1] &&
                         view.ne[1] == rope.ne[2] && view.ne[2] == 1 && rope.nb[1] == sizeof(float) * rope.ne[0] &&
                         view.nb[1] == rope.nb[2];
    return is_view && x.type == GGML_TYPE_F32 && rope.ne[3] == 1 && first_lane(rope) == 0 && set_rows.src[0] == &view &&
           rows.type == GGML_TYPE_I64 && rows.ne[1] == 1 && rows.ne[2] == 1 && set_rows.ne[2] == 1 &&
           std::ranges::find(types, set_rows.type) != std::end(types) &&
           rope.ne[0] % ggml_blck_size(set_rows.type) == 0;
}

// View of the lanes from `first` on.
ggml_tensor from_lane(ggml_tensor t, int first) {
    t.data = static_cast<char*>(t.data) + static_cast<std::size_t>(first) * t.nb[0];
    t.ne[0] -= first;
    return t;
}

// Copies the lanes before `first`, which ggml_rope_set_offset leaves unchanged.
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

void cordage_llama_rope(ggml_tensor* dst, int ith, int nth) try {
    const ggml_tensor& x = *dst->src[0];
    const gg::rotation& rotation = rotation_of(*dst);
    const int first = first_lane(*dst);
    copy_front(x, *dst, first, ith, nth);
    rotation.run(from_lane(x, first), *dst->src[1], from_lane(*dst, first), ith, nth);
} catch (const std::exception& e) {
    GGML_ABORT("cordage, rotation '%s': %s", dst->name, e.what());
}

bool cordage_llama_rope_into_rows(const ggml_tensor* rope, const ggml_tensor* view, const ggml_tensor* set_rows,
                                  int ith, int nth) try {
    if (!goes_into_rows(*rope, *view, *set_rows)) return false;
    [[maybe_unused]] static const bool is_said =
        (GGML_LOG_INFO("cordage: keys are rotated on their way into the cache\n"), true);
    rotation_of(*rope).run_into_rows(*rope->src[0], *rope->src[1], *set_rows->src[1], *set_rows, ith, nth);
    return true;
} catch (const std::exception& e) {
    GGML_ABORT("cordage, rotation '%s' into a cache: %s", rope->name, e.what());
}
