// SPDX-License-Identifier: MIT
// A source whose basis_index is misspelt would have the gradients of its first basis only.
// expected: cordage: a source of angles has both 'index_t bases() const' and 'index_t basis_index(index_t row, index_t
// expected: token) const', or neither; docs/extending.md
#include "cordage/rotate/backward.hpp"

struct two_bases {
    const double* frequencies;
    cordage::index_t batch() const { return 1; }
    cordage::index_t tokens() const { return 2; }
    cordage::index_t pairs() const { return 1; }
    double attention_factor(cordage::index_t, cordage::index_t) const { return 1.0; }
    double angle(cordage::index_t, cordage::index_t token, cordage::index_t) const { return frequencies[token]; }
    double position(cordage::index_t, cordage::index_t, cordage::index_t) const { return 1.0; }
    const double* inv_freq(cordage::index_t basis) const { return frequencies + basis; }
    cordage::index_t bases() const { return 2; }
#ifdef CORDAGE_COMPILE_FAIL
    cordage::index_t basis_idx(cordage::index_t, cordage::index_t token) const { return token; }
#else
    cordage::index_t basis_index(cordage::index_t, cordage::index_t token) const { return token; }
#endif
};

void learn(const two_bases& angles, const cordage::heads_view<float>& x, std::span<double> grad) {
    cordage::rotate_backward<cordage::half_split>(angles, cordage::rotation_gradients{.inv_freq = grad},
                                                  cordage::grad_through(x, x, x));
}
