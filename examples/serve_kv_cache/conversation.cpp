// SPDX-License-Identifier: MIT
#include "conversation.hpp"

#include <random>

#include "clex_stand_in.hpp"
#include "engine.hpp"

namespace {

using cordage::index_t;

constexpr index_t trained_length = 64, heads = 4, head_dim = 64, final_length = 8 * trained_length;
constexpr cache_shape cache{.blocks = 40, .block_tokens = 16, .heads = 2, .head_dim = head_dim};
const cordage::rope_config model{head_dim, head_dim, 10000, trained_length};

layer_norms drawn_norms() {
    layer_norms norms;
    for (index_t i = 0; i < head_dim; ++i) {
        norms.q.push_back(1.0f + 0.01f * static_cast<float>(i % 13));
        norms.k.push_back(1.1f - 0.01f * static_cast<float>(i % 7));
    }
    return norms;
}

/// Queries, keys and values of all tokens, as from a layer's projections, of magnitude about 1.
token_rows drawn_rows(index_t tokens) {
    std::mt19937_64 generator(1);
    const auto draw = [&](index_t heads_each) {
        std::vector<float> row(static_cast<std::size_t>(tokens * heads_each * head_dim));
        for (float& x : row) x = static_cast<float>(static_cast<double>(generator() >> 11) * 0x1p-51 - 2.0);
        return row;
    };
    return {tokens, draw(heads), draw(cache.heads), draw(cache.heads)};
}

token_rows slice(const token_rows& all, index_t begin, index_t end) {
    const auto part = [&](const std::vector<float>& rows) {
        const auto size = static_cast<index_t>(rows.size()) / all.tokens;
        return std::vector<float>(rows.begin() + begin * size, rows.begin() + end * size);
    };
    return {end - begin, part(all.q), part(all.k), part(all.v)};
}

token_rows joined(token_rows a, const token_rows& b) {
    a.tokens += b.tokens;
    a.q.insert(a.q.end(), b.q.begin(), b.q.end());
    a.k.insert(a.k.end(), b.k.begin(), b.k.end());
    a.v.insert(a.v.end(), b.v.begin(), b.v.end());
    return a;
}

void normalize(std::vector<float>& heads_of_tokens, const std::vector<float>& weight) {
    for (auto head = heads_of_tokens.begin(); head != heads_of_tokens.end(); head += head_dim) {
        double sum = 0.0;
        for (index_t i = 0; i < head_dim; ++i) sum += static_cast<double>(head[i]) * static_cast<double>(head[i]);
        const double scale = 1.0 / std::sqrt(sum / static_cast<double>(head_dim) + 1e-6);
        for (index_t i = 0; i < head_dim; ++i) {
            head[i] = static_cast<float>(static_cast<double>(head[i]) * scale *
                                         static_cast<double>(weight[static_cast<std::size_t>(i)]));
        }
    }
}

/// Attention of tokens begin ... end-1 computed from the projections without the engine: everything is normalized in
/// double, rotated by the scalar backend, and summed in double.
std::vector<double> recomputed(const token_rows& all, const cordage::basis& basis, index_t begin, index_t end) {
    token_rows rows = slice(all, 0, end);
    normalize(rows.q, drawn_norms().q);
    normalize(rows.k, drawn_norms().k);
    std::vector<std::int32_t> position_ids(static_cast<std::size_t>(end));
    std::iota(position_ids.begin(), position_ids.end(), 0);
    cordage::rotate_forward<cordage::half_split, cordage::backend::scalar>(
        cordage::exact_angles(basis, position_ids),
        cordage::in_place(cordage::token_major(rows.q.data(), {1, end, heads, head_dim})),
        cordage::in_place(cordage::token_major(rows.k.data(), {1, end, cache.heads, head_dim})));
    std::vector<double> out;
    for (index_t row = begin * heads; row < end * heads; ++row) {
        const float* const q = rows.q.data() + row * head_dim;
        const index_t shared = row % heads / (heads / cache.heads);
        std::vector<double> sums(head_dim);
        double total = 0.0;
        for (index_t token = 0; token <= row / heads; ++token) {
            const index_t cached = (token * cache.heads + shared) * head_dim;
            const double score = std::inner_product(q, q + head_dim, rows.k.data() + cached, 0.0);
            const double weight = std::exp(score / std::sqrt(static_cast<double>(head_dim)));
            total += weight;
            for (std::size_t i = 0; i < sums.size(); ++i) {
                sums[i] += weight * static_cast<double>(rows.v[static_cast<std::size_t>(cached) + i]);
            }
        }
        for (const double sum : sums) out.push_back(sum / total);
    }
    return out;
}

double largest_difference(const std::vector<float>& found, const std::vector<double>& expected) {
    double worst = found.size() == expected.size() ? 0.0 : INFINITY;
    for (std::size_t i = 0; i < found.size() && i < expected.size(); ++i) {
        worst = std::fmax(worst, std::fabs(static_cast<double>(found[i]) - expected[i]));
    }
    return worst;
}

}  // namespace

window_errors slide(index_t drops) {
    constexpr index_t rest = 16, group = heads / cache.heads;
    const index_t tokens = drops + rest;
    const cordage::basis basis = cordage::make_basis(model, cordage::unscaled{}, 1.0);
    const token_rows all = drawn_rows(tokens), last = slice(all, tokens - 1, tokens);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
    std::iota(ids.begin(), ids.end(), 0);
    const auto rotated = [&](auto x, std::int32_t& first, index_t count, index_t heads_each) {
        const cordage::position_view<std::int32_t> at(&first, 1, count, 0);
        cordage::rotate_forward<cordage::half_split>(
            cordage::exact_angles(basis, at),
            cordage::in_place(cordage::token_major(x.data(), {1, count, heads_each, head_dim})));
        return x;
    };
    const auto kept = slice(all, drops, tokens).k;
    const auto exact_keys = rotated(std::vector<double>(kept.begin(), kept.end()), ids[0], rest, cache.heads);
    const auto exact_q = rotated(std::vector<double>(last.q.begin(), last.q.end()), ids[rest - 1], 1, heads);

    const auto error = [&](bool is_moved_each_time, bool is_moved_once) {
        paged_cache<cordage::bfloat16> blocks({tokens, 1, cache.heads, head_dim});
        sequence<cordage::bfloat16> keys(blocks, basis);
        const std::vector<std::int32_t> slots = keys.append(tokens);
        cordage::rotate_forward<cordage::half_split>(
            cordage::exact_angles(basis, ids),
            cordage::from_to(cordage::token_major(all.k.data(), {1, tokens, cache.heads, head_dim}),
                             cordage::in_slots(blocks.keys(), slots.data(), 1, tokens)));
        for (index_t i = 0; i < drops; ++i) {
            keys.drop(0, 1);
            if (is_moved_each_time) keys.renumber();
        }
        if (is_moved_once) keys.renumber();
        std::int32_t at = keys.stored_position(rest - 1);
        const std::vector<queries_of_run> runs = queries_ahead(keys, rotated(last.q, at, 1, heads), 1, heads);
        double difference = 0.0, sum = 0.0;
        for (index_t token = 0; token < rest; ++token) {
            for (index_t head = 0; head < heads; ++head) {
                const index_t q = head * head_dim, k = head / group * head_dim;
                const double score = static_cast<double>(
                    dot(runs[0].q.data() + q, blocks.key(keys.block(token), keys.slot(token)) + k, head_dim));
                const double wanted = std::inner_product(exact_q.begin() + q, exact_q.begin() + q + head_dim,
                                                         exact_keys.begin() + token * cache.heads * head_dim + k, 0.0);
                difference += (score - wanted) * (score - wanted), sum += wanted * wanted;
            }
        }
        return std::sqrt(difference / sum);
    };
    return {error(false, false), error(false, true), error(true, false)};
}

template <cordage::element T>
conversation_result converse() {
    const clex_policy policy = drawn_clex(model, 8);
    const std::vector<double> cached_t = ratios_up_to(8, 0.5);
    const token_rows all = drawn_rows(final_length);
    double worst = 0.0;
    engine<T, clex_policy> server(model, policy, cached_t, drawn_norms(), heads, cache);
    const auto prefill_to = [&](index_t end) {
        const index_t begin = server.length();
        const auto out = server.prefill(slice(all, begin, end));
        worst = std::fmax(worst, largest_difference(out, recomputed(all, server.basis(), begin, end)));
    };
    const auto decode_to = [&](index_t end) {
        for (index_t token = server.length(); token < end; ++token) {
            const auto out = server.decode(slice(all, token, token + 1));
            worst = std::fmax(worst, largest_difference(out, recomputed(all, server.basis(), token, token + 1)));
        }
    };
    prefill_to(trained_length);  // a prompt, its answer, a second turn and a long answer
    decode_to(150);
    prefill_to(270);
    decode_to(final_length);

    engine<T, clex_policy> reader(model, policy, cached_t, drawn_norms(), heads, cache);
    reader.prefill(slice(all, 0, final_length - 1));
    const auto out = reader.decode(slice(all, final_length - 1, final_length));
    const auto expected = recomputed(all, reader.basis(), final_length - 1, final_length);

    // A document at 21 ... 120 is quoted at 200: the same tokens at other positions.
    engine<T, clex_policy> quoter(model, policy, cached_t, drawn_norms(), heads, cache);
    quoter.prefill(slice(all, 0, 200));
    quoter.reuse(21, 100);
    const token_rows quoted = joined(joined(slice(all, 0, 200), slice(all, 21, 121)), slice(all, 200, 201));
    const auto after = quoter.decode(slice(all, 200, 201));
    const auto as_read = recomputed(quoted, quoter.basis(), 300, 301);

    // Of 300 tokens the first 16 are kept, and 160 behind them are forgotten, in two steps between which others are
    // read.
    engine<T, clex_policy> forgetful(model, policy, cached_t, drawn_norms(), heads, cache);
    forgetful.prefill(slice(all, 0, 300));
    forgetful.drop(1, 6);
    forgetful.prefill(slice(all, 300, 310));
    forgetful.drop(1, 4);
    const token_rows kept = joined(slice(all, 0, 16), slice(all, 176, 312));
    const auto rest = forgetful.prefill(slice(all, 310, 312));
    const auto as_kept = recomputed(kept, forgetful.basis(), 150, 152);
    return {server.length(),
            server.changes(),
            worst,
            largest_difference(out, expected),
            largest_difference(after, as_read),
            largest_difference(rest, as_kept)};
}
template conversation_result converse<float>();
template conversation_result converse<cordage::bfloat16>();
