// SPDX-License-Identifier: MIT
// A program of the one file: prints the bits of rotations in every direction, pairing and type, with bases of policies.
#if defined(CORDAGE_ONE_FILE)
#include <cordage_kernels.hpp>
#else
#include <cordage/basis/rope_scaling.hpp>
#include <cordage/kernels.hpp>
#include <cordage/scaling/by_parts.hpp>
#include <cordage/scaling/yarn.hpp>
#include <cordage/schedule/schedules.hpp>
#endif

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace cordage;

constexpr heads_shape shape{.tokens = 5, .heads = 3, .head_dim = 72};

template <class T>
std::vector<T> numbers(unsigned seed) {
    std::vector<T> all;
    for (index_t i = 0; i < shape.tokens * shape.heads * shape.head_dim; ++i) {
        seed = 1664525u * seed + 1013904223u;
        all.push_back(element_traits<T>::store(static_cast<float>(seed >> 8) * 0x1p-22f - 2.0f));
    }
    return all;
}

/// The name and 64 bits of all elements' bytes (FNV-1a).
template <class T>
void print(const char* verb, const char* type, const std::vector<T>& all) {
    std::uint64_t hash = 14695981039346656037u;
    for (std::size_t i = 0; i < all.size() * sizeof(T); ++i) {
        hash = (hash ^ reinterpret_cast<const unsigned char*>(all.data())[i]) * 1099511628211u;
    }
    std::printf("%s %s %016llx\n", verb, type, static_cast<unsigned long long>(hash));
}

template <class Pairing, class T>
void rotate_all(const char* type, const basis& b, const std::vector<double>& position_ids) {
    auto x = numbers<T>(1), grad = numbers<T>(2), other = numbers<T>(3);
    const auto view = token_major(x.data(), shape), grad_view = token_major(grad.data(), shape),
               other_view = token_major(other.data(), shape);
    const exact_angles angles(b, position_ids);
    rotate_forward<Pairing>(angles, in_place(view), in_place(other_view));
    print("forward", type, x);
    std::vector<double> grad_inv_freq(static_cast<std::size_t>(b.pairs())), grad_positions(position_ids.size());
    rotate_backward<Pairing>(angles, rotation_gradients{.inv_freq = grad_inv_freq, .position_ids = grad_positions},
                             grad_through(grad_view, view, grad_view));
    print("backward", type, grad);
    print("grad inv_freq of", type, grad_inv_freq);
    print("grad positions of", type, grad_positions);
    if constexpr (sizeof(T) >= sizeof(float)) {
        rotate_inverse<Pairing>(angles, in_place(view));
        print("inverse", type, x);
        const std::vector<double> moved{7.0, 8.0, 9.0, 1e6, 1e6 + 1};
        rebase<Pairing>(exact_angles(b, moved) - exact_angles(b, position_ids), in_place(other_view));
        print("rebase", type, other);
    }
}

/// Pairs that fill no vector: 36 and 35, of which vectors half as wide or single numbers rotate the last 4 or 3.
template <class Pairing, class T>
void rotate_rest(const char* type, const std::vector<double>& position_ids) {
    for (const index_t pairs : {36, 35}) {
        const rope_config model{.head_dim = 72, .rotary_dim = 2 * pairs, .theta_base = 10000, .original_length = 4096};
        const basis b = rope_scaling(model, yarn{}, continuous{}).at_length(16384);
        auto x = numbers<T>(6);
        rotate_forward<Pairing>(exact_angles(b, position_ids), in_place(token_major(x.data(), shape)));
        print(pairs == 36 ? "36 pairs of" : "35 pairs of", type, x);
    }
}

/// RMSNorm, rotation and a quantised store in one pass, and a backward pass behind the norm.
void normalize(const basis& b, const std::vector<double>& position_ids) {
    auto x = numbers<float>(4);
    const std::vector<float> weight(static_cast<std::size_t>(shape.head_dim), 1.25f);
    std::vector<std::int8_t> codes(x.size());
    std::vector<float> scales(static_cast<std::size_t>(shape.tokens * shape.heads));
    const scaled_bytes<std::int8_t> int8{.scales = {scales.data(), shape.tokens * shape.heads, shape.heads, 1}};
    rotate_forward<half_split>(exact_angles(b, position_ids),
                               from_to(token_major(x.data(), shape), token_major(codes.data(), shape, int8))
                                   .normalized(rms_norm<>{.weight = weight.data()}));
    print("normalized", "int8", codes);
    print("scales", "float", scales);
    auto grad = numbers<float>(5);
    std::vector<double> grad_weight(static_cast<std::size_t>(shape.head_dim));
    const auto view = token_major(grad.data(), shape), normed = token_major(x.data(), shape);
    rotate_backward<half_split>(
        exact_angles(b, position_ids), rotation_gradients{},
        grad_through(view, normed, view).normalized(rms_norm<>{.weight = weight.data()}, grad_weight));
    print("backward behind a norm of", "float", grad);
    print("grad weight of", "float", grad_weight);
}

}  // namespace

int main() {
    const rope_config model{.head_dim = 72, .rotary_dim = 64, .theta_base = 10000, .original_length = 4096};
    const std::vector<double> position_ids{0.0, 1.0, -3.5, 70000.0, 2147483647.0};
    const basis one = rope_scaling(model, yarn{}, continuous{}).at_length(16384);
    const basis two = rope_scaling(model, llama3{1.0, 4.0}, fixed{8}).at_length(16384);
    print("yarn", "inv_freq", std::vector<double>(one.inv_freq().begin(), one.inv_freq().end()));
    print("llama3", "inv_freq", std::vector<double>(two.inv_freq().begin(), two.inv_freq().end()));
    rotate_all<half_split, float>("float", one, position_ids);
    rotate_all<half_split, bfloat16>("bfloat16", one, position_ids);
    rotate_all<interleaved, float16>("float16", two, position_ids);
    rotate_all<interleaved, double>("double", two, position_ids);
    rotate_rest<half_split, float>("float", position_ids);
    rotate_rest<interleaved, float>("float, interleaved", position_ids);
    rotate_rest<half_split, double>("double", position_ids);
    rotate_rest<interleaved, bfloat16>("bfloat16, interleaved", position_ids);
    normalize(one, position_ids);
}
