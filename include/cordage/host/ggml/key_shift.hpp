// SPDX-License-Identifier: MIT
// Moves keys of a cache to other positions, as a custom operation of a ggml graph; a host adapter.
#pragma once

#include "cordage/host/ggml/rotation.hpp"
#include "cordage/tensors/hadamard.hpp"

namespace cordage::ggml {

namespace detail {

/// The copy that a node moves keys from, or the keys themselves.
template <tensor_struct Tensor>
const Tensor& stored_keys(const Tensor& node) noexcept {
    return node.src[2] != nullptr ? *node.src[2] : *node.src[0];
}

}  // namespace detail

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
///
/// Each shift rounds the keys again. An engine that keeps a copy of the keys as they were stored, and their positions,
/// passes the copy as another source: the keys become those of the copy, rotated by k_shift, which is then the present
/// position - the stored one, and any number of shifts costs one rounding. All cells of the view are written.
///
///   ggml_tensor* args[] = {k_shift, stored};   // stored: type and ne of k, in memory of its own
///   k = ggml_custom_inplace(ctx, k, args, 2, cordage::ggml::shift_keys<ggml_tensor>, GGML_N_TASKS_MAX, &shift);
class key_shift {
 public:
    /// @param of_keys        the rotation of the keys
    /// @param hadamard_size  lanes of the Hadamard transform applied before Q8_0 and Q4_0; 0: none. llama.cpp uses the
    ///                       largest power of two that divides n_embd_head_k if that is a multiple of 64 and
    ///                       LLAMA_ATTN_ROT_DISABLE is not set, and no transform for other types
    explicit key_shift(rotation of_keys, index_t hadamard_size = 0)
        : rotation_(std::move(of_keys)), hadamard_size_(hadamard_size) {}

    /// Checks a node when the graph is built; its tensors need no data yet. src[0] is the view of keys, src[1] k_shift,
    /// src[2] the copy of the keys as stored, or null.
    /// @throws value_error or shape_error  for what shift_keys would reject
    template <tensor_struct Tensor>
    void check(const Tensor& node) const {
        detail::check_sources(node, "keys", "k_shift");
        const Tensor& keys = *node.src[0];
        check(detail::stored_keys(node), *node.src[1], keys);
        if (node.data != keys.data || node.type != keys.type || !std::ranges::equal(node.ne, keys.ne) ||
            !std::ranges::equal(node.nb, keys.nb)) {
            fail<shape_error>({"ggml: dst ", detail::describe_layout(node), " must be the keys ",
                               detail::describe_layout(keys), " themselves: create the node by ggml_custom_inplace"});
        }
    }
    /// As above, for tensors without a node. The keys come from `stored`, which may be `keys` itself.
    template <tensor_struct Tensor>
    void check(const Tensor& stored, const Tensor& shifts, const Tensor& keys) const {
        rotation_.check_positions(shifts, keys.ne[2], "k_shift");
        for_views(stored, keys, [&](const auto& from, const auto& to) {
            if (!has_distinct_elements(to)) {
                fail<shape_error>({"ggml: keys ", detail::describe_layout(keys), " must not overlap itself"});
            }
            if (&stored != &keys && to.data != nullptr && overlap_of(from, to) != overlap::none) {
                fail<shape_error>({"ggml: stored must not overlap keys: give the copy memory of its own"});
            }
            rotate(detail::slice(from, 0, 0), detail::slice(to, 0, 0), nullptr, 0);  // of no cells: runs all checks
        });
    }

    /// Rotates slice ith of nth of the cells. Slices share no element.
    /// @throws as check, in every slice and before anything is written; unless ith is 0 to nth - 1; for null data
    template <tensor_struct Tensor>
    void run(const Tensor& stored, const Tensor& shifts, const Tensor& keys, int ith, int nth) const {
        check(stored, shifts, keys);
        if (!detail::check_slice<Tensor>(ith, nth, {{"keys", &keys}, {"k_shift", &shifts}, {"stored", &stored}}))
            return;
        const index_t cells = keys.ne[2];
        const auto* const shift = static_cast<const std::int32_t*>(shifts.data);
        const auto is_moved = [&](index_t cell) {
            if (&stored != &keys) return true;
            for (index_t axis = 0; axis < rotation_.positions_of_token(); ++axis) {
                if (shift[axis * cells + cell] != 0) return true;
            }
            return false;
        };
        for_views(stored, keys, [&](const auto& from, const auto& to) {
            constexpr index_t each = 64;  // small chunks in turn, since cells that move are often contiguous
            for (index_t first = each * ith; first < cells; first += each * nth) {
                const index_t last = std::min(first + each, cells);
                for (index_t begin = first, end; begin < last; begin = end) {
                    for (; begin < last && !is_moved(begin);) ++begin;
                    for (end = begin; end < last && is_moved(end);) ++end;
                    if (begin == end) continue;
                    rotate(detail::slice(from, begin, end), detail::slice(to, begin, end), shift + begin, cells);
                }
            }
        });
    }

 private:
    template <class View>
    void rotate(const View& from, const View& to, const std::int32_t* shift, index_t axis_stride) const {
        static constexpr std::int32_t zero = 0;
        const index_t cells = to.shape.tokens;
        position_view<std::int32_t> origin = rotation_.positions(&zero, cells, 0);
        origin.token_stride = 0;
        rotation_.with_source([&](auto pairing, const auto& angles_of) {
            rebase<decltype(pairing)>(angles_of(rotation_.positions(shift, cells, axis_stride)) - angles_of(origin),
                                      from_to(from, to));
        });
    }

    // Calls body(view of stored, view of keys) in the format of the keys.
    template <tensor_struct Tensor, class Body>
    void for_views(const Tensor& stored, const Tensor& keys, const Body& body) const {
        const auto run = [&]<class T>(T) {
            const auto to = ggml::view<T>(keys, "keys");
            if (stored.type != keys.type) {
                fail<value_error>({"ggml: stored of type ", detail::describe_type(stored.type), " must be ",
                                   detail::describe_type(keys.type), ", as keys are"});
            }
            detail::check_sizes(stored, "stored", {keys.ne[0], keys.ne[1], keys.ne[2], keys.ne[3]});
            const auto from = ggml::view<T>(stored, "stored");
            if constexpr (lanes_of_element < format_of < T >>> 1) {
                if (hadamard_size_ != 0) {
                    const hadamard<format_of<T>> transformed{.size = hadamard_size_};
                    body(with_format(from, transformed), with_format(to, transformed));
                    return;
                }
            }
            body(from, to);
        };
        detail::for_type<float, float16, bfloat16, q8_0_block, q4_0_block>(keys, "keys", "F32, F16, BF16, Q8_0 or Q4_0",
                                                                           run);
    }

    rotation rotation_;
    index_t hadamard_size_;
};

/// For ggml_custom_inplace of a view of keys with args {k_shift} or {k_shift, stored}: a ggml_custom_op_t.
/// @param userdata  a key_shift
/// ggml does not support exceptions: invalid input ends the program with its message, as GGML_ASSERT does.
template <tensor_struct Tensor>
void shift_keys(Tensor* dst, int ith, int nth, void* userdata) noexcept {
    const auto& shift = *static_cast<const key_shift*>(userdata);
    shift.check(*dst);
    shift.run(detail::stored_keys(*dst), *dst->src[1], *dst->src[0], ith, nth);
}

}  // namespace cordage::ggml
