// SPDX-License-Identifier: MIT
// Keys of a cache that go to other positions, as a custom operation of a graph of ggml; a host adapter.
#pragma once

#include "cordage/host/ggml/rotation.hpp"
#include "cordage/tensors/hadamard.hpp"

namespace cordage::ggml {

/// What llama.cpp calls a K-shift: rotated keys of a cache turn by the difference of their new and old positions, where
/// they lie. Quantised ones are dequantised, turned and quantised again head by head, without a tensor beside them.
///
///   cordage::ggml::key_shift shift(cordage::ggml::rotation(arguments, freq_factors), 128);   // as q and k are rotated
///   ggml_tensor* k = ggml_view_3d(ctx, layer.k, n_embd_head_k, n_head_kv, n_cells,
///                                 ggml_row_size(type_k, n_embd_head_k), ggml_row_size(type_k, n_embd_k_gqa), 0);
///   k = ggml_custom_inplace(ctx, k, &k_shift, 1, cordage::ggml::shift_keys<ggml_tensor>, GGML_N_TASKS_MAX, &shift);
///   shift.check(*k);
///
///   k        ne = [head_dim, heads, cells, batch] in any order of strides: F32, F16, BF16, Q8_0 or Q4_0
///   k_shift  I32 [cells], new position - old position; four of them for M-RoPE, [4, cells], slowest first
///
/// The first rotary_dim lanes of the view turn. It may be narrower than the heads, as MLA's tail is, where it begins
/// and ends between blocks and between groups of the transform. The angle k_shift * inv_freq is exact, and the
/// attention factor, which keys have already, is not applied again. Keys whose shift is 0 are not touched; give that to
/// cells without a key. Like a rotation it lives until the graph has been computed.
class key_shift {
 public:
    /// @param turned         the rotation that the keys have
    /// @param hadamard_size  lanes of the transform that stands before Q8_0 and Q4_0, 0: none. llama.cpp's, where
    ///                       n_embd_head_k is a multiple of 64 and LLAMA_ATTN_ROT_DISABLE is not set: the largest power
    ///                       of two that divides n_embd_head_k. Other types have none
    explicit key_shift(rotation turned, index_t hadamard_size = 0)
        : rotation_(std::move(turned)), hadamard_size_(hadamard_size) {}

    /// Checks a node of a graph where it is built, when its tensors need no data yet: src[0] is the view of keys,
    /// src[1] k_shift.
    /// @throws value_error or shape_error  naming what shift_keys would stop at
    template <tensor_struct Tensor>
    void check(const Tensor& node) const {
        detail::check_sources(node, "keys", "k_shift");
        check(*node.src[0], *node.src[1]);
        const Tensor& keys = *node.src[0];
        if (node.data != keys.data || node.type != keys.type || !std::ranges::equal(node.ne, keys.ne) ||
            !std::ranges::equal(node.nb, keys.nb)) {
            fail<shape_error>({"ggml: dst ", detail::describe_layout(node), " must be the keys ",
                               detail::describe_layout(keys), " themselves: make it by ggml_custom_inplace"});
        }
    }
    /// The same of tensors that no node holds yet.
    template <tensor_struct Tensor>
    void check(const Tensor& keys, const Tensor& shifts) const {
        rotation_.check_positions(shifts, keys.ne[2], "k_shift");
        for_view(keys, [&](const auto& view) {
            if (!has_distinct_elements(view)) {
                fail<shape_error>({"ggml: keys ", detail::describe_layout(keys), " must not overlap itself"});
            }
            turn(detail::slice(view, 0, 0), nullptr, 0);  // no cells: what a rotation checks itself
        });
    }

    /// Turns slice ith of nth of the cells. Slices share no element.
    /// @throws as check, in every slice and before anything is written; for ith that is not 0 to nth - 1; for no data
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
            constexpr index_t each = 64;  // cells dealt in turn, as those that move lie together
            for (index_t first = each * ith; first < cells; first += each * nth) {
                const index_t last = std::min(first + each, cells);
                for (index_t begin = first, end; begin < last; begin = end) {
                    for (; begin < last && !is_moved(begin);) ++begin;
                    for (end = begin; end < last && is_moved(end);) ++end;
                    if (begin < end) turn(detail::slice(view, begin, end), shift + begin, cells);
                }
            }
        });
    }

 private:
    template <class View>
    void turn(const View& keys, const std::int32_t* shift, index_t axis_stride) const {
        static constexpr std::int32_t zero = 0;
        const index_t cells = keys.shape.tokens;
        position_view<std::int32_t> from = rotation_.positions(&zero, cells, 0);
        from.token_stride = 0;
        rotation_.with_source([&](auto pairing, const auto& angles_of) {
            rebase<decltype(pairing)>(angles_of(rotation_.positions(shift, cells, axis_stride)) - angles_of(from),
                                      in_place(keys));
        });
    }

    // body(view) in the format that the keys have.
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
/// ggml knows no exceptions: what does not fit ends the program with its message, as GGML_ASSERT would.
template <tensor_struct Tensor>
void shift_keys(Tensor* dst, int ith, int nth, void* userdata) noexcept {
    const auto& shift = *static_cast<const key_shift*>(userdata);
    shift.check(*dst);
    shift.run(*dst->src[0], *dst->src[1], ith, nth);
}

}  // namespace cordage::ggml
