// SPDX-License-Identifier: MIT
// CLEX's ODE and its gradient, of buffers in host memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "buffers.hpp"
#include "clex_model.hpp"

namespace cordage_jax {

/// float32 or float64 numbers, as doubles.
inline std::vector<double> numbers_of(const char* name, const ffi::AnyBuffer& x) {
    const auto count = x.element_count();
    if (x.element_type() == ffi::F32) return {data_of<float>(x), data_of<float>(x) + count};
    if (x.element_type() == ffi::F64) return {data_of<double>(x), data_of<double>(x) + count};
    fail<value_error>({"cordage_jax: ", name, " must be float32 or float64"});
}
inline void write_numbers(std::span<const double> from, const ffi::AnyBuffer& to) {
    if (to.element_type() == ffi::F64) {
        std::copy(from.begin(), from.end(), data_of<double>(to));
    } else {
        std::transform(from.begin(), from.end(), data_of<float>(to), [](double x) { return static_cast<float>(x); });
    }
}

inline std::shared_ptr<const cordage_torch::clex_model> solved(const ffi::AnyBuffer& up, const ffi::AnyBuffer& down,
                                                               const ffi::Dictionary& settings) {
    const auto sizes = sizes_of(up), sizes_down = sizes_of(down);
    if (sizes.size() != 2 || sizes_down != std::vector{sizes[1], sizes[0]}) {
        fail<shape_error>({"cordage_jax: W_up and W_down must be [hidden, pairs] and [pairs, hidden]"});
    }
    const auto number = [&](const char* name) { return settings.get<double>(name).value(); };
    const auto text = [&](const char* name) { return std::string(settings.get<std::string_view>(name).value()); };
    const auto prior_numbers = settings.get<ffi::Span<const double>>("prior_numbers").value();
    const auto lanes = 2 * sizes[1];
    cordage_torch::clex_settings s{.config = {.head_dim = lanes,
                                              .rotary_dim = lanes,
                                              .theta_base = number("theta_base"),
                                              .original_length = number("original_length")},
                                   .t_max = number("t_max"),
                                   .field = text("field"),
                                   .activation = text("activation"),
                                   .prior = text("prior"),
                                   .prior_numbers = {prior_numbers.begin(), prior_numbers.end()},
                                   .tolerance = number("tolerance"),
                                   .step_size = number("step_size")};
    return cordage_torch::solved_clex(s, {sizes[0], sizes[1], numbers_of("W_up", up), numbers_of("W_down", down)});
}

/// log alpha at each t: [ts, pairs], of the basis theta_base^(-i/pairs).
inline ffi::Error clex(ffi::AnyBuffer up, ffi::AnyBuffer down, ffi::AnyBuffer t, ffi::Result<ffi::AnyBuffer> log_alpha,
                       ffi::Result<ffi::AnyBuffer> attention_factor, ffi::Dictionary settings) {
    return guarded([&] {
        const auto model = solved(up, down, settings);
        const auto pairs = static_cast<std::size_t>(sizes_of(up)[1]);
        const auto ts = numbers_of("t", t);
        const double log_base = std::log(settings.get<double>("theta_base").value());
        std::vector<double> all(ts.size() * pairs), factors;
        for (std::size_t k = 0; k < ts.size(); ++k) {
            const auto row = std::span(all).subspan(k * pairs, pairs);
            factors.push_back(model->inv_freq(ts[k], row));
            for (std::size_t i = 0; i < pairs; ++i) {
                row[i] = std::log(row[i]) + log_base * static_cast<double>(i) / static_cast<double>(pairs);
            }
        }
        write_numbers(all, *log_alpha);
        write_numbers(factors, *attention_factor);
    });
}

inline ffi::Error clex_gradients(ffi::AnyBuffer up, ffi::AnyBuffer down, ffi::AnyBuffer t,
                                 ffi::AnyBuffer grad_log_alpha, ffi::Result<ffi::AnyBuffer> grad_up,
                                 ffi::Result<ffi::AnyBuffer> grad_down, ffi::Dictionary settings) {
    return guarded([&] {
        const auto model = solved(up, down, settings);
        const auto pairs = static_cast<std::size_t>(sizes_of(up)[1]);
        const auto ts = numbers_of("t", t);
        auto grads = numbers_of("grad_log_alpha", grad_log_alpha);
        std::vector<double> inv_freq(pairs);
        for (std::size_t k = 0; k < ts.size(); ++k) {
            model->inv_freq(ts[k], inv_freq);
            for (std::size_t i = 0; i < pairs; ++i) grads[k * pairs + i] /= inv_freq[i];
        }
        const auto both = model->weight_gradient(ts, grads);
        const auto of_up = std::span(both).first(both.size() / 2);
        write_numbers(of_up, *grad_up);
        write_numbers(std::span(both).subspan(of_up.size()), *grad_down);
    });
}

}  // namespace cordage_jax
