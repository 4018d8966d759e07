// SPDX-License-Identifier: MIT
// The tensors of the device benchmarks: q with 32 heads and k with 8 heads of 128 lanes, at positions from 10^6.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "../names.hpp"
#include "device.cuh"

namespace cordage::benchmarks {

inline constexpr index_t head_dim = 128, heads = 32, kv_heads = 8;

inline basis usual_basis() {
    std::vector<double> inv_freq;
    for (int lane = 0; lane < head_dim; lane += 2) inv_freq.push_back(std::pow(10'000.0, -lane / double{head_dim}));
    return basis(std::move(inv_freq));
}

inline std::vector<std::int32_t> positions_from(std::int32_t first, index_t tokens) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

/// Positions of `tokens` tokens and their exact angles, on the device.
class exact_workload {
 public:
    explicit exact_workload(index_t tokens)
        : ids_(positions_from(1'000'000, tokens)),
          device_ids_(std::span<const std::int32_t>(ids_)),
          basis_(usual_basis()),
          words_(std::span<const std::uint64_t>(device_words(basis_))) {}

    index_t tokens() const { return std::ssize(ids_); }
    std::size_t bytes() const { return ids_.size() * sizeof(std::int32_t); }
    /// `set` is the next set of memory; all sets share these few bytes.
    device_angles<std::int32_t> angles(int /*set*/) const {
        return {device_basis(words_.data(), basis_.pairs()), {device_ids_.data(), 1, tokens(), 0}};
    }
    cos_sin_table<float> host_table() const { return cos_sin_table<float>(exact_angles(basis_, ids_)); }

 private:
    std::vector<std::int32_t> ids_;
    device_array<std::int32_t> device_ids_;
    basis basis_;
    device_array<std::uint64_t> words_;
};

/// cos and sin of the same tokens, one copy for each set of memory, so that they are not cached either.
class table_workload {
 public:
    table_workload(const exact_workload& exact, int sets) : tokens_(exact.tokens()), sets_(copies(exact, sets)) {}

    index_t tokens() const { return tokens_; }
    std::size_t bytes() const { return 2 * half() * sizeof(float); }
    cos_sin_view<float> angles(int set) const {
        const float* const first = sets_.data() + static_cast<std::size_t>(set) * 2 * half();
        return {first, first + half(), 1, tokens_, head_dim / 2};
    }

 private:
    std::size_t half() const { return static_cast<std::size_t>(tokens_ * head_dim / 2); }
    static std::vector<float> copies(const exact_workload& exact, int sets) {
        const cos_sin_table<float> table = exact.host_table();
        const cos_sin_view<float> view = table.view();
        const index_t count = view.token_count * view.pair_count;
        std::vector<float> all;
        for (int set = 0; set < sets; ++set) {
            all.insert(all.end(), view.cos_data, view.cos_data + count);
            all.insert(all.end(), view.sin_data, view.sin_data + count);
        }
        return all;
    }
    index_t tokens_;
    device_array<float> sets_;
};

/// Bytes of q and k.
template <class T>
std::size_t bytes_of(index_t tokens) {
    return static_cast<std::size_t>(tokens * (heads + kv_heads) * head_dim) * sizeof(T);
}
/// Views of q and of k behind it.
template <class T>
heads_view<T> q_of(std::byte* memory, index_t tokens) {
    return token_major(reinterpret_cast<T*>(memory), {1, tokens, heads, head_dim});
}
template <class T>
heads_view<T> k_of(std::byte* memory, index_t tokens) {
    return token_major(reinterpret_cast<T*>(memory) + tokens * heads * head_dim, {1, tokens, kv_heads, head_dim});
}

/// rotate/<direction>/cuda/<dtype>/<pairing>/<angles>[/graph_node]/tokens:N/heads:32+8/head_dim:128
template <class T, class Pairing>
std::string name_of(const std::string& direction, const std::string& angles, index_t tokens) {
    return "rotate/" + direction + "/cuda/" + dtype_name<T>() + "/" + pairing_name<Pairing>() + "/" + angles +
           "/tokens:" + std::to_string(tokens) + "/heads:32+8/head_dim:128";
}

}  // namespace cordage::benchmarks
