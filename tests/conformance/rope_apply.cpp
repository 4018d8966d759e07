// SPDX-License-Identifier: MIT
// rope_apply.json: the rotation of q and k, its backward pass, keys moved between bases, and scores that depend
// on distance only.
//
// Everything runs in double and float, by the scalar and by the fastest backend. With m the attention factor and p the
// largest |position|:
//   outputs, grad_x     double (1e-13 + 2e-19 p) m max|x|             float (5e-7 + 2e-19 p) m max|x|
//   dinv_freq, dpos     the same 1e-13, or 2e-6, of the sum of the magnitudes that it adds up
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/forward.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

template <class T>
constexpr double rotation_tolerance = std::same_as<T, double> ? 1e-13 : 5e-7;
template <class T>
constexpr double sum_tolerance = std::same_as<T, double> ? 1e-13 : 2e-6;
constexpr double per_position = 2e-19;

/// Calls use<Pairing>() for the layout of that name.
void with_layout(const std::string& name, const auto& use) {
    if (name == "half") return use.template operator()<half_split>();
    if (name == "interleaved") return use.template operator()<interleaved>();
    throw unsupported("cordage has no layout '" + name + "'");
}

/// Calls use<T, Backend>() for both element types and backends.
void with_types_and_backends(const auto& use) {
    use.template operator()<double, backend::scalar>("double scalar");
    use.template operator()<double, backend::fastest>("double fastest");
    use.template operator()<float, backend::scalar>("float scalar");
    use.template operator()<float, backend::fastest>("float fastest");
}

template <class T>
std::vector<T> narrowed(std::span<const double> x) {
    std::vector<T> result;
    for (const double entry : x) result.push_back(static_cast<T>(entry));
    return result;
}
template <class T>
std::vector<double> widened(const std::vector<T>& x) {
    return {x.begin(), x.end()};
}

/// q or k of a case: input and expected output.
struct side {
    heads_shape shape;
    std::vector<double> x, y, grad_y, grad_x, grad_inv_freq;

    side(const value& one_case, const char* name, index_t head_dim, index_t pairs) {
        const std::string letter = name;
        const tensor given = one_case[name].as_tensor();
        if (given.shape.size() != 4 || given.shape[3] != head_dim) {
            throw malformed(one_case[name].where() + " must have shape [batch, seq, heads, head_dim]");
        }
        shape = {given.shape[0], given.shape[1], given.shape[2], given.shape[3]};
        const auto like_x = [&](const std::string& field) {
            return one_case[field.c_str()].array({shape.batch, shape.tokens, shape.heads, shape.head_dim});
        };
        x = given.data;
        y = like_x("out_" + letter);
        grad_y = like_x("loss_weight_" + letter);
        grad_x = like_x("d" + letter);
        grad_inv_freq = one_case[("dinv_freq_from_" + letter).c_str()].numbers(pairs);
    }
};

/// Results of one run on one side, in its own element type.
template <class T>
struct run_of_side {
    std::vector<T> x, y, grad_y, grad_x;
    heads_shape shape;

    explicit run_of_side(const side& s)
        : x(narrowed<T>(s.x)), y(x.size()), grad_y(narrowed<T>(s.grad_y)), grad_x(x.size()), shape(s.shape) {}

    operand<T> forward() { return from_to(token_major(x.data(), shape), token_major(y.data(), shape)); }
    backward_operand<T> backward() {
        return grad_through(token_major(grad_y.data(), shape), token_major(y.data(), shape),
                            token_major(grad_x.data(), shape));
    }
};

/// The magnitudes that the gradients to inv_freq and to positions add up: |p| |dphi| and |theta| |dphi|, each dphi at
/// most |grad_y0 y1| + |grad_y1 y0|.
struct magnitudes {
    std::vector<double> inv_freq, positions;

    template <class Pairing>
    static magnitudes of(const std::vector<side>& sides, std::span<const double> inv_freq,
                         std::span<const double> positions) {
        magnitudes sums{std::vector<double>(inv_freq.size()), std::vector<double>(positions.size())};
        const auto pairs = static_cast<index_t>(inv_freq.size());
        for (const side& s : sides) {
            const index_t heads = s.shape.heads, head_dim = s.shape.head_dim;
            for (std::size_t token = 0; token < positions.size(); ++token) {
                for (index_t head = 0; head < heads; ++head) {
                    const auto start =
                        static_cast<std::size_t>((static_cast<index_t>(token) * heads + head) * head_dim);
                    for (index_t pair = 0; pair < pairs; ++pair) {
                        const auto i = start + static_cast<std::size_t>(Pairing::first(pair, pairs));
                        const auto j = start + static_cast<std::size_t>(Pairing::second(pair, pairs));
                        const double size = std::abs(s.grad_y[i] * s.y[j]) + std::abs(s.grad_y[j] * s.y[i]);
                        const auto at = static_cast<std::size_t>(pair);
                        sums.inv_freq[at] += std::abs(positions[token]) * size;
                        sums.positions[token] += std::abs(inv_freq[at]) * size;
                    }
                }
            }
        }
        return sums;
    }
};

void near_scaled(report& result, const std::string& what, std::span<const double> got, std::span<const double> expected,
                 std::span<const double> scale, double tolerance) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        result.near(message(what, "[", i, "]"), got[i], expected[i], tolerance * scale[i]);
    }
}

/// Positions in every type that represents all of them.
void with_position_types(const std::vector<double>& positions, const auto& use) {
    use(positions, "double");
    const auto offer = [&]<class P>(P, const char* name, double most) {
        const auto fits = [&](double x) { return std::abs(x) <= most && static_cast<double>(static_cast<P>(x)) == x; };
        if (std::ranges::all_of(positions, fits)) use(narrowed<P>(positions), name);
    };
    offer(float{}, "float", 0x1p62);
    offer(std::int64_t{}, "int64", 0x1p62);
    offer(std::int32_t{}, "int32", 2147483647.0);
}

void check_apply(const value& one_case, report& result) {
    const index_t head_dim = one_case["head_dim"].size(), rotary_dim = one_case["rotary_dim"].size();
    const auto inv_freq = one_case["inv_freq"].numbers(rotary_dim / 2);
    const double factor = one_case["attention_factor"].number(), magnitude = std::abs(factor);
    const std::vector<side> sides{{one_case, "q", head_dim, rotary_dim / 2}, {one_case, "k", head_dim, rotary_dim / 2}};
    const index_t batch = sides[0].shape.batch, tokens = sides[0].shape.tokens;
    const auto positions = one_case["positions"].array({batch, tokens});
    const auto grad_inv_freq = one_case["dinv_freq"].numbers(rotary_dim / 2);
    const auto grad_positions = one_case["dpositions"].array({batch, tokens});
    const double loss = one_case["loss"].number();
    validate(rope_config{head_dim, rotary_dim, one_case["rope_theta"].number(), 1.0});
    const basis b(inv_freq, factor);
    const double far = per_position * largest(positions);

    with_layout(one_case["layout"].text(), [&]<class Pairing>() {
        const auto sums = magnitudes::of<Pairing>(sides, inv_freq, positions);
        with_position_types(positions, [&]<class P>(const std::vector<P>& ids, const char* id_type) {
            const exact_angles<P> angles(b, position_view<P>(ids.data(), batch, tokens, tokens));
            with_types_and_backends([&]<class T, class Backend>(const char* how) {
                const std::string by = message(how, ", ", id_type, " positions: ");
                run_of_side<T> q(sides[0]), k(sides[1]);
                rotate_forward<Pairing, Backend>(angles, q.forward(), k.forward());
                std::vector<double> got_inv_freq(inv_freq.size()), got_positions(positions.size());
                const rotation_gradients wanted{.inv_freq = got_inv_freq, .position_ids = got_positions};
                rotate_backward<Pairing, Backend>(angles, wanted, q.backward(), k.backward());

                double got_loss = 0.0, loss_scale = 0.0;
                const double within = rotation_tolerance<T> + far, summed = sum_tolerance<T> + far;
                const auto compare = [&](const std::string& name, const side& s, run_of_side<T>& run) {
                    result.near(by + "out_" + name, widened(run.y), s.y, within * magnitude * largest(s.x));
                    result.near(by + "d" + name, widened(run.grad_x), s.grad_x, within * magnitude * largest(s.grad_y));
                    for (std::size_t i = 0; i < s.x.size(); ++i) {
                        got_loss += s.grad_y[i] * static_cast<double>(run.y[i]);
                        loss_scale += std::abs(s.grad_y[i]) * magnitude * largest(s.x);
                    }
                    std::vector<double> alone(inv_freq.size());
                    rotate_backward<Pairing, Backend>(angles, rotation_gradients{.inv_freq = alone}, run.backward());
                    near_scaled(result, by + "dinv_freq_from_" + name, alone, s.grad_inv_freq, sums.inv_freq, summed);
                };
                compare("q", sides[0], q);
                compare("k", sides[1], k);
                result.near(by + "loss", got_loss, loss, within * loss_scale);
                near_scaled(result, by + "dinv_freq", got_inv_freq, grad_inv_freq, sums.inv_freq, summed);
                near_scaled(result, by + "dpositions", got_positions, grad_positions, sums.positions, summed);
            });
        });
    });
}

/// q_m . k_n after rotation.
void check_relative(const value& one_case, report& result) {
    const index_t head_dim = one_case["head_dim"].size(), rotary_dim = one_case["rotary_dim"].size();
    const auto q = one_case["q"].numbers(head_dim), k = one_case["k"].numbers(head_dim);
    const basis b(one_case["inv_freq"].numbers(rotary_dim / 2));
    double scale = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i) scale += std::abs(q[i]) * largest(k) + std::abs(k[i]) * largest(q);

    with_layout(one_case["layout"].text(), [&]<class Pairing>() {
        with_types_and_backends([&]<class T, class Backend>(const char* how) {
            const auto rotated = [&](const std::vector<double>& x, double position) {
                std::vector<T> y = narrowed<T>(x);
                const std::vector<double> at{position};
                rotate_forward<Pairing, Backend>(exact_angles(b, at),
                                                 in_place(token_major(y.data(), {1, 1, 1, head_dim})));
                return y;
            };
            for (const value& row : one_case["rows"].items()) {
                const double m = row["m"].number(), n = row["n"].number();
                const auto rotated_q = rotated(q, m), rotated_k = rotated(k, n);
                double score = 0.0;
                for (std::size_t i = 0; i < q.size(); ++i) {
                    score += static_cast<double>(rotated_q[i]) * static_cast<double>(rotated_k[i]);
                }
                const double within = rotation_tolerance<T> + per_position * std::max(std::abs(m), std::abs(n));
                result.near(message(row.where(), " ", how, " score"), score, row["score"].number(), within * scale);
            }
        });
    });
}

/// Keys rotated with one basis, moved to another: as one tensor, and as a paged cache of blocks of one token, which lie
/// in the opposite order.
void check_rebase(const value& one_case, report& result) {
    const index_t head_dim = one_case["head_dim"].size(), pairs = one_case["rotary_dim"].size() / 2;
    const basis a(one_case["inv_freq_a"].numbers(pairs)), b(one_case["inv_freq_b"].numbers(pairs));
    const tensor k = one_case["k"].as_tensor();
    if (k.shape.size() != 4 || k.shape[0] != 1 || k.shape[3] != head_dim) {
        throw malformed(one_case["k"].where() + " must have shape [1, seq, heads, head_dim]");
    }
    const heads_shape shape{1, k.shape[1], k.shape[2], head_dim}, blocks{shape.tokens, 1, shape.heads, head_dim};
    const auto positions = one_case["positions"].array({1, shape.tokens});
    const auto given = one_case["k_rotated_a"].array({1, shape.tokens, shape.heads, head_dim});
    const auto wanted = one_case["k_rotated_b"].array({1, shape.tokens, shape.heads, head_dim});
    const double far = 2.0 * per_position * largest(positions);

    std::vector<std::int32_t> backwards;
    for (index_t block = shape.tokens - 1; block >= 0; --block) backwards.push_back(static_cast<std::int32_t>(block));
    const std::vector<double> reversed(positions.rbegin(), positions.rend());

    with_layout(one_case["layout"].text(), [&]<class Pairing>() {
        with_types_and_backends([&]<class T, class Backend>(const char* how) {
            const double within = (rotation_tolerance<T> + far) * largest(k.data);
            std::vector<T> keys = narrowed<T>(given), paged = keys, rotated_here = narrowed<T>(k.data);
            rebase<Pairing, Backend>(exact_angles(b, positions) - exact_angles(a, positions),
                                     in_place(token_major(keys.data(), shape)));
            result.near(message(how, " k_rotated_b"), widened(keys), wanted, within);
            const auto in_table =
                in_blocks(token_major(paged.data(), blocks), backwards.data(), 1, shape.tokens, shape.tokens);
            rebase<Pairing, Backend>(exact_angles(b, reversed) - exact_angles(a, reversed), in_place(in_table));
            result.near(message(how, " k_rotated_b, paged"), widened(paged), wanted, within);
            rotate_forward<Pairing, Backend>(exact_angles(a, positions),
                                             in_place(token_major(rotated_here.data(), shape)));
            result.near(message(how, " k_rotated_a"), widened(rotated_here), given, within);
        });
    });
}

}  // namespace

std::span<const kind> rope_apply_kinds() {
    static constexpr kind kinds[] = {{"apply", check_apply}, {"relative", check_relative}, {"rebase", check_rebase}};
    return kinds;
}

}  // namespace conformance
