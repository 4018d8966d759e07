// SPDX-License-Identifier: MIT
// Operands of a rotation and of its backward pass: tensors to read and to write; stage tensors.
#pragma once

#include <concepts>
#include <span>
#include <tuple>
#include <type_traits>

#include "cordage/tensors/heads_view.hpp"
#include "cordage/tensors/rms_norm.hpp"

namespace cordage {

/// One tensor to rotate: x is read, y is written, each [batch, tokens, heads, head_dim] with its own type and format.
/// The rotary_dim rotated lanes of a head begin at first_lane: 0 in most models, after the other lanes in DeepSeek.
///
///   head_dim 8, rotary_dim 4, first_lane 4:   interleaved [. . . . c s c s]   half_split [. . . . c c s s]
///
/// Made by in_place and from_to, then optionally .normalized(rms_norm<>{...}) or .unrotated().
template <class X, class Y = X, class XFormat = element_traits<X>, class YFormat = element_traits<Y>,
          class Norm = no_norm>
class operand {
 public:
    using compute = typename XFormat::compute;
    static_assert(!std::is_const_v<Y>,
                  "cordage: in_place(x) writes x, from_to(x, y) writes y: write to a view of "
                  "elements that are not const");
    static_assert(std::same_as<compute, typename YFormat::compute>,
                  "cordage::operand: x and y must compute in one type, float or double");
    static constexpr bool is_normalized = !std::same_as<Norm, no_norm>;
    /// Whether x or y is in a format of whole heads, which are converted in buffers on the stack.
    static constexpr bool has_head_format = head_format<XFormat, X> || head_format<YFormat, Y>;
    static constexpr bool is_plain = !is_normalized && !has_head_format;

    // Constant, as the operand keeps whether they are one view.
    const heads_view<const X, XFormat> x = {};
    const heads_view<Y, YFormat> y = {};
    index_t first_lane = 0;
    Norm norm = {};

    operand() = default;
    CORDAGE_ALWAYS_INLINE operand(const heads_view<const X, XFormat>& from, const heads_view<Y, YFormat>& to,
                                  index_t lane, const Norm& of_heads = {}, bool rotates = true)
        : x(from),
          y(to),
          first_lane(lane),
          norm(of_heads),
          is_in_place_(std::same_as<X, Y> && heads_memory(from) == heads_memory(to) &&
                       is_same_format(from.format, to.format)),
          is_rotated_(rotates) {}

    /// The same operand with its heads normalized before they are rotated, or after.
    template <class W = float>
    CORDAGE_ALWAYS_INLINE operand<X, Y, XFormat, YFormat, rms_norm<W>> normalized(const rms_norm<W>& of_heads) const {
        operand<X, Y, XFormat, YFormat, rms_norm<W>> made(x, y, first_lane, of_heads, is_rotated_);
        return writes_free_slots_ ? made.to_free_slots() : made;
    }
    template <class W>
    auto normalized(const W&) const {
        static_assert(!sizeof(W*), "cordage: normalized takes a norm: normalized(rms_norm<>{.weight = weight})");
    }
    /// The same operand without rotation, for v, which is copied into a cache by the call that rotates q and k.
    CORDAGE_ALWAYS_INLINE operand unrotated() const {
        operand same = *this;
        same.first_lane = 0;
        same.is_rotated_ = false;
        return same;
    }
    /// The same operand, of which the caller states that the call reads no slot that it writes: keys that move to free
    /// slots of their cache. A device cannot check it, and processes tokens in any order.
    CORDAGE_ALWAYS_INLINE operand to_free_slots() const {
        operand same = *this;
        same.writes_free_slots_ = true;
        return same;
    }

    /// Whether x and y are the same view, so that token addresses are computed once.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE bool is_in_place() const noexcept { return is_in_place_; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE bool is_rotated() const noexcept { return is_rotated_; }
    bool writes_free_slots() const noexcept { return writes_free_slots_; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE const heads_shape& shape() const noexcept { return x.shape; }
    /// All views, inputs first.
    auto views() const noexcept { return std::tie(x, y); }

    /// Pointers to the first rotated lane of a token's first head in x and y; null if there are no heads (the data may
    /// then be null) or if the token has no slot.
    struct token_lanes {
        const X* x;
        Y* y;
    };
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE token_lanes lanes_of(index_t row, index_t token) const noexcept {
        if (x.shape.heads == 0) return {nullptr, nullptr};
        Y* const to = y.token(row, token);
        if (to == nullptr) return {nullptr, nullptr};
        if constexpr (std::same_as<X, Y>) {
            if (is_in_place_) return {to + first_lane, to + first_lane};
        }
        const X* const from = x.token(row, token);
        if (from == nullptr) return {nullptr, nullptr};
        return {from + first_lane, to + first_lane};
    }

 private:
    bool is_in_place_ = true;
    bool is_rotated_ = true;
    bool writes_free_slots_ = false;
};

template <class X, class XFormat, class Y, class YFormat, class Norm>
operand(const heads_view<const X, XFormat>&, const heads_view<Y, YFormat>&, index_t, const Norm&, bool)
    -> operand<X, Y, XFormat, YFormat, Norm>;

/// Operand that overwrites x.
template <class T, class Format>
CORDAGE_ALWAYS_INLINE operand<T, T, Format, Format> in_place(const heads_view<T, Format>& x, index_t first_lane = 0) {
    return {x, x, first_lane};
}

/// Operand that reads x and writes y. Their types may differ; y is x, other slots of its cache, or does not overlap x.
///
///   from_to(k, in_slots(key_cache, slot_mapping, 1, tokens))    // fp32 keys into a bfloat16 cache, a slot for each
template <class In, class XFormat, class Y, class YFormat>
CORDAGE_ALWAYS_INLINE operand<std::remove_const_t<In>, Y, XFormat, YFormat> from_to(const heads_view<In, XFormat>& x,
                                                                                    const heads_view<Y, YFormat>& y,
                                                                                    index_t first_lane = 0) {
    return {x, y, first_lane};
}

/// Of memory without a shape: the error says what to write.
template <class X>
auto in_place(const X&, index_t = 0) {
    static_assert(!sizeof(X*), "cordage::in_place takes a view: in_place(token_major(q.data(), shape))");
}
/// Of memory without a shape: the error says what to write.
template <class X, class Y>
auto from_to(const X&, const Y&, index_t = 0) {
    static_assert(!sizeof(X*), "cordage::from_to takes views: from_to(token_major(q.data(), shape), ...)");
}

/// One tensor of the backward pass: reads grad_y and y, the output of the forward pass, and writes grad_x. With a norm,
/// y is the forward's input, from which everything else is recomputed. Made by grad_through, then optionally
/// .normalized(norm, grad_weight), and then .unrotated().
template <class T, class Format = element_traits<T>, class Norm = no_norm>
struct backward_operand {
    static_assert(format_of<Format, T>,
                  "cordage::grad_through: gradients are views of single elements (token_major, head_major), not of "
                  "groups (group_major) or quantised heads");
    using compute = typename Format::compute;
    static constexpr bool is_normalized = !std::same_as<Norm, no_norm>, is_plain = !is_normalized;

    heads_view<const T, Format> grad_y;
    heads_view<const T, Format> y;
    heads_view<T, Format> grad_x;
    index_t first_lane = 0;              ///< first_lane of the forward call
    Norm norm = {};                      ///< norm of the forward call
    std::span<double> grad_weight = {};  ///< dL/dweight, added to
    bool rotates = true;                 ///< false only with a norm

    /// The same operand for heads that the forward pass normalized: the second view is then x, the forward's input. The
    /// gradient of the norm's weights is added to grad_weight, [head_dim] or [heads, head_dim]; empty: not computed.
    template <class W = float>
    backward_operand<T, Format, rms_norm<W>> normalized(const rms_norm<W>& of_heads,
                                                        std::span<double> to_weight = {}) const {
        return {grad_y, y, grad_x, first_lane, of_heads, to_weight};
    }
    /// The same operand for heads that the forward pass normalized and did not rotate.
    backward_operand unrotated() const
        requires(is_normalized)
    {
        return {grad_y, y, grad_x, 0, norm, grad_weight, false};
    }

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE bool is_rotated() const noexcept { return rotates || is_plain; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE const heads_shape& shape() const noexcept { return grad_y.shape; }
    auto views() const noexcept { return std::tie(grad_y, y, grad_x); }

    /// As operand::token_lanes; all null if one is null.
    struct token_lanes {
        const T* grad_y;
        const T* y;
        T* grad_x;
    };
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE token_lanes lanes_of(index_t row, index_t token) const noexcept {
        if (shape().heads == 0) return {nullptr, nullptr, nullptr};
        const T *const g = grad_y.token(row, token), *const out = y.token(row, token);
        T* const gx = grad_x.token(row, token);
        if (g == nullptr || out == nullptr || gx == nullptr) return {nullptr, nullptr, nullptr};
        return {g + first_lane, out + first_lane, gx + first_lane};
    }
};

/// Makes one tensor of the backward pass of its three views; grad_x may be grad_y or y.
///
///   grad_through(grad_q, q, grad_q).normalized(norm, grad_weight)    // q: before norm and rotation
template <class G, class Y, class T, class Format>
    requires std::same_as<std::remove_const_t<G>, T> && std::same_as<std::remove_const_t<Y>, T>
backward_operand<T, Format> grad_through(const heads_view<G, Format>& grad_y, const heads_view<Y, Format>& y,
                                         const heads_view<T, Format>& grad_x, index_t first_lane = 0) {
    return {grad_y, y, grad_x, first_lane};
}

/// Operands of the forward functions, and those of the backward pass.
template <class O>
concept operand_type = requires { O::has_head_format; };
template <class O>
concept backward_operand_type = requires(const O& o) {
    o.grad_y;
    o.grad_weight;
};

/// The operands of one type of a call, as passed to a backend: `for (const auto& operand : operands)`.
template <class O>
class operand_list {
 public:
    using type = O;
    using compute = typename O::compute;  ///< float or double

    /// @param operands  addresses of O, which outlive the list, as does the array
    CORDAGE_ALWAYS_INLINE explicit operand_list(std::span<const void* const> operands) noexcept : all_(operands) {}

    class iterator {
     public:
        CORDAGE_ALWAYS_INLINE explicit iterator(const void* const* at) noexcept : at_(at) {}
        CORDAGE_ALWAYS_INLINE const O& operator*() const noexcept { return *static_cast<const O*>(*at_); }
        CORDAGE_ALWAYS_INLINE iterator& operator++() noexcept {
            ++at_;
            return *this;
        }
        CORDAGE_ALWAYS_INLINE bool operator!=(const iterator& other) const noexcept { return at_ != other.at_; }

     private:
        const void* const* at_;
    };
    CORDAGE_ALWAYS_INLINE iterator begin() const noexcept { return iterator(all_.data()); }
    CORDAGE_ALWAYS_INLINE iterator end() const noexcept { return iterator(all_.data() + all_.size()); }
    CORDAGE_ALWAYS_INLINE std::span<const void* const> addresses() const noexcept { return all_; }

 private:
    std::span<const void* const> all_;
};

/// Calls f with a list of one operand.
template <class O, class F>
CORDAGE_ALWAYS_INLINE void with_list_of(const O& operand, const F& f) {
    const void* const address = &operand;
    f(operand_list<O>({&address, 1}));
}

}  // namespace cordage
