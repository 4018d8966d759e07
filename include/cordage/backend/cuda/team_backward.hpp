// SPDX-License-Identifier: MIT
// The launch of the CUDA backward pass of heads that teams hold in registers, only rotated or also normalized; serves
// stage rotation.
#pragma once

#include <bit>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/gradient_sums.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

/// An operand of team_backward_kernel. y is the forward's input where there is a norm.
template <class T, class Norm>
struct team_gradients {
    head_grid<const T> grad_y, y;
    head_grid<T> grad_x;
    Norm norm;
    std::int32_t first_block = std::int32_t{most_small_size};  // one for each chunk, as token_chunks
    std::int32_t share, length, chunks_of_basis;
    std::int32_t heads, padded_heads, first_lane;  // the second: of whole rounds
    index_t grad_y_step, y_step, grad_x_step;      // elements to a thread's next head
    std::int32_t pairs;                            // rotated; 0 for an operand that is not
    std::int32_t others;                           // lanes that are normalized or copied only
    std::int32_t teams_of_token, tokens_of_step;   // the first is a power of two
    bool has_weights;
    float one_lane, epsilon;  // 1 / lanes of a head; of the norm
};

/// grad_x and all other gradients. A team, a power of two of threads, holds a head in registers:
///
///   block -> a chunk of tokens of one operand and one basis
///   x -> N pairs, or 2 N lanes that are not rotated
///   y -> every teams_of_token-th head of every tokens_of_step-th token of the chunk
///
///   for each token     cos, sin of the N pairs once, then head by head, with the loads of the next `ahead` in flight
///     a head           sums of its norm by shuffles in the team; dL/dangle and dL/dweight in floats
///     then             these are added to the thread's sums in double, in shared memory where only it uses them;
///                      dL/dposition and dL/dangle, if they are wanted, by shuffles between teams of a warp
///   at last            the sums of all threads, by shuffles, to the chunk's row
///
/// Every sum has a fixed order. grad_y and y of a head are read before its grad_x is written, by the same threads.
template <class T, class Norm, pairing Pairing, class Angles>
struct team_backward_kernel {
    static constexpr int block_threads = 256, blocks_per_processor = 2;
    static constexpr bool has_few_pairs = sizeof(T) == 4 || !std::same_as<Norm, no_norm>;  // which saves registers
    static constexpr int pairs_of_thread = has_few_pairs ? 4 : 8;
    static constexpr int ahead = has_few_pairs && sizeof(T) == 2 ? 2 : 1;  // heads in flight, 64 bytes a thread

    Angles angles;
    pass_sums to;
    const double* inv_freq;  // [bases, angle_pairs], read for dL/dposition
    std::int32_t axes;
    std::int32_t tokens, angle_pairs;  // tokens of a row
    team_gradients<T, Norm> operands[most_operands];
};

/// Whether teams can hold an operand's heads; fills in all of `to` but its chunks and weights.
template <pairing Pairing, index_t N, class T, class Operand, class Norm>
bool is_for_teams(const Operand& o, index_t pairs, team_gradients<T, Norm>& to) noexcept {
    constexpr index_t of_run = std::same_as<Pairing, half_split> ? N : 2 * N;
    constexpr index_t of_piece = std::min<index_t>(of_run, 16 / static_cast<index_t>(sizeof(T)));
    const heads_shape& shape = o.shape();
    const auto& [grad_y, y, grad_x] = o.views();
    to.grad_y = {grad_y, 0}, to.y = {y, 0}, to.grad_x = {grad_x, 0}, to.norm = o.norm;
    bool is_copied = !(heads_memory(grad_y) == heads_memory(grad_x)), fits = true;
    if constexpr (Operand::is_normalized) {
        constexpr index_t size = sizeof(*o.norm.weight), bytes = std::min<index_t>(of_run * size, 16);
        fits = !o.norm.is_over_all_heads && is_aligned(o.norm.weight, bytes) && o.first_lane * size % bytes == 0;
        is_copied = true;
        to.one_lane = 1.0f / static_cast<float>(shape.head_dim), to.epsilon = static_cast<float>(o.norm.epsilon);
    }
    const index_t rotated = o.is_rotated() ? pairs : 0, others = is_copied ? shape.head_dim - 2 * rotated : 0;
    to.heads = small(shape.heads), to.first_lane = small(o.first_lane);
    to.pairs = small(rotated), to.others = small(others);
    const auto is_of_pieces = [](const auto& v) {
        return v.slots.entries == nullptr && is_small(v) &&
               has_heads_of_pieces(v, of_piece, of_piece * index_t{sizeof(T)});
    };
    return fits && rotated % N == 0 && o.first_lane % of_piece == 0 &&
           (others == 0 || (others % (2 * N) == 0 && o.first_lane % of_run == 0)) && 2 * rotated + others <= 64 * N &&
           is_of_pieces(grad_y) && is_of_pieces(y) && is_of_pieces(grad_x) &&
           saturated_product(shape.batch, shape.tokens) <= most_small_size / 2;
}

/// Cuts the tokens of each operand into chunks, one for each block, so that all blocks have about as many heads and are
/// at most most_rows. Depends on sizes only. Returns false if there are more.
template <class T, class Norm>
bool plan_chunks(std::span<team_gradients<T, Norm>> operands, token_chunks (&chunks)[most_operands], index_t tokens,
                 index_t bases, index_t most_rows, index_t teams, index_t most_teams_of_token) noexcept {
    if (std::ssize(operands) * bases > most_rows) return false;
    index_t heads = 0;
    for (const auto& o : operands) heads += o.heads;
    const double all = static_cast<double>(tokens) * static_cast<double>(heads);
    // Heads of each team, and those of one token among them: the more, the fewer cos and sin.
    double of_team = all / static_cast<double>(teams * std::min(most_rows, most_device_chunks));
    const index_t of_token = of_team <= 1.0 ? 1 : of_team <= 2.0 ? 2 : 4;
    for (auto& o : operands) {
        const auto wanted = static_cast<std::uint64_t>(rounded_up_quotient(o.heads, of_token));
        const auto at_most = static_cast<std::uint64_t>(std::min({teams, most_teams_of_token, index_t{o.heads}}));
        o.teams_of_token = small(static_cast<index_t>(std::min(std::bit_ceil(wanted), std::bit_floor(at_most))));
        o.tokens_of_step = small(teams) / o.teams_of_token;
    }
    while (true) {
        index_t blocks = 0;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            team_gradients<T, Norm>& o = operands[i];
            const index_t rounds = rounded_up_quotient(o.heads, o.teams_of_token);
            const auto steps = static_cast<index_t>(std::ceil(of_team / static_cast<double>(rounds)));
            chunks[i] = chunks_of_length(tokens, bases, std::max<index_t>(steps, 1) * o.tokens_of_step);
            o.first_block = small(blocks);
            o.share = small(chunks[i].share), o.length = small(chunks[i].length);
            o.chunks_of_basis = small(chunks[i].per_basis);
            blocks += chunks[i].count;
        }
        if (blocks <= most_rows) return true;
        of_team = std::max(of_team * 1.02, of_team + 0.25);
    }
}

/// Launches at most most_operands checked operands of one type. Returns false, and launches nothing, if they cannot
/// share a launch or one of them is not for teams.
template <pairing Pairing, class T, class Norm, class Source, class O, kernel_launcher Launcher>
bool launch_teams(const char* function, const Launcher& where, const Source& angles, std::span<const O* const> operands,
                  const device_gradients& grads) {
    using kernel_type = team_backward_kernel<T, Norm, Pairing, Source>;
    static_assert(device_kernel<kernel_type>);
    if (!has_aligned_words(angles)) return false;
    if (grads.has_sums_of_token() && operands.size() > 1) return false;  // one operand after the other adds to a token
    const heads_shape& shape = operands[0]->shape();
    const index_t tokens = shape.batch * shape.tokens, pairs = angles.pairs();
    kernel_type kernel{angles,       {}, nullptr, small(angle_detail::axes_of(angles)), small(shape.tokens),
                       small(pairs), {}};
    index_t members = 1;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        team_gradients<T, Norm>& to = kernel.operands[i];
        if (!is_for_teams<Pairing, kernel_type::pairs_of_thread>(*operands[i], pairs, to)) return false;
        const index_t lanes = 2 * index_t{to.pairs} + to.others;
        members = std::max(members, rounded_up_quotient(lanes, 2 * kernel_type::pairs_of_thread));
    }
    members = static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(members)));
    const index_t teams = kernel_type::block_threads / members;
    summed_pass sums(angles, tokens, grads);
    const std::span<team_gradients<T, Norm>> some(kernel.operands, operands.size());
    token_chunks chunks[most_operands];
    if (!plan_chunks(some, chunks, tokens, sums.bases_of_chunks(), sums.most_rows(), teams,
                     grads.has_sums_of_token() ? 32 / members : teams)) {
        return false;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const std::span<double> weights = operands[i]->grad_weight;
        some[i].has_weights = !weights.empty();
        sums.add(chunks[i], some[i].pairs > 0, weights);
    }
    for (auto& o : some) {
        const index_t y = o.teams_of_token, round = y * kernel_type::ahead;
        o.padded_heads = small(rounded_up_quotient(o.heads, round) * round);
        o.grad_y_step = y * o.grad_y.head_stride, o.y_step = y * o.y.head_stride,
        o.grad_x_step = y * o.grad_x.head_stride;
    }
    if constexpr (requires { angles.basis_numbers().inv_freq; }) kernel.inv_freq = angles.basis_numbers().inv_freq;
    const index_t blocks = some.back().first_block + chunks[some.size() - 1].count;
    sums.launch(function, where, kernel, {sizes(members, teams), sizes(blocks)});
    return true;
}

/// As above, of operands of any type.
template <pairing Pairing, class Source, class O, kernel_launcher Launcher>
bool launch_teams(const char* function, const Launcher& where, const Source& angles, std::span<const O* const> operands,
                  const device_gradients& grads) {
    using T = std::remove_pointer_t<decltype(O::grad_x.data)>;
    using norm_type = decltype(O::norm);
    if constexpr (!angle_detail::sums_axes<Source> && piece_element<T> && is_run_norm<norm_type> &&
                  std::same_as<std::remove_cvref_t<decltype(O::grad_x.format)>, element_traits<T>>) {
        return launch_teams<Pairing, T, norm_type>(function, where, angles, operands, grads);
    }
    return false;
}

}  // namespace cordage::backend
