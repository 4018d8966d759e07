// SPDX-License-Identifier: MIT
// Where kernels add the gradients of a token to angles, positions and frequencies; serves the SIMD backward pass.
#pragma once

#include "cordage/backend/gradients.hpp"
#include "cordage/backend/tags.hpp"

namespace cordage::backend {

// What token_gradients calls, of one type of source.

template <class Arch, class Source, class Real>
CORDAGE_ONE_BODY void add_gradients(const void* source, const angle_gradients& to, index_t row, index_t token,
                                    index_t first, index_t count, const Real* grad_angle) noexcept {
    to.add(*static_cast<const Source*>(source), row, token, first, count, grad_angle);
}
template <class Arch, class Source>
CORDAGE_ONE_BODY void add_factor_gradient(const void* source, const angle_gradients& to, index_t row, index_t token,
                                          double dot) noexcept {
    to.add_factor(*static_cast<const Source*>(source), row, token, dot);
}

/// angle_gradients of one source, without the type of the source, to which it points.
template <class Real>
class token_gradients {
 public:
    template <class Arch, class Source>
    static CORDAGE_ALWAYS_INLINE token_gradients of(simd<Arch>, const Source& source,
                                                    const angle_gradients& to) noexcept {
        token_gradients grads;
        grads.source_ = &source, grads.to_ = &to;
        grads.add_ = add_gradients<Arch, Source, Real>;
        grads.add_factor_ = add_factor_gradient<Arch, Source>;
        return grads;
    }

    CORDAGE_ALWAYS_INLINE bool has_factor() const noexcept { return to_->attention_factor != nullptr; }
    CORDAGE_ALWAYS_INLINE double* weights() const noexcept { return to_->weights; }
    CORDAGE_ALWAYS_INLINE void add(index_t row, index_t token, index_t first, index_t count,
                                   const Real* grad_angle) const noexcept {
        add_(source_, *to_, row, token, first, count, grad_angle);
    }
    CORDAGE_ALWAYS_INLINE void add_factor(index_t row, index_t token, double dot) const noexcept {
        add_factor_(source_, *to_, row, token, dot);
    }

 private:
    const void* source_;
    const angle_gradients* to_;
    void (*add_)(const void*, const angle_gradients&, index_t, index_t, index_t, index_t, const Real*) noexcept;
    void (*add_factor_)(const void*, const angle_gradients&, index_t, index_t, double) noexcept;
};

}  // namespace cordage::backend
