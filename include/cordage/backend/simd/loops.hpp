// SPDX-License-Identifier: MIT
// Loops over the pairs of a head in vectors, and over the heads of a token; serves the SIMD rotation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cordage/backend/simd/lanes.hpp"

namespace cordage::backend {

/// A step of `Count` vectors of Arch, as a tag; of Arch = void for one number or pair.
template <class Arch, std::size_t Count>
struct vectors {};

/// Calls step(vectors<A, 1>, first) for `count` numbers of a row: whole vectors, then single numbers.
template <class Arch, class Real, class Step>
CORDAGE_ALWAYS_INLINE void over_row(index_t count, const Step& step) noexcept {
    constexpr auto size = static_cast<index_t>(xsimd::batch<Real, Arch>::size);
    index_t i = 0;
    for (; i + size <= count; i += size) step(vectors<Arch, 1>{}, i);
    for (; i < count; ++i) step(vectors<void, 1>{}, i);
}

/// The remainder of in_vectors, from pair `done` on.
template <class Arch, pairing Pairing, class Operand, class Step>
CORDAGE_ALWAYS_INLINE void in_single_vectors(index_t count, const Step& step, index_t done) noexcept {
    constexpr index_t each = layout_of<Arch, Pairing, Operand>::pairs_each;
    for (; done + each <= count; done += each) step(vectors<Arch, 1>{}, done);
    if constexpr (!std::is_void_v<Arch>) {
        if (done < count) in_single_vectors<typename narrower<Arch>::type, Pairing, Operand>(count, step, done);
    }
}

/// Calls step(vectors<A, Count>, first) for `count` pairs: first as many vectors at a time as registers hold, then
/// single vectors, then single smaller vectors, then single pairs.
template <class Arch, pairing Pairing, class Operand, class Step>
CORDAGE_ALWAYS_INLINE void in_vectors(index_t count, const Step& step) noexcept {
    using layout = layout_of<Arch, Pairing, Operand>;
    constexpr index_t most = static_cast<index_t>(layout::most_in_registers) * layout::pairs_each;
    index_t done = 0;
    for (; done + most <= count; done += most) step(vectors<Arch, layout::most_in_registers>{}, done);
    in_single_vectors<Arch, Pairing, Operand>(count, step, done);
}

/// Bytes read by a call that exceed the L1 cache, where prefetches cost nothing, or the L2 cache.
inline constexpr index_t beyond_l1 = index_t{1} << 16, beyond_l2 = index_t{1} << 22;

/// The bytes of x, or of grad_y, of all tokens. (The angles may be of one row that serves every row of a batch.)
template <class O>
CORDAGE_ALWAYS_INLINE index_t bytes_of_call(const operand_list<O>& operands) noexcept {
    index_t elements = 0;
    for (const O& o : operands) {
        const heads_shape& shape = o.shape();
        elements += shape.batch * shape.tokens * shape.heads * shape.head_dim;
    }
    return elements * simd_detail::operand_traits<O>::element_size;
}

/// How the heads of a token are processed.
struct head_loop {
    index_t heads;
    bool is_long;                ///< whether a call has enough tokens for prefetches
    bool is_prefetched;          ///< whether to prefetch in place too
    bool uses_streaming_stores;  ///< whether to write to another tensor by non-temporal stores
};

/// Calls f(0), ..., f(Count - 1) with constants.
template <std::size_t Count, class F>
CORDAGE_ALWAYS_INLINE void unrolled(const F& f) noexcept {
    [&]<std::size_t... I>(std::index_sequence<I...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
        (f(std::integral_constant<index_t, static_cast<index_t>(I)>{}), ...);
    }(std::make_index_sequence<Count>{});
}

/// The address `elements` elements after `from`, an integer: it may be prefetched outside of any tensor.
template <class T>
CORDAGE_ALWAYS_INLINE std::uintptr_t address_of(const T* from, index_t elements) noexcept {
    return reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(elements) * sizeof(T);
}
CORDAGE_ALWAYS_INLINE void prefetch(std::uintptr_t address, index_t bytes) noexcept {
    for (const std::uintptr_t end = address + static_cast<std::uintptr_t>(bytes); address < end; address += 64) {
        __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
    }
}

/// Prefetches the data that a loop over heads reads about 4 KB later. In a dense [tokens, heads, head_dim] this
/// continues into the next token.
class ahead {
 public:
    /// @param stride  between heads; any number if there is one head    @param lanes  of a head
    template <class T>
    CORDAGE_ALWAYS_INLINE ahead(const T*, index_t stride, index_t lanes) noexcept
        : bytes_(lanes * static_cast<index_t>(sizeof(T))),
          distance_((static_cast<std::uintptr_t>(stride) * sizeof(T)) << heads_in_4_kb(bytes_)) {}

    /// @param elements  from x to the head that the loop reads
    template <class T>
    CORDAGE_ALWAYS_INLINE void operator()(const T* x, index_t elements) const noexcept {
        prefetch(address_of(x, elements) + distance_, bytes_);
    }

 private:
    // A power of two, rounded up: a division would take as long as two heads.
    static CORDAGE_ALWAYS_INLINE int heads_in_4_kb(index_t bytes) noexcept {
        return bytes < 4096 ? 13 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))) : 0;
    }
    index_t bytes_;
    std::uintptr_t distance_;  // bytes; unsigned, since a single head's stride may overflow it
};

/// Used where there is no prefetching.
struct no_prefetch {
    template <class T>
    CORDAGE_ALWAYS_INLINE void operator()(const T*, index_t) const noexcept {}
};

/// Prefetches the heads of a token in a slot, which hardware does not prefetch; does nothing for dense tensors.
template <class T, class Format>
CORDAGE_ALWAYS_INLINE void prefetch_slot(const heads_view<T, Format>& v, index_t row, index_t token) noexcept {
    if (v.slots.entries == nullptr || token >= v.shape.tokens) return;
    const T* const heads = v.token(row, token);
    if (heads == nullptr) return;
    const index_t bytes = elements_of_head<Format>(v.shape.head_dim) * static_cast<index_t>(sizeof(T));
    for (index_t h = 0; h < v.shape.heads; ++h) prefetch(address_of(heads, h * v.head_stride), bytes);
}
/// Whether the address 4 KB after a head is mostly that of a head to come: heads lie behind each other, or a slot holds
/// at least 8 KB. (In place, from memory, 32 heads of fp32 in blocks of 16 slots then take 0.7 to 0.9 of the time, on a
/// Zen 1; 8 heads in scattered slots would take 1.2 times as long.)
template <class T, class Format>
CORDAGE_ALWAYS_INLINE bool has_long_runs(const heads_view<T, Format>& v) noexcept {
    return v.slots.entries == nullptr || v.shape.heads * v.shape.head_dim * static_cast<index_t>(sizeof(T)) >= 8192;
}
/// How many tokens ahead a slot is prefetched.
inline constexpr index_t slots_ahead = 4;
template <class Operand>
CORDAGE_ALWAYS_INLINE void prefetch_slots(const Operand& o, index_t row, index_t token) noexcept {
    prefetch_slot(o.x, row, token + slots_ahead);
    if (!o.is_in_place()) prefetch_slot(o.y, row, token + slots_ahead);
}

}  // namespace cordage::backend
