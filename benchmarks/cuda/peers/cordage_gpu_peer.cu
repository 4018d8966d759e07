// SPDX-License-Identifier: MIT
// libcordage_gpu_peer.so: cordage for the comparison, q and k in one launch, in place.
#include <array>

#include "../device.cuh"
#include "gpu_entry.cuh"

namespace {

using namespace cordage;
using benchmarks::check;
using benchmarks::device_array;

// cos and sin computed in the kernel, or read from a table built once, as for a model with many layers.
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
        const basis b(std::move(inv_freq));
        return device_words(b);
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

template <class Pairing, class Source, bool Overlaps = false>
class rotation {
 public:
    explicit rotation(const gpu_rope_case& c) : case_(c), source_(c) {}

    int run(void* q, void* k, cudaStream_t stream) const {
        switch (case_.dtype) {
            case gpu_rope_fp32:
                return rotate_in_place<float>(q, k, stream);
            case gpu_rope_fp16:
                return rotate_in_place<float16>(q, k, stream);
            default:
                return rotate_in_place<bfloat16>(q, k, stream);
        }
    }

 private:
    template <class T>
    int rotate_in_place(void* q, void* k, cudaStream_t stream) const {
        const auto view = [&](void* x, index_t heads) {
            return in_place(token_major(static_cast<T*>(x), {1, case_.tokens, heads, case_.head_dim}));
        };
        rotate_forward<Pairing>(Overlaps ? on(stream).overlapping() : on(stream), source_.angles(),
                                view(q, case_.heads), view(k, case_.kv_heads));
        return 0;
    }
    gpu_rope_case case_;
    Source source_;
};

// q, k and v in rows of one tensor.
template <class Pairing>
class of_rows {
 public:
    explicit of_rows(const gpu_rope_case& c) : case_(c), source_(c) {
        if (c.dtype != gpu_rope_bf16) throw shape_error("qkv must be bf16");
    }

 protected:
    heads_view<bfloat16> part(void* qkv, index_t first, index_t heads) const {
        const index_t row = (case_.heads + 2 * case_.kv_heads) * case_.head_dim;
        return {static_cast<bfloat16*>(qkv) + first * case_.head_dim,
                {1, case_.tokens, heads, case_.head_dim},
                0,
                row,
                case_.head_dim};
    }
    heads_view<bfloat16> q(void* qkv) const { return part(qkv, 0, case_.heads); }
    heads_view<bfloat16> k(void* qkv) const { return part(qkv, case_.heads, case_.kv_heads); }
    heads_view<bfloat16> v(void* qkv) const { return part(qkv, case_.heads + case_.kv_heads, case_.kv_heads); }

    gpu_rope_case case_;
    exact_source source_;
};

template <class Pairing>
class norm_and_rotation : of_rows<Pairing> {
 public:
    explicit norm_and_rotation(const gpu_rope_case& c)
        : of_rows<Pairing>(c), weights_(std::span<const bfloat16>(std::vector<bfloat16>(ones(c)))) {}
    int run(void* qkv, void*, cudaStream_t stream) const {
        const rms_norm<bfloat16> norm{.weight = weights_.data()};
        rotate_forward<Pairing>(on(stream), this->source_.angles(), in_place(this->q(qkv)).normalized(norm),
                                in_place(this->k(qkv)).normalized(norm));
        return 0;
    }

 private:
    static std::vector<bfloat16> ones(const gpu_rope_case& c) {
        return std::vector<bfloat16>(static_cast<std::size_t>(c.head_dim), to_bfloat16(1.0f));
    }
    device_array<bfloat16> weights_;
};

template <class Pairing>
class fp8_cache : of_rows<Pairing> {
 public:
    explicit fp8_cache(const gpu_rope_case& c) : of_rows<Pairing>(c), scale_(std::span<const float>(&one, 1)) {}
    int run(void* qkv, void* fp8, cudaStream_t stream) const {
        const gpu_rope_case& c = this->case_;
        const index_t blocks = rounded_up_quotient(c.tokens, 16), cache = blocks * 16 * c.kv_heads * c.head_dim;
        const scaled_bytes<fp8_e4m3> format{.scales = {scale_.data(), 0, 0, 0}, .makes_scales = false};
        const auto q = static_cast<fp8_e4m3*>(fp8), keys = q + c.tokens * c.heads * c.head_dim;
        const auto cached = [&](fp8_e4m3* memory) {  // token i in slot i, whose number is its position
            return in_slots(token_major(memory, {blocks, 16, c.kv_heads, c.head_dim}, format), c.positions, 1,
                            c.tokens);
        };
        rotate_forward<Pairing>(on(stream), this->source_.angles(),
                                from_to(this->q(qkv), token_major(q, {1, c.tokens, c.heads, c.head_dim}, format)),
                                from_to(this->k(qkv), cached(keys)),
                                from_to(this->v(qkv), cached(keys + cache)).unrotated());
        return 0;
    }

 private:
    static constexpr float one = 1.0f;
    device_array<float> scale_;
};

template <template <class> class Call>
constexpr std::array both_pairings{gpu_peers::gpu_entry<Call<half_split>>("cordage exact", gpu_rope_half_split),
                                   gpu_peers::gpu_entry<Call<interleaved>>("cordage exact", gpu_rope_interleaved)};

template <class Table>
std::int32_t give(const Table& entries, const gpu_rope_peer** first) {
    *first = entries.data();
    return static_cast<std::int32_t>(entries.size());
}

constexpr std::array entries{
    gpu_peers::gpu_entry<rotation<half_split, exact_source>>("cordage exact", gpu_rope_half_split),
    gpu_peers::gpu_entry<rotation<interleaved, exact_source>>("cordage exact", gpu_rope_interleaved),
    gpu_peers::gpu_entry<rotation<half_split, exact_source, true>>("cordage exact overlapping", gpu_rope_half_split),
    gpu_peers::gpu_entry<rotation<interleaved, exact_source, true>>("cordage exact overlapping", gpu_rope_interleaved),
    gpu_peers::gpu_entry<rotation<half_split, table_source>>("cordage table", gpu_rope_half_split),
    gpu_peers::gpu_entry<rotation<interleaved, table_source>>("cordage table", gpu_rope_interleaved),
};

}  // namespace

extern "C" {
std::int32_t gpu_rope_peers(const gpu_rope_peer** first) { return give(entries, first); }
std::int32_t gpu_norm_peers(const gpu_rope_peer** first) { return give(both_pairings<norm_and_rotation>, first); }
std::int32_t gpu_fp8_cache_peers(const gpu_rope_peer** first) { return give(both_pairings<fp8_cache>, first); }
}
