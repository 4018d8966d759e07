// SPDX-License-Identifier: MIT
// Handlers that XLA calls: the rotation, its gradient, moves of cached keys, and CLEX, on the CPU.
#include <vector>

#include "clex.hpp"
#include "cordage/kernels.hpp"

using namespace cordage_jax;

namespace {

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
