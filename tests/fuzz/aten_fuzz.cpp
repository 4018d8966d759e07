// SPDX-License-Identifier: MIT
// Fuzzes the rotation of libtorch's tensors, its norms and its paged caches: tensors of any type, layout, device and
// shape are rejected by one of the library's errors before anything is written, or forward and backward agree with
// dense tensors in double. Built if libtorch is installed.

// libtorch 1.13 has vectors of an incomplete type. GCC accepts them; clang instantiates constexpr members of
// std::vector where they are declared, so here they, and std::string's, are not constexpr.
#define _GLIBCXX20_CONSTEXPR
#include <type_traits>
#undef __cpp_lib_is_constant_evaluated

#include <vector>

#include "building_blocks_called.hpp"  // as the other fuzzers, see CMakeLists.txt

#include "cordage/host/aten/paged_cache.hpp"
#include "input.hpp"
#include "run_counter.hpp"

namespace {

using namespace cordage;
using fuzz::expect;
using fuzz::input;

constexpr at::ScalarType types[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};
constexpr at::ScalarType any_types[] = {at::kFloat, at::kDouble,        at::kHalf, at::kBFloat16,
                                        at::kInt,   at::kLong,          at::kBool, at::kComplexFloat,
                                        at::kByte,  at::kComplexDouble, at::kShort};

/// Numbers of -2 to 2 in these sizes, in strides of any order, with gaps, or shared by several indices.
at::Tensor drawn(input& in, const std::vector<std::int64_t>& sizes, at::ScalarType type) {
    constexpr std::int64_t room = 4096;
    const double phase = static_cast<double>(in.between(0, 99));
    const at::Tensor all = at::arange(room, at::kDouble).mul(1.7).add(phase).sin().mul(2.0).to(type);
    std::vector<std::int64_t> strides(sizes.size());
    std::int64_t inside = in.rarely(8) ? in.between(0, 2) : 1;
    const auto first = static_cast<std::size_t>(in.between(0, static_cast<std::int64_t>(sizes.size())));
    for (std::size_t i = sizes.size(); i-- > 0;) {
        strides[i] = in.rarely(16) ? 0 : inside;
        inside = std::max<std::int64_t>(inside, 1) * sizes[i] + (i == first ? 3 : 0);
    }
    if (in.coin() && sizes.size() == 4) {  // heads before tokens
        strides[1] = sizes[3] + in.between(0, 1), strides[2] = strides[1] * sizes[1],
        strides[0] = strides[2] * sizes[2];
        strides[3] = 1;
    }
    if (inside > room || (sizes.size() == 4 && strides[0] * sizes[0] > room)) return all.slice(0, 0, 1);
    return all.as_strided(sizes, strides);
}

/// Replaces a tensor by an invalid one.
at::Tensor hostile(input& in, const at::Tensor& x) {
    switch (in.between(0, 7)) {
        case 0:
            return {};
        case 1:
            return x.to_sparse();
        case 2:
            return x.to(at::kMeta);
        case 3:
            return x.to(in.one_of(any_types));
        case 4:
            return x.dim() > 0 && x.size(0) > 0 ? x[0] : x.unsqueeze(0);
        case 5:
            return x.unsqueeze(-1);
        case 6:
            return x.dim() > 1 ? x.slice(1, 0, in.between(0, x.size(1))) : x.slice(0, 0, 1);
        default:
            return x.is_floating_point() ? at::imag(at::complex(at::zeros_like(x, at::kFloat), x.to(at::kFloat)).conj())
                                         : x.slice(0, 0, 0);
    }
}

at::Tensor maybe_hostile(input& in, const at::Tensor& x) { return in.rarely(12) ? hostile(in, x) : x; }

double tolerance(at::ScalarType type) {
    return type == at::kDouble ? 1e-12 : type == at::kFloat ? 1e-5 : type == at::kHalf ? 1e-2 : 8e-2;
}

bool is_close(const at::Tensor& found, const at::Tensor& wanted, double allowed) {
    if (found.sizes() != wanted.sizes()) return false;
    if (found.numel() == 0) return true;
    return (found.to(at::kDouble) - wanted.to(at::kDouble)).abs().max().item<double>() <= allowed;
}

std::vector<at::Tensor> in_double(const std::vector<at::Tensor>& all) {
    std::vector<at::Tensor> out;
    for (const at::Tensor& x : all) out.push_back(x.resolve_neg().to(at::kDouble).contiguous());
    return out;
}

/// One to three tensors with a few heads each, and gradients to them.
struct tensors_and_gradients {
    std::vector<at::Tensor> x, grad_y;
};
tensors_and_gradients drawn_tensors(input& in, std::int64_t batch, std::int64_t tokens, std::int64_t head_dim,
                                    at::ScalarType type) {
    tensors_and_gradients all;
    const auto tensors = in.between(1, 3);
    for (std::int64_t i = 0; i < tensors; ++i) {
        const std::vector<std::int64_t> sizes{batch, tokens, in.between(1, 3), head_dim};
        all.x.push_back(maybe_hostile(in, drawn(in, sizes, type)));
        all.grad_y.push_back(maybe_hostile(in, drawn(in, sizes, type)));
    }
    return all;
}

template <pairing Pairing>
bool run(input& in) {
    const at::ScalarType type = in.one_of(types);
    const std::int64_t batch = in.between(1, 2), tokens = in.between(1, 6), head_dim = in.between(2, 12),
                       pairs = in.between(1, head_dim / 2);
    const tensors_and_gradients drawn_ones = drawn_tensors(in, batch, tokens, head_dim, type);
    const std::vector<at::Tensor>&x = drawn_ones.x, &grad_y = drawn_ones.grad_y;
    constexpr at::ScalarType position_types[] = {at::kInt, at::kLong, at::kFloat, at::kDouble};
    const std::vector<std::int64_t> shared{tokens}, by_row{batch, tokens};
    at::Tensor ids = drawn(in, in.coin() ? shared : by_row, at::kDouble).mul(1e4).to(in.one_of(position_types));
    if (in.rarely(32)) ids = ids.to(at::kDouble).fill_(in.hostile_number());
    at::Tensor inv_freq = drawn(in, {pairs}, at::kDouble);
    if (in.rarely(32)) inv_freq = inv_freq.clone().fill_(in.hostile_number());
    const aten::angle_tensors by{maybe_hostile(in, ids), maybe_hostile(in, inv_freq),
                                 in.rarely(32) ? in.hostile_number() : 0.5 + in.share()};
    const aten::wanted_gradients wanted{in.coin(), in.coin(), in.coin()};
    const bool is_small = by.attention_factor >= 0.5 && by.attention_factor <= 1.5;  // representable in 16 bits

    std::vector<at::Tensor> y;
    try {
        y = aten::rotation_forward<Pairing>(x, by);
    } catch (const error&) {
        return false;
    }
    const double allowed = tolerance(x[0].scalar_type());
    const auto exact = aten::rotation_forward<Pairing>(in_double(x), by);
    for (std::size_t i = 0; i < x.size(); ++i) {
        expect(y[i].scalar_type() == x[i].scalar_type(), "y has x's type");
        expect(!is_small || is_close(y[i], exact[i], allowed), "y is x rotated, whatever its layout");
    }
    for (at::Tensor& one : y) one = maybe_hostile(in, one);
    if (in.rarely(32)) y.pop_back();
    try {
        const auto grads = aten::rotation_backward<Pairing>(grad_y, y, by, wanted);
        const bool has_y = wanted.any();
        const double near = tolerance(grad_y[0].scalar_type());
        const auto truth = aten::rotation_backward<Pairing>(in_double(grad_y), has_y ? in_double(y) : y, by, wanted);
        for (std::size_t i = 0; i < grad_y.size(); ++i) {
            expect(!is_small || is_close(grads.x[i], truth.x[i], near), "grad_x is what it is in double");
        }
        expect(grads.position_ids.defined() == wanted.position_ids && grads.inv_freq.defined() == wanted.inv_freq,
               "what is wanted is there");
        if (wanted.position_ids) expect(grads.position_ids.sizes() == by.position_ids.sizes(), "as position_ids");
        if (wanted.inv_freq && is_small) {  // sums over lanes of products up to 8 times a position
            const double each = 8.0 * (1.0 + by.position_ids.to(at::kDouble).abs().max().item<double>());
            expect(is_close(grads.inv_freq, truth.inv_freq, near * each * 1000), "as in double");
        }
    } catch (const error&) {
        return false;
    }
    return true;
}

/// A norm that fits these tensors, or others.
aten::norm_tensors drawn_norm(input& in, const std::vector<at::Tensor>& x) {
    aten::norm_tensors norm{.epsilon = in.rarely(32) ? in.hostile_number() : 0.01 + in.share(),
                            .adds_one = in.coin(),
                            .is_over_all_heads = in.coin(),
                            .is_after_rotation = in.coin(),
                            .is_rounded_between = in.coin()};
    if (in.coin()) return norm;
    for (const at::Tensor& one : x) {
        std::vector<std::int64_t> sizes{one.defined() && one.dim() == 4 ? one.size(3) : 2};
        if (norm.is_over_all_heads && one.defined() && one.dim() == 4) sizes.insert(sizes.begin(), one.size(2));
        norm.weights.push_back(maybe_hostile(in, drawn(in, sizes, in.one_of(types))));
    }
    if (in.rarely(32)) norm.weights.pop_back();
    return norm;
}
aten::norm_tensors in_double(const aten::norm_tensors& norm) {
    aten::norm_tensors out = norm;
    out.weights = in_double(norm.weights);
    return out;
}
/// Weights and small means give large numbers.
double largest(const std::vector<at::Tensor>& all) {
    double most = 1.0;
    for (const at::Tensor& x : all) {
        if (x.numel() > 0) most = std::max(most, x.to(at::kDouble).abs().max().item<double>());
    }
    return most;
}

template <pairing Pairing>
bool run_norm(input& in) {
    const at::ScalarType type = in.one_of(types);
    const std::int64_t batch = in.between(1, 2), tokens = in.between(1, 6), head_dim = in.between(2, 12);
    const tensors_and_gradients drawn_ones = drawn_tensors(in, batch, tokens, head_dim, type);
    const std::vector<at::Tensor>&x = drawn_ones.x, &grad_y = drawn_ones.grad_y;
    const aten::norm_tensors norm = drawn_norm(in, x);
    const aten::angle_tensors by{maybe_hostile(in, drawn(in, {tokens}, at::kDouble).mul(1e3)),
                                 maybe_hostile(in, drawn(in, {in.between(1, head_dim / 2)}, at::kDouble)),
                                 0.5 + in.share()};
    const aten::wanted_gradients wanted{in.coin(), in.coin(), in.coin(), in.coin()};
    try {
        const auto y = aten::rotation_forward<Pairing>(x, by, norm);
        const auto exact = aten::rotation_forward<Pairing>(in_double(x), by, in_double(norm));
        const bool is_small = norm.epsilon >= 0.01 && norm.epsilon <= 1.01;
        for (std::size_t i = 0; i < x.size(); ++i) {
            expect(!is_small || is_close(y[i], exact[i], 4.0 * tolerance(x[0].scalar_type()) * largest(exact)),
                   "y is x normalized and rotated");
        }
        const auto grads = aten::rotation_backward<Pairing>(grad_y, x, by, wanted, norm);
        const auto truth =
            aten::rotation_backward<Pairing>(in_double(grad_y), in_double(x), by, wanted, in_double(norm));
        const double near = 16.0 * tolerance(grad_y[0].scalar_type());
        for (std::size_t i = 0; i < grad_y.size(); ++i) {
            expect(!is_small || is_close(grads.x[i], truth.x[i], near * largest(truth.x)), "grad_x as in double");
        }
        expect(grads.weights.size() == (wanted.weights ? norm.weights.size() : 0), "what is wanted is there");
        for (std::size_t i = 0; i < grads.weights.size(); ++i) {
            expect(grads.weights[i].sizes() == norm.weights[i].sizes(), "as the weights");
        }
    } catch (const error&) {
        return false;
    }
    return true;
}

/// A cache in which every element is 3, tokens before heads or after.
at::Tensor drawn_cache(input& in, const std::vector<std::int64_t>& sizes, at::ScalarType type) {
    const at::Tensor all = at::full(sizes, 3, type);
    return in.coin() ? all : all.transpose(1, 2).contiguous().transpose(1, 2);
}

template <pairing Pairing>
bool run_cache(input& in) {
    const at::ScalarType type = in.one_of(types), code = in.coin() ? at::kChar : in.one_of(types);
    const std::int64_t batch = in.between(1, 2), tokens = in.between(1, 5), head_dim = in.between(2, 12),
                       v_dim = in.coin() ? head_dim : in.between(2, 12), heads = in.between(1, 3),
                       blocks = in.between(1, 4), block_size = in.between(1, 5);
    std::vector<at::Tensor> x{drawn(in, {batch, tokens, in.between(1, 4), head_dim}, type),
                              drawn(in, {batch, tokens, heads, head_dim}, type),
                              drawn(in, {batch, tokens, heads, v_dim}, type)};
    for (at::Tensor& one : x) one = maybe_hostile(in, one);
    aten::cache_tensors cache{drawn_cache(in, {blocks, block_size, heads, head_dim}, code),
                              drawn_cache(in, {blocks, block_size, heads, v_dim}, code),
                              {},
                              {}};
    if ((code == at::kChar) != in.rarely(32)) {
        const auto scales = [&](std::int64_t lanes) {
            const at::Tensor all = at::full({blocks, block_size, heads, in.between(1, lanes)}, 3.0f);
            return in.coin() ? all : all.select(3, 0).contiguous();
        };
        cache.key_scales = scales(head_dim);
        cache.value_scales = in.rarely(32) ? cache.key_scales : scales(v_dim);
    }
    cache.scales_round_up = in.rarely(32);
    if (in.rarely(32)) cache.scale_least = static_cast<float>(in.hostile_number());
    if (in.rarely(32)) cache.value_tensor_scale = static_cast<float>(in.hostile_number());
    const aten::cache_tensors whole = cache;
    cache.keys = maybe_hostile(in, cache.keys), cache.values = maybe_hostile(in, cache.values);
    if (cache.key_scales.defined()) cache.key_scales = maybe_hostile(in, cache.key_scales);
    // Slots are distinct, with rare exceptions.
    const std::int64_t most = blocks * block_size, first = in.between(0, most - 1);
    at::Tensor slots = at::arange(first, first + batch * tokens, at::kLong).remainder(most).view({batch, tokens});
    if (in.coin()) slots = slots.clone().masked_fill_(slots.eq(in.between(0, most)), in.rarely(16) ? most : -1);
    if (in.coin()) slots = slots.to(at::kInt);
    slots = maybe_hostile(in, slots);
    const aten::angle_tensors by{maybe_hostile(in, drawn(in, {tokens}, at::kDouble).mul(1e3)),
                                 drawn(in, {in.between(1, head_dim / 2)}, at::kDouble), 0.5 + in.share()};
    std::optional<aten::norm_tensors> norm;
    if (in.coin()) norm = drawn_norm(in, {x[0], x[1]});
    const auto are_untouched = [&](const at::Tensor& all) { return !all.defined() || all.eq(3).all().item<bool>(); };
    bool is_stored = false;
    try {
        const at::Tensor q = aten::rotate_and_store<Pairing>(x[0], x[1], x[2], cache, slots, by, norm);
        is_stored = true;
        const std::vector<at::Tensor> wide = in_double({x[0], x[1]});
        const auto exact = norm ? aten::rotation_forward<Pairing>(wide, by, in_double(*norm))
                                : aten::rotation_forward<Pairing>(wide, by);
        if (norm && !(norm->epsilon >= 0.01 && norm->epsilon <= 1.01)) return true;
        const double near = 4.0 * tolerance(x[0].scalar_type()) * largest(exact);
        expect(is_close(q, exact[0], near), "q is normalized and rotated");
        const auto check_stored = [&](const at::Tensor& in_cache, const at::Tensor& scales, const at::Tensor& wanted) {
            at::Tensor numbers = in_cache.to(at::kDouble);
            if (scales.defined()) {  // one for each group of lanes
                std::vector<std::int64_t> sizes = numbers.sizes().vec();
                sizes.back() = scales.dim() == 4 ? scales.size(3) : 1;
                sizes.push_back(numbers.size(3) / sizes.back());
                const at::Tensor each = scales.to(at::kDouble).reshape({sizes[0], sizes[1], sizes[2], sizes[3], 1});
                numbers = (numbers.reshape(sizes) * each).reshape(numbers.sizes());
            }
            const double step =
                (scales.defined() ? 1.0 / 127.0 : 4.0 * tolerance(in_cache.scalar_type())) * largest({wanted});
            for (std::int64_t i = 0; i < x[0].size(0) * x[0].size(1); ++i) {
                const std::int64_t slot = slots.reshape({-1})[i].item<std::int64_t>();
                if (slot < 0) continue;
                expect(is_close(numbers[slot / block_size][slot % block_size],
                                wanted[i / x[0].size(1)][i % x[0].size(1)], near + step),
                       "its slot holds the token");
            }
        };
        check_stored(cache.keys, cache.key_scales, exact[1]);
        check_stored(cache.values, cache.value_scales, in_double({x[2]})[0]);
        const at::Tensor listed = slots.reshape({-1}).slice(0, 0, x[0].size(1));
        aten::move<Pairing>(cache, listed, maybe_hostile(in, listed.clone()), by, by);
    } catch (const error&) {
        expect(is_stored || (are_untouched(whole.keys) && are_untouched(whole.values) &&
                             are_untouched(whole.key_scales) && are_untouched(whole.value_scales)),
               "what is refused has written nothing");
        return false;
    }
    return true;
}

bool run_any(input& in) {
    switch (in.between(0, 3)) {
        case 0:
            return run<half_split>(in);
        case 1:
            return run<interleaved>(in);
        case 2:
            return run_norm<half_split>(in);
        default:
            return run_cache<interleaved>(in);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("rotated, forward and backward, or stored");
    static const bool is_ready = (at::set_num_threads(1), true);
    input in(data, is_ready ? size : 0);
    run_any(in) ? counter.passed() : counter.refused();
    return 0;
}
