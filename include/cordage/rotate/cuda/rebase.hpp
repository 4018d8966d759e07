// SPDX-License-Identifier: MIT
// Cached keys on a device moved from one basis to another, contiguous, strided or paged; stage rotation.
#pragma once

#include "cordage/rotate/cuda/forward.hpp"

namespace cordage {

/// paged_positions for the device: both pointers lie there.
template <position_type P>
struct device_paged_positions {
    const std::int32_t* block_table = nullptr;  ///< [position_ids.batch], each block at most once; others are skipped
    position_view<P> position_ids;              ///< [blocks of the table, tokens of a block]
};

namespace rotate_detail {

// The tokens of any one block.
struct block_angles {
    index_t block_tokens, block_pairs;

    static constexpr index_t batch() noexcept { return 1; }
    index_t tokens() const noexcept { return block_tokens; }
    index_t pairs() const noexcept { return block_pairs; }
};

}  // namespace rotate_detail

/// rebase (rotate/forward.hpp) on a device, by the kernel of rotate_forward. The difference of the bases is made on the
/// host, where it is exact, and its words copied as any basis's:
///
///   const auto words = device_words(new_basis.relative_to(old_basis));     // to `memory`
///   rebase<half_split>(on(stream), device_basis(memory, pairs), positions, in_place(keys));
///
/// @param change        of device_words(to.relative_to(from)); one, or one for each row of the batch
/// @param position_ids  of the keys, [tokens] or [batch, tokens], on the device
/// @param first,more    one to four caches [batch, tokens, heads, head_dim] of one type and one set of positions
/// @throws shape_error  before the launch; cuda_error
template <pairing Pairing, backend::kernel_launcher Launcher, position_type P, backend::device_element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rebase(const Launcher& where, const device_basis& change,
                                                          const position_view<P>& position_ids, const operand<T>& first,
                                                          const More&... more) {
    rotate_detail::rotate_on_device<Pairing, backend::forward>(
        "rebase", where, device_angles<P>(change, position_ids),
        std::array<operand<T>, 1 + sizeof...(More)>{first, more...});
}

/// As above for the blocks of a paged cache, all listed ones in one launch; other blocks are neither read nor written.
/// The table is not read on the host, so nobody checks it: an entry below 0 or past the cache is skipped, and a block
/// that is listed twice ends up as anything.
///
/// @param first,more  caches [blocks, tokens of a block, heads, head_dim], in whatever order the strides put them
template <pairing Pairing, backend::kernel_launcher Launcher, position_type P, backend::device_element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rebase(const Launcher& where, const device_basis& change,
                                                          const device_paged_positions<P>& paged,
                                                          const operand<T>& first, const More&... more) {
    const device_angles<P> angles(change, paged.position_ids);
    const std::array<operand<T>, 1 + sizeof...(More)> operands{first, more...};
    rotate_detail::check_device_operands("rebase", rotate_detail::block_angles{angles.tokens(), angles.pairs()},
                                         operands);
    if (paged.block_table == nullptr) {
        fail<shape_error>({"rebase: block_table nullptr must point to ", angles.batch(), " blocks"});
    }
    backend::launch_rotation<Pairing, T>("rebase", where, backend::kernel_angles<backend::forward>(angles),
                                         std::span<const operand<T>>(operands), {angles.batch(), paged.block_table});
}

}  // namespace cordage
