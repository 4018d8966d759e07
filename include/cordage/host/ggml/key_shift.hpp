// SPDX-License-Identifier: MIT
// Moves keys of a cache to other positions, as a custom operation of a ggml graph; a host adapter.
#pragma once

#include "cordage/host/ggml/rotation.hpp"
#include "cordage/tensors/hadamard.hpp"

namespace cordage::ggml {

/// llama.cpp's K-shift: rotates cached keys in place by the difference of their new and old positions. Quantised keys
/// are dequantised, rotated and quantised again head by head, without a temporary tensor.
///
///   cordage::ggml::key_shift shift(cordage::ggml::rotation(arguments, freq_factors), 128);   // as for q and k
///   ggml_tensor* k = ggml_view_3d(ctx, layer.k, n_embd_head_k, n_head_kv, n_cells,
///                                 ggml_row_size(type_k, n_embd_head_k), ggml_row_size(type_k, n_embd_k_gqa), 0);
///   k = ggml_custom_inplace(ctx, k, &k_shift, 1, cordage::ggml::shift_keys<ggml_tensor>, GGML_N_TASKS_MAX, &shift);
///   shift.check(*k);
///
///   k        ne = [head_dim, heads, cells, batch] in any order of strides: F32, F16, BF16, Q8_0 or Q4_0
///   k_shift  I32 [cells], new position - old position; four of them for M-RoPE, [4, cells], slowest first
///
/// The first rotary_dim lanes of the view are rotated. The view may be narrower than the heads, such as the tail of MLA
/// heads, if it begins and ends between blocks and between groups of the transform. The angle k_shift * inv_freq is
/// exact. The attention factor is not applied, since cached keys already have it. Keys with shift 0 are not read or
/// written; pass 0 for empty cells. The object must outlive the computation of the graph.
class key_shift {
 public:
    /// @param of_keys        the rotation of the keys
    /// @param hadamard_size  lanes of the Hadamard transform applied before Q8_0 and Q4_0; 0: none. llama.cpp uses the
    ///                       largest power of two that divides n_embd_head_k if that is a multiple of 64 and
    ///                       LLAMA_ATTN_ROT_DISABLE is not set, and no transform for other types
    explicit key_shift(rotation of_keys, index_t hadamard_size = 0)
        : rotation_(std::move(of_keys)), hadamard_size_(hadamard_size) {}

    /// Checks a node when the graph is built; its tensors need no data yet. src[0] is the view of keys, src[1] k_shift.
    /// @throws value_error or shape_error  for what shift_keys would reject
    template <tensor_struct Tensor>
    void check(const Tensor& node) const {
        detail::check_sources(node, "keys", "k_shift");
        check(*node.src[0], *node.src[1]);
        const Tensor& keys = *node.src[0];
        if (node.data != keys.data || node.type != keys.type || !std::ranges::equal(node.ne, keys.ne) ||
            !std::ranges::equal(node.nb, keys.nb)) {
            fail<shape_error>({"ggml: dst ", detail::describe_layout(node), " must be the keys ",
                               detail::describe_layout(keys), " themselves: create the node by ggml_custom_inplace"});
        }
    }
    /// As above, for tensors without a node.
    template <tensor_struct Tensor>
    void check(const Tensor& keys, const Tensor& shifts) const {
        rotation_.check_positions(shifts, keys.ne[2], "k_shift");
        for_view(keys, [&](const auto& view) {
            if (!has_distinct_elements(view)) {
                fail<shape_error>({"ggml: keys ", detail::describe_layout(keys), " must not overlap itself"});
            }
            rotate(detail::slice(view, 0, 0), nullptr, 0);  // a rotation of no cells runs all checks
        });
    }

    /// Rotates slice ith of nth of the cells. Slices share no element.
    /// @throws as check, in every slice and before anything is written; unless ith is 0 to nth - 1; for null data
    template <tensor_struct Tensor>
    void run(const Tensor& keys, const Tensor& shifts, int ith, int nth) const {
        check(keys, shifts);
        if (!detail::check_slice<Tensor>(ith, nth, {{"keys", &keys}, {"k_shift", &shifts}})) return;
        const index_t cells = keys.ne[2];
        const auto* const shift = static_cast<const std::int32_t*>(shifts.data);
        const auto is_moved = [&](index_t cell) {
            for (index_t axis = 0; axis < rotation_.positions_of_token(); ++axis) {
                if (shift[axis * cells + cell] != 0) return true;
            }
            return false;
        };
        for_view(keys, [&](const auto& view) {
            constexpr index_t each = 64;  // small chunks in turn, since cells that move are often contiguous
            for (index_t first = each * ith; first < cells; first += each * nth) {
                const index_t last = std::min(first + each, cells);
                for (index_t begin = first, end; begin < last; begin = end) {
                    for (; begin < last && !is_moved(begin);) ++begin;
                    for (end = begin; end < last && is_moved(end);) ++end;
                    if (begin < end) rotate(detail::slice(view, begin, end), shift + begin, cells);
                }
            }
        });
    }

 private:
    template <class View>
    void rotate(const View& keys, const std::int32_t* shift, index_t axis_stride) const {
        static constexpr std::int32_t zero = 0;
        const index_t cells = keys.shape.tokens;
        position_view<std::int32_t> from = rotation_.positions(&zero, cells, 0);
        from.token_stride = 0;
        rotation_.with_source([&](auto pairing, const auto& angles_of) {
            rebase<decltype(pairing)>(angles_of(rotation_.positions(shift, cells, axis_stride)) - angles_of(from),
                                      in_place(keys));
        });
    }

    // Calls body(view) in the format of the keys.
    template <tensor_struct Tensor, class Body>
    void for_view(const Tensor& keys, const Body& body) const {
        const auto run = [&]<class T>(T) {
            const auto view = ggml::view<T>(keys, "keys");
            if constexpr (lanes_of_element < format_of < T >>> 1) {
                if (hadamard_size_ != 0) {
                    body(with_format(view, hadamard<format_of<T>>{.size = hadamard_size_}));
                    return;
                }
            }
            body(view);
        };
        detail::for_type<float, float16, bfloat16, q8_0_block, q4_0_block>(keys, "keys", "F32, F16, BF16, Q8_0 or Q4_0",
                                                                           run);
    }

    rotation rotation_;
    index_t hadamard_size_;
};

/// For ggml_custom_inplace of a view of keys with args {k_shift}: a ggml_custom_op_t.
/// @param userdata  a key_shift
/// ggml does not support exceptions: invalid input ends the program with its message, as GGML_ASSERT does.
template <tensor_struct Tensor>
void shift_keys(Tensor* dst, int ith, int nth, void* userdata) noexcept {
    const auto& shift = *static_cast<const key_shift*>(userdata);
    shift.check(*dst);
    shift.run(*dst->src[0], *dst->src[1], ith, nth);
}

}  // namespace cordage::ggml
