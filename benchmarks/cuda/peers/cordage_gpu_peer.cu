// SPDX-License-Identifier: MIT
// libcordage_gpu_peer.so: cordage as the comparison calls it, q and k in one launch, in place.
#include <array>

#include "../device.cuh"
#include "gpu_entry.cuh"

namespace {

using namespace cordage;
using benchmarks::check;
using benchmarks::device_array;

// cos and sin made on the fly, or read from a table that was built once, as for a model's many layers.
class exact_source {
 public:
    explicit exact_source(const gpu_rope_case& c)
        : pairs_(c.head_dim / 2),
          words_(std::span<const std::uint64_t>(words_of(c))),
          ids_(c.positions, 1, c.tokens, 0) {}
    device_angles<std::int32_t> angles() const { return {device_basis(words_.data(), pairs_), ids_}; }

 private:
    static std::vector<std::uint64_t> words_of(const gpu_rope_case& c) {
        std::vector<double> inv_freq;
        for (index_t lane = 0; lane < c.head_dim; lane += 2) {
            inv_freq.push_back(
                std::pow(double{c.theta_base}, -static_cast<double>(lane) / static_cast<double>(c.head_dim)));
        }
        return device_words(basis(std::move(inv_freq)));
    }
    index_t pairs_;
    device_array<std::uint64_t> words_;
    position_view<std::int32_t> ids_;
};
class table_source {
 public:
    explicit table_source(const gpu_rope_case& c)
        : tokens_(c.tokens), pairs_(c.head_dim / 2), cos_(count()), sin_(count()) {
        copy(cos_, c.cos_sin);
        copy(sin_, c.cos_sin + pairs_);
    }
    cos_sin_view<float> angles() const { return {cos_.data(), sin_.data(), 1, tokens_, pairs_}; }

 private:
    std::size_t count() const { return static_cast<std::size_t>(tokens_ * pairs_); }
    void copy(const device_array<float>& to, const float* from) const {  // rows of both parts into rows of one
        const std::size_t row = static_cast<std::size_t>(pairs_) * sizeof(float);
        check("cudaMemcpy2D", cudaMemcpy2D(to.data(), row, from, 2 * row, row, static_cast<std::size_t>(tokens_),
                                           cudaMemcpyDeviceToDevice));
    }
    index_t tokens_, pairs_;
    device_array<float> cos_, sin_;
};

template <class Pairing, class Source>
class rotation {
 public:
    explicit rotation(const gpu_rope_case& c) : case_(c), source_(c) {}

    int run(void* q, void* k, cudaStream_t stream) const {
        switch (case_.dtype) {
            case gpu_rope_fp32:
                return turn<float>(q, k, stream);
            case gpu_rope_fp16:
                return turn<float16>(q, k, stream);
            default:
                return turn<bfloat16>(q, k, stream);
        }
    }

 private:
    template <class T>
    int turn(void* q, void* k, cudaStream_t stream) const {
        const auto view = [&](void* x, index_t heads) {
            return in_place(token_major(static_cast<T*>(x), {1, case_.tokens, heads, case_.head_dim}));
        };
        rotate_forward<Pairing>(on(stream), source_.angles(), view(q, case_.heads), view(k, case_.kv_heads));
        return 0;
    }
    gpu_rope_case case_;
    Source source_;
};

constexpr std::array entries{
    gpu_peers::gpu_entry<rotation<half_split, exact_source>>("cordage exact", gpu_rope_half_split),
    gpu_peers::gpu_entry<rotation<interleaved, exact_source>>("cordage exact", gpu_rope_interleaved),
    gpu_peers::gpu_entry<rotation<half_split, table_source>>("cordage table", gpu_rope_half_split),
    gpu_peers::gpu_entry<rotation<interleaved, table_source>>("cordage table", gpu_rope_interleaved),
};

}  // namespace

extern "C" std::int32_t gpu_rope_peers(const gpu_rope_peer** first) {
    *first = entries.data();
    return static_cast<std::int32_t>(entries.size());
}
