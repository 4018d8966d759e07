// SPDX-License-Identifier: MIT
// Fuzzes the rotation of libtorch's tensors: tensors of any type, layout, device and shape are refused by an error of
// ours, or forward and backward make what they make of dense tensors in double. Built where libtorch is.

// libtorch 1.13 has vectors of a type that is not complete yet. GCC takes them; clang looks into members of std::vector
// that are constexpr where they are declared, so here they, and std::string's, are not.
#define _GLIBCXX20_CONSTEXPR
#include <type_traits>
#undef __cpp_lib_is_constant_evaluated

#include <vector>

#include "cordage/host/aten/rotation.hpp"
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

/// Something else in the place of a tensor.
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

template <pairing Pairing>
bool run(input& in) {
    const at::ScalarType type = in.one_of(types);
    const std::int64_t batch = in.between(1, 2), tokens = in.between(1, 6), head_dim = in.between(2, 12),
                       pairs = in.between(1, head_dim / 2);
    const auto tensors = in.between(1, 3);
    std::vector<at::Tensor> x, grad_y;
    for (std::int64_t i = 0; i < tensors; ++i) {
        const std::vector<std::int64_t> sizes{batch, tokens, in.between(1, 3), head_dim};
        x.push_back(maybe_hostile(in, drawn(in, sizes, type)));
        grad_y.push_back(maybe_hostile(in, drawn(in, sizes, type)));
    }
    constexpr at::ScalarType position_types[] = {at::kInt, at::kLong, at::kFloat, at::kDouble};
    const std::vector<std::int64_t> shared{tokens}, by_row{batch, tokens};
    at::Tensor ids = drawn(in, in.coin() ? shared : by_row, at::kDouble).mul(1e4).to(in.one_of(position_types));
    if (in.rarely(32)) ids = ids.to(at::kDouble).fill_(in.hostile_number());
    at::Tensor inv_freq = drawn(in, {pairs}, at::kDouble);
    if (in.rarely(32)) inv_freq = inv_freq.clone().fill_(in.hostile_number());
    const aten::angle_tensors by{maybe_hostile(in, ids), maybe_hostile(in, inv_freq),
                                 in.rarely(32) ? in.hostile_number() : 0.5 + in.share()};
    const aten::wanted_gradients wanted{in.coin(), in.coin(), in.coin()};
    const bool is_small = by.attention_factor >= 0.5 && by.attention_factor <= 1.5;  // what 16 bits hold

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
        expect(!is_small || is_close(y[i], exact[i], allowed), "y is x turned, whatever its layout");
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
        if (wanted.inv_freq && is_small) {  // sums of products up to 8 times a position, of all lanes
            const double each = 8.0 * (1.0 + by.position_ids.to(at::kDouble).abs().max().item<double>());
            expect(is_close(grads.inv_freq, truth.inv_freq, near * each * 1000), "as in double");
        }
    } catch (const error&) {
        return false;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("rotated, forward and backward");
    static const bool is_ready = (at::set_num_threads(1), true);
    input in(data, is_ready ? size : 0);
    (in.coin() ? run<half_split>(in) : run<interleaved>(in)) ? counter.passed() : counter.refused();
    return 0;
}
