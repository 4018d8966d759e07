// SPDX-License-Identifier: MIT
// The kernels for a device as a backend of the host's doors, so that the tests of a backend are tests of theirs.
#pragma once

#include "backend/cuda/test_device.hpp"
#include "cordage/angles/row_angles.hpp"
#include "cordage/rotate/cuda/backward.hpp"

namespace cordage_test {

/// A source of angles as a device has it, with the memory behind it.
template <cordage::position_type P>
struct copied_angles {
    std::vector<cordage::basis> bases;
    std::vector<P> ids;
    index_t rows, tokens;
    std::vector<std::uint64_t> words{};

    cordage::device_angles<P> view() {
        std::vector<const cordage::basis*> pointers;
        for (const cordage::basis& b : bases) pointers.push_back(&b);
        words = cordage::device_words(pointers);
        return {cordage::device_basis(words.data(), bases[0].pairs(), std::ssize(bases)),
                {ids.data(), rows, tokens, tokens}};
    }
};

template <class Source>
cordage::basis basis_of(const Source& angles) {
    const auto inv_freq = angles.inv_freq();
    return cordage::basis(std::vector<double>(inv_freq.begin(), inv_freq.end()), angles.attention_factor());
}
template <cordage::position_type P>
copied_angles<P> copied(const cordage::exact_angles<P>& angles) {
    copied_angles<P> copy{{basis_of(angles)}, {}, angles.batch(), angles.tokens()};
    copy.ids.reserve(1);  // null is no array of positions
    for (index_t row = 0; row < angles.batch(); ++row) {
        for (index_t token = 0; token < angles.tokens(); ++token) copy.ids.push_back(angles.position_id(row, token));
    }
    return copy;
}
template <cordage::position_type P>
copied_angles<P> copied(const cordage::row_angles<cordage::exact_angles<P>>& angles) {
    copied_angles<P> copy{{}, {}, angles.batch(), angles.tokens()};
    copy.ids.reserve(1);
    for (index_t row = 0; row < angles.batch(); ++row) {
        copy.bases.push_back(basis_of(angles.source(row)));
        for (index_t token = 0; token < angles.tokens(); ++token) {
            copy.ids.push_back(angles.source(row).position_id(0, token));
        }
    }
    return copy;
}

/// Calls f with the angles as a device has them.
template <class Source, class F>
void with_device_angles(const Source& angles, const F& f) {
    if constexpr (std::same_as<Source, cordage::cos_sin_view<float>>) {
        cordage::cos_sin_view<float> table = angles;
        table.carried_attention_factor = angles.attention_factor(0);
        table.row_attention_factors = nullptr;
        f(table);
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
                                          {.inv_freq = numbers(grads.inv_freq, angles.pairs()),
                                           .position_ids = numbers(grads.position, tokens),
                                           .attention_factor = grads.attention_factor},
                                          workspace, operands[0]);
    });
}

}  // namespace cordage_test
