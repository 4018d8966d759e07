// SPDX-License-Identifier: MIT
// The basis of a solved policy computed on a device, at a t in device memory: a kernel of one's own, which the
// library's launcher runs, and whose words the library's kernels read.
#pragma once

#include <cordage/backend/cuda/device_basis.hpp>
#include <cordage/backend/cuda/launch.hpp>
#include <cordage/pair/phase.hpp>

#include "device_trajectory.hpp"

namespace basis_on_device {

namespace backend = cordage::backend;
using cordage::device_basis;

/// x -> pair      blocks.y -> every blocks.y-th basis
struct basis_kernel {
    static constexpr int block_threads = 64, blocks_per_processor = 1;

    device_trajectory path;
    const double* ratios;  // [bases], or null
    double ratio;          // where ratios is null
    index_t bases;
    std::uint64_t* words;  // see cordage::device_words
};
static_assert(backend::device_kernel<basis_kernel>);

#if defined(__CUDACC__)
// The code of the kernel, found beside it.
__device__ inline void run(const basis_kernel& k) {
    const index_t pairs = k.path.pairs(), pair = index_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const auto bits = [](double x) { return __builtin_bit_cast(std::uint64_t, x); };
    for (index_t b = blockIdx.y; b < k.bases; b += gridDim.y) {
        double t = k.ratios == nullptr ? k.ratio : k.ratios[b];
        if (!(t > 1.0)) t = 1.0;  // NaN too
        if (t > k.path.t_max()) t = k.path.t_max();
        const double inv_freq = std::exp(k.path.log_alpha(t, pair)) * k.path.theta(pair);
        const cordage::turns rate = cordage::turns_of(inv_freq);
        std::uint64_t* const word = k.words + b * pairs + pair;
        word[0] = rate.fraction;
        word[k.bases * pairs] = static_cast<std::uint64_t>(rate.whole);
        word[2 * k.bases * pairs] = bits(inv_freq);
        if (pair == 0) k.words[3 * k.bases * pairs + b] = bits(k.path.attention_factor(t));
    }
}
#endif

template <backend::kernel_launcher Launcher>
device_basis launch_basis(const Launcher& where, const basis_kernel& kernel) {
    constexpr const char* function = "basis_at";
    const index_t pairs = kernel.path.pairs();
    if (kernel.words == nullptr) {
        cordage::fail<cordage::shape_error>({function, ": words nullptr must point to device_words_size(", pairs, ", ",
                                             kernel.bases, ") = ", cordage::device_words_size(pairs, kernel.bases),
                                             " words"});
    }
    const index_t threads = basis_kernel::block_threads;
    where.launch(function, kernel,
                 {backend::sizes(threads), backend::sizes(cordage::rounded_up_quotient(pairs, threads),
                                                          std::min(kernel.bases, backend::most_blocks_yz))});
    return {kernel.words, pairs, kernel.bases};
}

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
        cordage::fail<cordage::shape_error>(
            {"basis_at: t [", t.size(), "] must point to at least one entry on the device"});
    }
    return launch_basis(where, basis_kernel{path, t.data(), 1.0, std::ssize(t), words});
}
/// As above, for one t known on the host.
/// @throws value_error  unless 1 <= t <= t_max
template <backend::kernel_launcher Launcher>
device_basis basis_at(const Launcher& where, const device_trajectory& path, double t, std::uint64_t* words) {
    if (!cordage::is_finite(t) || !(t >= 1.0 && t <= path.t_max())) {
        cordage::fail<cordage::value_error>(
            {"basis_at: t ", t, " must be in [1, ", path.t_max(), "], the solved range"});
    }
    return launch_basis(where, basis_kernel{path, nullptr, t, 1, words});
}

}  // namespace basis_on_device
