// SPDX-License-Identifier: MIT
// The device kernels as a backend of the host's functions, so that the tests of a backend also test them.
#pragma once

#include "backend/cuda/test_device.hpp"
#include "cordage/rotate/cuda/backward.hpp"
#include "known_blocks.hpp"

namespace cordage_test {

/// An angle source in the form of a device, with its memory.
template <cordage::position_type P>
struct copied_angles {
    cordage::basis_view bases;  // in host memory
    std::vector<std::uint64_t> words;
    std::vector<std::int32_t> of_token;
    std::vector<std::uint8_t> axis_of_pair;  // empty: one axis
    std::vector<P> ids;
    index_t axes, rows, tokens;

    cordage::device_basis device_bases() const {
        const cordage::device_basis all(words.data(), bases.pairs, bases.count);
        return bases.of_token == nullptr ? all : all.of(of_token.data(), bases.rows, bases.tokens);
    }
    // Tokens before rows, and axes last: strides in another order.
    cordage::position_view<P> positions() const {
        cordage::position_view<P> view(ids.data(), rows, tokens, axes);
        view.token_stride = rows * axes;
        view.axes = axes;
        view.axis_stride = 1;
        return view;
    }
};

template <cordage::position_type P, class Source>
copied_angles<P> copied_as(const Source& angles) {
    const cordage::basis_view& bases = angles.basis_numbers();
    const cordage::position_view<P>& from = angles.position_ids();
    copied_angles<P> copy{bases, cordage::device_words(bases), {}, {}, {}, from.axes, from.batch, from.tokens};
    if (bases.of_token != nullptr) copy.of_token.assign(bases.of_token, bases.of_token + bases.rows * bases.tokens);
    copy.ids.reserve(1);  // a null pointer is not a valid array of positions
    for (index_t token = 0; token < from.tokens; ++token) {
        for (index_t row = 0; row < from.batch; ++row) {
            for (index_t axis = 0; axis < from.axes; ++axis) copy.ids.push_back(from.at(row, token, axis));
        }
    }
    return copy;
}

/// Calls f with the angles in the form of a device.
template <cordage::position_type P, class F>
void with_device_angles(const cordage::exact_angles<P>& angles, const F& f) {
    const auto copy = copied_as<P>(angles);
    f(cordage::device_angles<P>(copy.device_bases(), copy.positions()));
}
template <cordage::position_type P, class F>
void with_device_angles(const cordage::axis_angles<P>& angles, const F& f) {
    auto copy = copied_as<P>(angles);
    for (index_t pair = 0; pair < angles.pairs(); ++pair) {
        copy.axis_of_pair.push_back(static_cast<std::uint8_t>(angles.axis(pair)));
    }
    f(cordage::device_axis_angles<P>(copy.device_bases(), copy.axis_of_pair, copy.positions()));
}
template <cordage::position_type P, class F>
void with_device_angles(const cordage::summed_axes<P>& angles, const F& f) {
    const auto copy = copied_as<P>(angles);
    f(cordage::device_summed_axes<P>(copy.device_bases(), copy.positions()));
}
template <class F>
void with_device_angles(const cordage::cos_sin_view<float>& angles, const F& f) {
    f(angles);
}
template <class T, class F>
void with_device_angles(const cordage::free_angles<T>& angles, const F& f) {
    f(angles);
}
template <class A, class B, class F>
void with_device_angles(const cordage::angle_sum<A, B>& angles, const F& f) {
    with_device_angles(angles.first(), [&](const auto& first) {
        with_device_angles(angles.second(), [&](const auto& second) { f(first + second); });
    });
}
template <class To, class From, class F>
void with_device_angles(const cordage::angle_difference<To, From>& angles, const F& f) {
    with_device_angles(angles.to(), [&](const auto& to) {
        with_device_angles(angles.from(), [&](const auto& from) { f(to - from); });
    });
}

struct device_backend {};

template <cordage::pairing Pairing, class Direction, class Source, class O>
void rotate_range(device_backend, const Source& angles, const cordage::operand_list<O>& operands, index_t begin,
                  index_t end) {
    std::vector<const O*> all;
    for (const O& o : operands) all.push_back(&o);
    const cordage::heads_shape& shape = all.at(0)->shape();
    REQUIRE(begin == 0);
    REQUIRE(end == shape.batch * shape.tokens);
    with_device_angles(angles, [&](const auto& on_device) {
        cordage::rotate_detail::launch_operands<Pairing, Direction>("test", test_device{}, on_device,
                                                                    std::span<const O* const>(all));
    });
}

template <cordage::pairing Pairing, class Source, class O>
void backward_range(device_backend, const Source& angles, const cordage::operand_list<O>& operands,
                    const cordage::backend::angle_gradients& grads, index_t begin, index_t end) {
    const index_t bases = cordage::angle_detail::bases_of(angles), axes = cordage::angle_detail::axes_of(angles);
    const auto numbers = [](double* first, index_t count) {
        return std::span<double>(first, first == nullptr ? 0 : static_cast<std::size_t>(count));
    };
    double* weights = grads.weights;
    for (const O& operand : operands) {
        const cordage::heads_shape& shape = operand.shape();
        const index_t tokens = shape.batch * shape.tokens;
        REQUIRE(begin == 0);
        REQUIRE(end == tokens);
        O o = operand;
        index_t most_weights = 0;
        if constexpr (O::is_normalized) {
            o.grad_weight = {weights, o.grad_weight.size()};
            most_weights = std::ssize(o.grad_weight);
            weights += most_weights;
        }
        with_device_angles(angles, [&](const auto& on_device) {
            const index_t size = cordage::backward_workspace_size(on_device, shape, most_weights);
            std::vector<double> workspace(static_cast<std::size_t>(size), 1e30);
            note_unwritten(std::span(workspace));
            const cordage::rotation_gradients wanted{.inv_freq = numbers(grads.inv_freq, bases * angles.pairs()),
                                                     .position_ids = numbers(grads.position, axes * tokens),
                                                     .attention_factor = numbers(grads.attention_factor, bases),
                                                     .angles = numbers(grads.angle, tokens * angles.pairs()),
                                                     .workspace = workspace};
            cordage::rotate_backward<Pairing>(test_device{}, on_device, wanted, o);
        });
    }
}

}  // namespace cordage_test
