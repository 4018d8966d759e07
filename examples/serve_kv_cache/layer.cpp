// SPDX-License-Identifier: MIT
#include "layer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "attention.hpp"

namespace layer {

namespace {

using cordage::index_t;
using element = cordage::bfloat16;

template <class Work>
double microseconds(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

/// Fills with values of magnitude about 1, cheaply.
void fill(std::vector<element>& values) {
    std::uint32_t state = 1;
    for (element& x : values) {
        state = state * 1664525u + 1013904223u;
        x = cordage::to_bfloat16(static_cast<float>(state >> 8) * 0x1p-23f - 1.0f);
    }
}

/// As in the released code: keys are kept unrotated, and a copy of all of them is rotated at every token.
void rotate_into(sequence<element>& keys, const cordage::basis& basis, std::vector<element>& rotated) {
    std::vector<std::int32_t> position_ids(static_cast<std::size_t>(keys.length()));
    std::iota(position_ids.begin(), position_ids.end(), 0);
    cordage::rotate_forward<cordage::half_split>(
        cordage::exact_angles(basis, position_ids),
        cordage::from_to(keys.keys(), cordage::token_major(rotated.data(), {1, keys.length(), heads, head_dim})));
}

/// A chunk of text in the cache, needed at another position: computed from hidden states, or moved within the cache.
class chunk_of_text {
 public:
    explicit chunk_of_text(const cordage::basis& basis)
        : cache_({.blocks = 3 * chunk / 16, .block_tokens = 16, .heads = heads, .head_dim = head_dim}),
          read_(cache_, basis),
          again_(cache_, basis),
          hidden_(chunk * width, 0.5f),
          k_(hidden_.size()),
          v_(hidden_.size()),
          norm_(head_dim, 1.0f) {
        read_.append(chunk);
        again_.append(chunk);  // another text
        slots_ = again_.append(chunk);
    }

    /// The first rows of the weights stand for W_k and W_v.
    void project(const std::vector<element>& weights) {
        for (index_t row = 0; row < width; ++row) {
            for (index_t token = 0; token < chunk; ++token) {
                const float* const x = hidden_.data() + token * width;
                const auto at = static_cast<std::size_t>(token * width + row);
                k_[at] = dot(x, weights.data() + row * width, width);
                v_[at] = dot(x, weights.data() + (width + row) * width, width);
            }
        }
    }
    void store() {
        const auto cached = [&](std::vector<float>& x, const cordage::heads_view<element>& all) {
            return cordage::from_to(cordage::token_major(x.data(), {1, chunk, heads, head_dim}),
                                    cordage::in_slots(all, slots_.data(), 1, chunk));
        };
        cordage::rotate_forward<cordage::half_split>(
            cordage::exact_angles(again_.basis(), slots_),  // any positions
            cached(k_, cache_.keys()).normalized(cordage::rms_norm<>{.weight = norm_.data()}),
            cached(v_, cache_.values()).unrotated());
    }
    void reuse() { again_.copy(read_, 0, chunk, chunk); }

 private:
    paged_cache<element> cache_;
    sequence<element> read_, again_;
    std::vector<float> hidden_, k_, v_, norm_;
    std::vector<std::int32_t> slots_;
};

}  // namespace

parts measure(index_t tokens, index_t rounds) {
    const clex_policy policy = drawn_clex(model, t_max);
    const cordage::rope_scaling rule(model, policy, cordage::continuous{});
    const cordage::basis bases[] = {rule.at_ratio(4.0), rule.at_ratio(4.5)};
    constexpr index_t block_tokens = 16;
    paged_cache<element> cache({cordage::rounded_up_quotient(tokens, block_tokens), block_tokens, heads, head_dim});
    sequence<element> keys(cache, bases[0]);
    std::vector<float> q(width, 0.5f), k(width, 0.25f), out(static_cast<std::size_t>(weight_rows));
    keys.append(tokens);
    for (const auto& all : {cache.keys(), cache.values()}) {
        std::fill_n(all.data, cache.shape().blocks * block_tokens * width, cordage::to_bfloat16(0.25f));
    }
    std::vector<element> weights(static_cast<std::size_t>(weight_rows * width));
    std::vector<element> rotated(static_cast<std::size_t>(cache.shape().blocks * block_tokens * width));
    fill(weights);

    const auto multiply = [&] {
        for (index_t row = 0; row < weight_rows; ++row) {
            out[static_cast<std::size_t>(row)] = dot(q.data(), weights.data() + row * width, width);
        }
    };
    const std::vector<std::int32_t> newest{static_cast<std::int32_t>(tokens)};
    const auto row_of = [](std::vector<float>& x) { return cordage::token_major(x.data(), {1, 1, heads, head_dim}); };
    const auto rotate_newest = [&] {
        cordage::rotate_forward<cordage::half_split>(cordage::exact_angles(keys.basis(), newest),
                                                     cordage::in_place(row_of(q)), cordage::in_place(row_of(k)));
    };
    std::uint64_t sum = 0;
    const auto read = [&] {  // only reads the weights: a lower bound for a layer
        for (std::size_t i = 0; i < weights.size(); i += 4) {
            std::uint64_t word;
            std::memcpy(&word, weights.data() + i, sizeof word);
            sum += word;
        }
        out[0] = static_cast<float>(sum);
    };
    chunk_of_text text(bases[0]);
    std::vector<double> times[11];
    for (index_t round = -2; round < rounds; ++round) {
        // Work on the KV cache follows a pass over the weights, as in a model, so the processor's caches are cold.
        const double loading = microseconds(read);
        const double rebasing = microseconds([&] { keys.rebase_to(bases[(round + 3) % 2]); });
        const double multiplying = microseconds(multiply);
        const double attending = microseconds([&] { attend(keys, tokens, {{tokens, q}}, 0, heads, out.data()); });
        read();
        const double copying = microseconds([&] { rotate_into(keys, bases[0], rotated); });
        const double now[] = {loading,
                              multiplying,
                              attending,
                              microseconds(rotate_newest),
                              rebasing,
                              copying,
                              microseconds([&] { drawn_clex(model, t_max); }),
                              microseconds([&] { rule.at_ratio(4.25); }),
                              round < 0 ? 0.0 : microseconds([&] { text.project(weights); }),
                              microseconds([&] { text.store(); }),
                              microseconds([&] { text.reuse(); })};
        for (std::size_t i = 0; round >= 0 && i < std::size(now); ++i) times[i].push_back(now[i]);
    }
    return {median(times[0]), median(times[1]), median(times[2]), median(times[3]), median(times[4]), median(times[5]),
            median(times[6]), median(times[7]), median(times[8]), median(times[9]), median(times[10])};
}

}  // namespace layer
