// SPDX-License-Identifier: MIT
// Computes the basis of a solved policy on the device, at a t in device memory; serves the CUDA backend.
#pragma once

#include "cordage/backend/cuda/block_view.hpp"
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/device_trajectory.hpp"
#include "cordage/pair/phase.hpp"

namespace cordage {

namespace backend {

/// x -> pair      blocks.y -> every blocks.y-th basis. One phase, no shared memory.
struct basis_kernel {
    static constexpr int blocks_per_processor = 1;
    static constexpr std::uint32_t threads = 64;

    device_trajectory path;
    const double* ratios;  // [bases], or null
    double ratio;          // where ratios is null
    index_t bases;
    std::uint64_t* words;  // see device_words

    CORDAGE_HOST_DEVICE index_t phases(const block_view&) const noexcept { return 1; }
    CORDAGE_HOST_DEVICE void run(index_t, const block_view& at) const noexcept {
        const index_t pairs = path.pairs(), pair = index_t{at.block.x} * at.threads.x + at.thread.x;
        if (pair >= pairs) return;
        for (index_t b = at.block.y; b < bases; b += at.blocks.y) {
            const double t = clamped(ratios == nullptr ? ratio : ratios[b]);
            const double inv_freq = std::exp(path.log_alpha(t, pair)) * path.theta(pair);
            const turns rate = turns_of(inv_freq);
            std::uint64_t* word = words + b * pairs + pair;
            word[0] = rate.fraction;
            word[bases * pairs] = static_cast<std::uint64_t>(rate.whole);
            word[2 * bases * pairs] = bits(inv_freq);
            if (pair > 0) continue;
            words[3 * bases * pairs + b] = bits(path.attention_factor(t));
        }
    }

 private:
    CORDAGE_HOST_DEVICE double clamped(double t) const noexcept {
        if (!(t > 1.0)) return 1.0;  // NaN too
        return t < path.t_max() ? t : path.t_max();
    }
    CORDAGE_HOST_DEVICE static std::uint64_t bits(double x) noexcept { return __builtin_bit_cast(std::uint64_t, x); }
};
static_assert(device_kernel<basis_kernel>);

template <kernel_launcher Launcher>
device_basis launch_basis(const Launcher& where, const basis_kernel& kernel) {
    constexpr const char* function = "basis_at";
    const index_t pairs = kernel.path.pairs();
    if (kernel.words == nullptr) {
        fail<shape_error>({function, ": words nullptr must point to device_words_size(", pairs, ", ", kernel.bases,
                           ") = ", device_words_size(pairs, kernel.bases), " words"});
    }
    const auto narrow = [](index_t n) { return static_cast<std::uint32_t>(n); };
    where.launch(function, kernel,
                 {.threads = {kernel.threads, 1, 1},
                  .blocks = {narrow(rounded_up_quotient(pairs, kernel.threads)),
                             narrow(std::min(kernel.bases, most_blocks_yz)), 1}});
    return {kernel.words, pairs, kernel.bases};
}

}  // namespace backend

/// make_basis on a device, for policies that were solved on the host: theta_i(t) = alpha_i(t) theta_i, as exact turns,
/// and m(t). One small kernel; the host neither reads t nor writes the basis. A CUDA graph that holds this call and the
/// rotation after it follows t when t changes in device memory.
///
///   const device_basis b = basis_at(on(stream), path, std::span<const double>(t_on_device, 1), words);
///   rotate_forward<half_split>(on(stream), device_angles<std::int32_t>(b, ids), in_place(q), in_place(k));
///
/// @param path   device_trajectory of a clex
/// @param t      [bases] on the device, one or one for each row of a batch. A kernel cannot throw: t below 1 and
///               NaN are replaced by 1, t above t_max by t_max
/// @param words  device_words_size(path.pairs(), bases) words on the device, written by the kernel
/// @return the view of words
/// @throws shape_error, cuda_error
/// Precision: inv_freq within 8e-15 of that of make_basis, relative (the device's exp and another order of sums), m
/// within 1e-9. Caches rotated by a host basis and by a device basis therefore differ by 8e-15 of their angles, at most
/// 2e-5 rad at position 2^31 where theta is 1; use one of the two throughout. The turns are exactly those of the
/// device's inv_freq. Allocates nothing and does not synchronise.
template <backend::kernel_launcher Launcher>
device_basis basis_at(const Launcher& where, const device_trajectory& path, std::span<const double> t,
                      std::uint64_t* words) {
    if (t.empty() || t.data() == nullptr) {
        fail<shape_error>({"basis_at: t [", t.size(), "] must point to at least one entry on the device"});
    }
    return backend::launch_basis(where, backend::basis_kernel{path, t.data(), 1.0, std::ssize(t), words});
}
/// As above, for one t known on the host.
/// @throws value_error  unless 1 <= t <= t_max
template <backend::kernel_launcher Launcher>
device_basis basis_at(const Launcher& where, const device_trajectory& path, double t, std::uint64_t* words) {
    if (!is_finite(t) || !(t >= 1.0 && t <= path.t_max())) {
        fail<value_error>({"basis_at: t ", t, " must be in [1, ", path.t_max(), "], the solved range"});
    }
    return backend::launch_basis(where, backend::basis_kernel{path, nullptr, t, 1, words});
}

}  // namespace cordage
