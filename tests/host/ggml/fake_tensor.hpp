// SPDX-License-Identifier: MIT
// Helpers for tensors in the tests of host/ggml.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "cordage/host/ggml/rotation.hpp"
#include "host/ggml/tensor_struct.hpp"

/// T: an element, or a block of ggml's; ne0 counts lanes.
template <class T>
fake_tensor dense(std::vector<T>& values, std::int64_t ne0, std::int64_t ne1 = 1, std::int64_t ne2 = 1,
                  std::int64_t ne3 = 1) {
    using namespace cordage;
    fake_tensor t{ggml::detail::type_of<T>(), {ne0, ne1, ne2, ne3}, {sizeof(T)}, {}, values.data()};
    t.nb[1] = sizeof(T) * static_cast<std::size_t>(elements_of_head<ggml::format_of<T>>(ne0));
    for (int i = 2; i < 4; ++i) t.nb[i] = t.nb[i - 1] * static_cast<std::size_t>(t.ne[i - 1]);
    return t;
}

template <class T = float>
std::vector<T> drawn(std::size_t size) {
    std::vector<T> values(size);
    for (std::size_t i = 0; i < size; ++i) {
        values[i] = cordage::element_traits<T>::store(
            static_cast<cordage::compute_of<T>>(std::sin(static_cast<double>(i * i + 1))));
    }
    return values;
}

template <class Call>
void check_refused(const char* text, const Call& call) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(call(), text, cordage::error);
}
