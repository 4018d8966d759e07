// SPDX-License-Identifier: MIT
// libcordage_peer.so: cordage for the comparison. q and k are rotated in one call, in place, as in users' programs.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "cordage/core/threads.hpp"
#include "cordage/kernels.hpp"
#include "entry.hpp"

namespace {

using namespace cordage;

basis basis_of(const rope_case& c) {
    std::vector<double> inv_freq;
    for (index_t lane = 0; lane < c.head_dim; lane += 2) {
        inv_freq.push_back(
            std::pow(double{c.theta_base}, -static_cast<double>(lane) / static_cast<double>(c.head_dim)));
    }
    return basis(std::move(inv_freq));
}

// cos and sin computed in the call, or read from a table built once, as for a model with many layers.
class exact_source {
 public:
    explicit exact_source(const rope_case& c) : basis_(basis_of(c)), position_ids_(c.positions, 1, c.tokens, 0) {}
    exact_angles<std::int64_t> operator()() const { return {basis_, position_ids_}; }

 private:
    basis basis_;
    position_view<std::int64_t> position_ids_;
};
class table_source {
 public:
    explicit table_source(const rope_case& c) : table_(exact_source(c)()) {}
    cos_sin_view<float> operator()() const { return table_.view(); }

 private:
    cos_sin_table<float> table_;
};

template <class T, class Pairing, class Source>
class rotation : public peers::tensors<T> {
 public:
    explicit rotation(const rope_case& c)
        : peers::tensors<T>(c),
          q_view_(token_major(this->q_.data(), {1, c.tokens, c.heads, c.head_dim})),
          k_view_(token_major(this->k_.data(), {1, c.tokens, c.kv_heads, c.head_dim})),
          source_(c),
          threads_{c.threads} {}

    void operator()() {  // threads{1} starts no threads, and a k without heads costs nothing
        rotate_forward<Pairing>(threads_, source_(), in_place(q_view_), in_place(k_view_));
    }

 private:
    heads_view<T> q_view_, k_view_;
    Source source_;
    threads threads_;
};

template <class T>
using exact_half_split = rotation<T, half_split, exact_source>;
template <class T>
using exact_interleaved = rotation<T, interleaved, exact_source>;
template <class T>
using table_half_split = rotation<T, half_split, table_source>;
template <class T>
using table_interleaved = rotation<T, interleaved, table_source>;

constexpr std::array entries{
    peers::entry<exact_half_split>("cordage_exact_inplace_half_split", rope_half_split),
    peers::entry<exact_interleaved>("cordage_exact_inplace_interleaved", rope_interleaved),
    peers::entry<table_half_split>("cordage_table_inplace_half_split", rope_half_split),
    peers::entry<table_interleaved>("cordage_table_inplace_interleaved", rope_interleaved),
};

}  // namespace

extern "C" {

std::int32_t rope_peers(const rope_peer** first) {
    *first = entries.data();
    return static_cast<std::int32_t>(entries.size());
}

/// Builds the float table of positions and theta_base of *c `repeats` times, each into memory of its own; the last one
/// is copied to cos and sin [tokens, head_dim/2], unless they are nullptr. Returns 0, or 1 if it could not.
std::int32_t cordage_build_table(const rope_case* c, std::int64_t repeats, float* cos, float* sin) {
    try {
        std::unique_ptr<const table_source> table;
        while (repeats-- > 0) {
            table.reset();
            table = std::make_unique<const table_source>(*c);
        }
        if (table && cos != nullptr && sin != nullptr) {
            const cos_sin_view<float> view = (*table)();
            std::copy_n(view.cos_data, view.token_count * view.pair_count, cos);
            std::copy_n(view.sin_data, view.token_count * view.pair_count, sin);
        }
        return 0;
    } catch (...) {  // no exception may cross a C interface
        return 1;
    }
}

}  // extern "C"
