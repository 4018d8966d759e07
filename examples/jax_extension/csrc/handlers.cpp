// SPDX-License-Identifier: MIT
// Handlers that XLA calls: the rotation, its gradient, moves of cached keys, and CLEX, on the CPU.
#include <xla/ffi/api/ffi.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "clex_model.hpp"
#include "cordage/kernels.hpp"

namespace ffi = xla::ffi;
using namespace cordage;

namespace {

/// Runs body and converts what it throws to an XLA error.
template <class Body>
ffi::Error guarded(const Body& body) {
    try {
        body();
        return ffi::Error::Success();
    } catch (const error& wrong) {
        return ffi::Error::InvalidArgument(wrong.what());
    } catch (const std::bad_alloc&) {
        return ffi::Error(ffi::ErrorCode::kResourceExhausted, "cordage_jax: out of memory");
    }
}

std::vector<index_t> sizes_of(const ffi::AnyBuffer& x) { return {x.dimensions().begin(), x.dimensions().end()}; }

template <class T>
T* data_of(const ffi::AnyBuffer& x) {
    return static_cast<T*>(x.untyped_data());
}

/// Calls body with a value of the element type of x; throws for types without kernels.
template <class Body>
void for_type(const char* name, const ffi::AnyBuffer& x, const Body& body) {
    switch (x.element_type()) {
        case ffi::F32:
            return body(float{});
        case ffi::F64:
            return body(double{});
        case ffi::F16:
            return body(float16{});
        case ffi::BF16:
            return body(bfloat16{});
        default:
            fail<value_error>({"cordage_jax: ", name, " must be float32, float64, float16 or bfloat16"});
    }
}
template <class Body>
void for_pairing(bool is_interleaved, const Body& body) {
    return is_interleaved ? body(interleaved{}) : body(half_split{});
}

/// float32 or float64 numbers, as doubles.
std::vector<double> numbers_of(const char* name, const ffi::AnyBuffer& x) {
    const auto count = x.element_count();
    if (x.element_type() == ffi::F32) return {data_of<float>(x), data_of<float>(x) + count};
    if (x.element_type() == ffi::F64) return {data_of<double>(x), data_of<double>(x) + count};
    fail<value_error>({"cordage_jax: ", name, " must be float32 or float64"});
}
void write_numbers(std::span<const double> from, const ffi::AnyBuffer& to) {
    if (to.element_type() == ffi::F64) {
        std::copy(from.begin(), from.end(), data_of<double>(to));
    } else {
        std::transform(from.begin(), from.end(), data_of<float>(to), [](double x) { return static_cast<float>(x); });
    }
}

/// [rows, tokens, heads, head_dim]
template <class T>
heads_view<T> heads_of(const ffi::AnyBuffer& x) {
    const auto sizes = sizes_of(x);
    if (sizes.size() != 4) fail<shape_error>({"cordage_jax: x must be [rows, tokens, heads, head_dim]"});
    return token_major(data_of<T>(x), {sizes[0], sizes[1], sizes[2], sizes[3]});
}
template <class Position>
struct positions {
    std::vector<Position> ids;
    index_t rows, tokens;
    position_view<Position> view() const { return {ids.data(), rows, tokens, tokens}; }
};
/// Calls body with the positions [rows, tokens] of x converted to int64 or double, which limits the kernels to compile.
template <class Body>
void with_positions(const char* name, const ffi::AnyBuffer& ids, const ffi::AnyBuffer& x, const Body& body) {
    const auto sizes = sizes_of(ids), wanted = sizes_of(x);
    if (sizes.size() != 2 || sizes[0] != wanted.at(0) || sizes[1] != wanted.at(1)) {
        fail<shape_error>({"cordage_jax: ", name, " must be [rows, tokens] of x"});
    }
    const auto of = [&]<class Given, class Position>(Given, Position) {
        const auto* first = data_of<const Given>(ids);
        body(positions<Position>{{first, first + ids.element_count()}, sizes[0], sizes[1]});
    };
    switch (ids.element_type()) {
        case ffi::S32:
            return of(std::int32_t{}, std::int64_t{});
        case ffi::S64:
            return of(std::int64_t{}, std::int64_t{});
        case ffi::F32:
            return of(float{}, double{});
        case ffi::F64:
            return of(double{}, double{});
        default:
            fail<value_error>({"cordage_jax: ", name, " must be int32, int64, float32 or float64"});
    }
}

/// inv_freq exp(log_alpha): one basis for all rows, or one for each row of log_alpha [1 or rows, pairs].
basis_list bases_of(ffi::Span<const double> inv_freq, double attention_factor, const ffi::AnyBuffer& log_alpha,
                    index_t rows) {
    const auto sizes = sizes_of(log_alpha);
    const auto pairs = inv_freq.size();
    if (sizes.size() != 2 || (sizes[0] != 1 && sizes[0] != rows) || sizes[1] != static_cast<index_t>(pairs)) {
        fail<shape_error>({"cordage_jax: log_alpha must be [1 or rows ", rows, ", rotary_dim/2 ", pairs, "]"});
    }
    const auto log_alphas = numbers_of("log_alpha", log_alpha);
    std::vector<basis> bases;
    std::vector<const basis*> chosen;
    bases.reserve(static_cast<std::size_t>(sizes[0]));
    for (std::size_t first = 0; first < log_alphas.size(); first += pairs) {
        std::vector<double> values(inv_freq.begin(), inv_freq.end());
        for (std::size_t i = 0; i < pairs; ++i) {
            if (log_alphas[first + i] != 0.0) values[i] *= std::exp(log_alphas[first + i]);
        }
        chosen.push_back(&bases.emplace_back(std::move(values), attention_factor));
    }
    return basis_list(chosen);
}

// Handlers --------------------------------------------------------------------------------------------------------

/// y = m R(position inv_freq exp(log_alpha)) x, or with is_adjoint the transpose.
ffi::Error rotate(ffi::AnyBuffer x, ffi::AnyBuffer position_ids, ffi::AnyBuffer log_alpha,
                  ffi::Result<ffi::AnyBuffer> y, ffi::Span<const double> inv_freq, double attention_factor,
                  bool is_interleaved, bool is_adjoint) {
    return guarded([&] {
        const basis_list bases = bases_of(inv_freq, attention_factor, log_alpha, sizes_of(x).at(0));
        for_type("x", x, [&]<class T>(T) {
            const auto operand = from_to(heads_of<const T>(x), heads_of<T>(*y));
            with_positions("position_ids", position_ids, x, [&](const auto& at) {
                const exact_angles angles(bases.of_rows(), at.view());
                for_pairing(is_interleaved, [&]<class Pairing>(Pairing) {
                    if (is_adjoint) {
                        rotate_backward<Pairing>(angles, operand);
                    } else {
                        rotate_forward<Pairing>(angles, operand);
                    }
                });
            });
        });
    });
}

/// grad_x, dL/dlog_alpha [rows, pairs] = inv_freq exp(log_alpha) dL/dinv_freq, and dL/dposition [rows, tokens].
ffi::Error rotate_gradients(ffi::AnyBuffer grad_y, ffi::AnyBuffer y, ffi::AnyBuffer position_ids,
                            ffi::AnyBuffer log_alpha, ffi::Result<ffi::AnyBuffer> grad_x,
                            ffi::Result<ffi::AnyBuffer> grad_log_alpha, ffi::Result<ffi::AnyBuffer> grad_positions,
                            ffi::Span<const double> inv_freq, double attention_factor, bool is_interleaved) {
    return guarded([&] {
        const index_t rows = sizes_of(y).at(0);
        const basis_list bases = bases_of(inv_freq, attention_factor, log_alpha, rows);
        std::vector<double> to_inv_freq(static_cast<std::size_t>(bases.count() * bases.pairs()));
        std::vector<double> to_positions(position_ids.element_count());
        for_type("x", y, [&]<class T>(T) {
            with_positions("position_ids", position_ids, y, [&](const auto& at) {
                const exact_angles angles(bases.of_rows(), at.view());
                for_pairing(is_interleaved, [&]<class Pairing>(Pairing) {
                    rotate_backward<Pairing>(
                        angles, rotation_gradients{.inv_freq = to_inv_freq, .position_ids = to_positions},
                        grad_through(heads_of<const T>(grad_y), heads_of<const T>(y), heads_of<T>(*grad_x)));
                });
            });
        });
        const double* values = bases.of_rows().inv_freq;
        for (std::size_t i = 0; i < to_inv_freq.size(); ++i) to_inv_freq[i] *= values[i];
        write_numbers(to_inv_freq, *grad_log_alpha);
        write_numbers(to_positions, *grad_positions);
    });
}

/// Cached keys from (old_positions, from_inv_freq) to (new_positions, to_inv_freq).
ffi::Error move(ffi::AnyBuffer keys, ffi::AnyBuffer old_positions, ffi::AnyBuffer new_positions,
                ffi::Result<ffi::AnyBuffer> moved, ffi::Span<const double> from_inv_freq, double from_factor,
                ffi::Span<const double> to_inv_freq, double to_factor, bool is_interleaved) {
    return guarded([&] {
        const basis from({from_inv_freq.begin(), from_inv_freq.end()}, from_factor);
        const basis to({to_inv_freq.begin(), to_inv_freq.end()}, to_factor);
        for_type("keys", keys, [&]<class T>(T) {
            const auto operand = from_to(heads_of<const T>(keys), heads_of<T>(*moved));
            with_positions("old_positions", old_positions, keys, [&]<class At>(const At& old_at) {
                with_positions("new_positions", new_positions, keys, [&]<class NewAt>(const NewAt& new_at) {
                    if constexpr (std::same_as<At, NewAt>) {
                        const exact_angles before(from, old_at.view()), after(to, new_at.view());
                        for_pairing(is_interleaved,
                                    [&]<class Pairing>(Pairing) { rebase<Pairing>(after - before, operand); });
                    } else {
                        fail<value_error>({"cordage_jax: new_positions must be integers where old_positions are"});
                    }
                });
            });
        });
    });
}

// CLEX ------------------------------------------------------------------------------------------------------------

std::shared_ptr<const cordage_torch::clex_model> solved(const ffi::AnyBuffer& up, const ffi::AnyBuffer& down,
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
ffi::Error clex(ffi::AnyBuffer up, ffi::AnyBuffer down, ffi::AnyBuffer t, ffi::Result<ffi::AnyBuffer> log_alpha,
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

ffi::Error clex_gradients(ffi::AnyBuffer up, ffi::AnyBuffer down, ffi::AnyBuffer t, ffi::AnyBuffer grad_log_alpha,
                          ffi::Result<ffi::AnyBuffer> grad_up, ffi::Result<ffi::AnyBuffer> grad_down,
                          ffi::Dictionary settings) {
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

using any = ffi::AnyBuffer;
using numbers = ffi::Span<const double>;

}  // namespace

// All other symbols are hidden.
#pragma GCC visibility push(default)
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_rotate, rotate,
                              ffi::Ffi::Bind()
                                  .Arg<any>()
                                  .Arg<any>()
                                  .Arg<any>()
                                  .Ret<any>()
                                  .Attr<numbers>("inv_freq")
                                  .Attr<double>("attention_factor")
                                  .Attr<bool>("is_interleaved")
                                  .Attr<bool>("is_adjoint"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_rotate_gradients, rotate_gradients,
                              ffi::Ffi::Bind()
                                  .Arg<any>()
                                  .Arg<any>()
                                  .Arg<any>()
                                  .Arg<any>()
                                  .Ret<any>()
                                  .Ret<any>()
                                  .Ret<any>()
                                  .Attr<numbers>("inv_freq")
                                  .Attr<double>("attention_factor")
                                  .Attr<bool>("is_interleaved"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_move, move,
                              ffi::Ffi::Bind()
                                  .Arg<any>()
                                  .Arg<any>()
                                  .Arg<any>()
                                  .Ret<any>()
                                  .Attr<numbers>("from_inv_freq")
                                  .Attr<double>("from_factor")
                                  .Attr<numbers>("to_inv_freq")
                                  .Attr<double>("to_factor")
                                  .Attr<bool>("is_interleaved"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(cordage_clex, clex,
                              ffi::Ffi::Bind().Arg<any>().Arg<any>().Arg<any>().Ret<any>().Ret<any>().Attrs());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    cordage_clex_gradients, clex_gradients,
    ffi::Ffi::Bind().Arg<any>().Arg<any>().Arg<any>().Arg<any>().Ret<any>().Ret<any>().Attrs());
#pragma GCC visibility pop
