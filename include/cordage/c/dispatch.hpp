// SPDX-License-Identifier: MIT
// Selects kernels: those of the best instruction set that library and processor support; serves the C interface.
#pragma once

#include <array>
#include <atomic>
#include <string_view>

#include "cordage/c/kernels.hpp"
#include "cordage/core/error.hpp"

namespace cordage::c {

/// Kernels, and whether this processor can run them.
struct usable_kernels {
    const kernels* table;
    bool is_usable;
};

/// All kernels of the library, best first.
#if defined(CORDAGE_C_DISPATCH)
inline std::array<usable_kernels, 3> all_kernels() noexcept {
    const auto has = [](auto... answers) { return (... && (answers != 0)); };
    const bool has_avx2 =
        has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"));  // processors with AVX2 have F16C
    const bool has_avx512 = has_avx2 && has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512cd"),
                                            __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512bw"),
                                            __builtin_cpu_supports("avx512vl"));
    return {{{&avx512_kernels, has_avx512}, {&avx2_kernels, has_avx2}, {&baseline_kernels, true}}};
}
#else
inline std::array<usable_kernels, 1> all_kernels() noexcept { return {{{&native_kernels, true}}}; }
#endif

/// The kernels of a name; "best": the first that the processor can run.
/// @throws value_error
inline const kernels* kernels_named(const char* function, std::string_view name) {
    std::string names;
    for (const auto& [table, is_usable] : all_kernels()) {
        if (is_usable && (name == "best" || name == table->name)) return table;
        if (is_usable) names += message("'", table->name, "', ");
    }
    fail<value_error>({function, ": name ", in_quotes(name),
                       " must be one that this library and processor support: ", names, "'best'"});
}

/// The selected kernels. The processor is queried once.
inline std::atomic<const kernels*>& chosen_kernels() {
    static std::atomic<const kernels*> chosen{kernels_named("cordage", "best")};
    return chosen;
}

/// The kernels for heads that compute in double: baseline only, since such heads are rare.
inline const kernels& kernels_for_double() noexcept { return *all_kernels().back().table; }

/// The backend whose functions call the selected kernels.
struct dispatched {};

template <class Source>
void fill_range(dispatched, const Source& source, float* cos, float* sin, index_t begin, index_t end) noexcept {
    chosen_kernels().load()->fill_float(source_code<Source>, &source, cos, sin, begin, end);
}
template <class Source>
void fill_range(dispatched, const Source& source, double* cos, double* sin, index_t begin, index_t end) noexcept {
    kernels_for_double().fill_double(source_code<Source>, &source, cos, sin, begin, end);
}

template <class T, class List>
struct index_in;
template <class T, class... All>
struct index_in<T, std::variant<All...>> {
    static constexpr std::size_t value = [] {
        std::size_t at = 0;
        (void)((std::same_as<T, All> || (++at, false)) || ...);
        return at;
    }();
};

template <pairing P, class Source, class O>
void backward_range(dispatched, const Source& source, std::span<const O* const> operands,
                    const backend::angle_gradients& grads, index_t begin, index_t end) noexcept {
    const kernels& k = std::same_as<typename O::compute, double> ? kernels_for_double() : *chosen_kernels().load();
    k.backward(std::same_as<P, interleaved>, &source, index_in<O, gradient_operand>::value, operands[0], grads, begin,
               end);
}

}  // namespace cordage::c
