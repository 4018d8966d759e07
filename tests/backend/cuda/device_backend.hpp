// SPDX-License-Identifier: MIT
// The kernels for a device as a backend of the host's doors, so that the tests of a backend are tests of theirs.
#pragma once

#include "backend/cuda/test_device.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/rotate/cuda/backward.hpp"

namespace cordage_test {

/// Bases as a device has them.
struct copied_bases {
    std::vector<cordage::basis> bases;
    std::vector<std::uint64_t> words{};

    cordage::device_basis view() {
        std::vector<const cordage::basis*> pointers;
        for (const cordage::basis& b : bases) pointers.push_back(&b);
        words = cordage::device_words(pointers);
        return {words.data(), bases[0].pairs(), std::ssize(bases)};
    }
};

/// A source of angles as a device has it, with the memory behind it.
template <cordage::position_type P>
struct copied_angles {
    copied_bases bases;
    std::vector<P> ids;
    index_t rows, tokens;

    cordage::device_angles<P> view() { return {bases.view(), {ids.data(), rows, tokens, tokens}}; }
};
template <cordage::position_type P>
struct copied_axis_angles {
    copied_bases bases;
    std::vector<std::uint8_t> axis_of_pair;
    std::vector<P> ids;
    index_t axes, rows, tokens;

    // Tokens before rows, and axes last: strides in an order of their own.
    cordage::device_axis_angles<P> view() {
        return {bases.view(), axis_of_pair, {ids.data(), axes, rows, tokens, 1, axes, rows * axes}};
    }
};

/// The rows' bases, each once where all rows share it.
template <class Source>
copied_bases bases_of(const Source& angles) {
    copied_bases copy;
    for (index_t row = 0; row < angles.bases(); ++row) {
        const auto inv_freq = angles.inv_freq(row);
        copy.bases.emplace_back(std::vector<double>(inv_freq.begin(), inv_freq.end()), angles.attention_factor(row));
    }
    return copy;
}
template <cordage::position_type P, class Source>
copied_angles<P> copied_as(const Source& angles) {
    copied_angles<P> copy{bases_of(angles), {}, angles.batch(), angles.tokens()};
    copy.ids.reserve(1);  // null is no array of positions
    for (index_t row = 0; row < angles.batch(); ++row) {
        for (index_t token = 0; token < angles.tokens(); ++token) {
            copy.ids.push_back(static_cast<P>(angles.position(row, token, 0)));
        }
    }
    return copy;
}
template <cordage::position_type P, class Source>
copied_axis_angles<P> copied_axes_as(const Source& angles) {
    copied_axis_angles<P> copy{bases_of(angles), {}, {}, angles.axes(), angles.batch(), angles.tokens()};
    copy.ids.reserve(1);
    for (index_t pair = 0; pair < angles.pairs(); ++pair) {
        copy.axis_of_pair.push_back(static_cast<std::uint8_t>(angles.axis(pair)));
    }
    for (index_t token = 0; token < angles.tokens(); ++token) {
        for (index_t row = 0; row < angles.batch(); ++row) {
            for (index_t axis = 0; axis < angles.axes(); ++axis) {
                copy.ids.push_back(static_cast<P>(angles.position(row, token, axis)));
            }
        }
    }
    return copy;
}

/// Positions of these tests are exact in double.
template <cordage::position_type P>
auto copied(const cordage::exact_angles<P>& angles) {
    return copied_as<P>(angles);
}
template <cordage::position_type P>
auto copied(const cordage::row_angles<cordage::exact_angles<P>>& angles) {
    return copied_as<P>(angles);
}
template <cordage::position_type P>
auto copied(const cordage::axis_angles<P>& angles) {
    return copied_axes_as<P>(angles);
}
template <cordage::position_type P>
auto copied(const cordage::row_angles<cordage::axis_angles<P>>& angles) {
    return copied_axes_as<P>(angles);
}

/// Calls f with the angles as a device has them.
template <class Source, class F>
void with_device_angles(const Source& angles, const F& f) {
    if constexpr (std::same_as<Source, cordage::cos_sin_view<float>>) {
        f(angles);
    } else {
        auto copy = copied(angles);
        f(copy.view());
    }
}

struct device_backend {};

template <cordage::pairing Pairing, class Direction, class Source, class T>
void rotate_range(device_backend, const Source& angles, std::span<const cordage::operand<T>> operands, index_t begin,
                  index_t end) {
    const cordage::heads_shape& shape = operands[0].shape();
    REQUIRE(begin == 0);
    REQUIRE(end == shape.batch * shape.tokens);
    REQUIRE(operands.size() == 2);
    with_device_angles(angles, [&](const auto& on_device) {
        const std::array<cordage::operand<T>, 2> both{operands[0], operands[1]};
        cordage::rotate_detail::rotate_on_device<Pairing, Direction>("test", test_device{}, on_device, both);
    });
}

template <cordage::pairing Pairing, class Source, class T>
void backward_range(device_backend, const Source& angles, std::span<const cordage::backward_operand<T>> operands,
                    const cordage::backend::angle_gradients& grads, index_t begin, index_t end) {
    const cordage::heads_shape& shape = operands[0].shape();
    const index_t tokens = shape.batch * shape.tokens;
    REQUIRE(begin == 0);
    REQUIRE(end == tokens);
    REQUIRE(operands.size() == 1);
    const auto numbers = [](double* first, index_t count) {
        return std::span<double>(first, first == nullptr ? 0 : static_cast<std::size_t>(count));
    };
    with_device_angles(angles, [&](const auto& on_device) {
        std::vector<double> workspace(static_cast<std::size_t>(cordage::backward_workspace_size(on_device, shape)),
                                      1e30);
        cordage::rotate_backward<Pairing>(test_device{}, on_device,
                                          {.inv_freq = numbers(grads.inv_freq, angles.bases() * angles.pairs()),
                                           .position_ids = numbers(grads.position, angles.axes() * tokens),
                                           .attention_factor = grads.attention_factor},
                                          workspace, operands[0]);
    });
}

}  // namespace cordage_test
