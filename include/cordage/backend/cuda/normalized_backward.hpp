// SPDX-License-Identifier: MIT
// The CUDA backward pass of normalized and rotated heads: grad_x and all other gradients in one pass; serves stage
// rotation.
#pragma once

#include <algorithm>
#include <span>

#include "cordage/backend/cuda/backward.hpp"
#include "cordage/backend/cuda/heads_plan.hpp"

namespace cordage::backend {

/// Shared memory of a block after its block_sums, in floats; all sizes are multiples of 4. For each of its tokens
///
///   is there, -, -, - | m cos [pairs] | m sin [pairs]
///
/// and for each team of each token
///
///   t [lanes] | z [lanes] | dL/dangle [pairs] | a thread's sum of z^2 [members] | and of t w z [members]
struct gradient_layout {
    std::int32_t pairs, lanes, members;
    std::int32_t sums;  ///< doubles before

    CORDAGE_HOST_DEVICE std::int32_t token_size() const noexcept { return 4 + 2 * pairs; }
    /// Teams of a warp start in different banks.
    CORDAGE_HOST_DEVICE std::int32_t team_size() const noexcept {
        return (2 * lanes + pairs + 2 * members + 31) / 32 * 32 + (members < 4 ? 4 : members % 32);
    }
};

/// One pass over grad_y and x of one operand; with one mean over all heads of a token they are read twice. Names as in
/// scalar/normalized_backward.hpp:
///
///   block -> a chunk of tokens of one basis
///   x -> lanes of a head, in units, pairs or single ones     y -> every threads.y-th head: a team a head
///   z -> every threads.z-th token of the chunk
///
///   for each step, of threads.z tokens:       cos, sin of all pairs
///     one mean: for each threads.y heads      load, rotate
///     for each threads.y heads                load, rotate, grad, store
///     dL/dposition and dL/dangle of the step's tokens, added up over the block's threads
///   the block's dL/dinv_freq and its sum grad_y . y, a row of `sums`; grad_y . y also over x
///
///   load    grad_y and x, to t and z
///   rotate  rotates grad_y or x, as the order of norm and rotation requires; each thread's sums of z^2 and t w z
///   grad    z becomes t z r, t becomes grad_x; dL/dangle summed over a team's heads in floats
///   store   t to grad_x; z over the step's heads and tokens in floats, then in double to the block's `weight_sums`;
///           after a token's last heads its dL/dangle, in double
///
/// Every sum has a fixed order.
template <class Operand, pairing Pairing, class Source>
struct normalized_backward_kernel;
template <class T, class Format, element W, pairing Pairing, class Source>
struct normalized_backward_kernel<normalized_backward_operand<T, Format, W>, Pairing, Source> {
    using operand_type = normalized_backward_operand<T, Format, W>;
    using units = units_of<T, Format>;
    static constexpr int blocks_per_processor = 3;  // 80 registers

    Source angles;
    operand_type of;
    index_t tokens;  // of a row
    token_chunks chunks;
    index_t only_basis;   // process the tokens of this basis only; -1: all
    double* sums;         // [chunks.count, sums_of_chunk], or null
    double* weight_sums;  // [chunks.count, weights], or null
    double* position;     // [axes, rows, tokens], added to, or null
    double* angle;        // [rows, tokens, pairs of angles], added to, or null
    index_t axis_stride;  // rows * tokens
    std::int32_t heads, head_dim, first_lane;
    std::int32_t pairs;  // 0 for an unrotated operand
    bool is_wide;
    gradient_layout layout;

    CORDAGE_HOST_DEVICE index_t phases(const block_view& at) const noexcept {
        return steps_of(chunks, at) * phases_of_step(at) + 2;
    }
    CORDAGE_HOST_DEVICE void run(index_t phase, const block_view& at) const noexcept {
        const std::int32_t each = phases_of_step(at), groups = groups_of_heads(at);
        const quotient_and_rest of_step = divided(phase, each);
        const index_t step = of_step.quotient;
        auto rest = static_cast<std::int32_t>(of_step.rest);
        team here(*this, at, token_of(chunks, step, at));
        if (step == steps_of(chunks, at)) return finish(rest, here);
        if (rest == 0) return begin(step == 0, here);
        if (rest == each - 1) return add_of_token(here);
        --rest;
        const std::int32_t before = of.norm.is_over_all_heads ? 2 * groups : 0;
        if (rest < before) {
            here.group = rest / 2;
            return rest % 2 == 0 ? load(here) : rotate(true, here);
        }
        rest -= before;
        here.group = rest / 4;
        if (rest % 4 == 0) return load(here);
        if (rest % 4 == 1) return rotate(before == 0, here);
        if (rest % 4 == 2) return make_gradients(here);
        store(here);
        add_weights(step == 0, here);
        if (here.group == groups - 1) add_angles(here);
    }

 private:
    // A thread in its team, its token, and the current group of heads, one head for each team.
    struct team {
        const normalized_backward_kernel& kernel;
        const block_view& at;
        index_t number;  // of the token
        std::int32_t member, members, y, teams;
        std::int32_t group = 0;

        CORDAGE_HOST_DEVICE team(const normalized_backward_kernel& k, const block_view& where, index_t token) noexcept
            : kernel(k),
              at(where),
              number(token),
              member(static_cast<std::int32_t>(where.thread.x)),
              members(static_cast<std::int32_t>(where.threads.x)),
              y(static_cast<std::int32_t>(where.thread.y)),
              teams(static_cast<std::int32_t>(where.threads.y)) {}

        CORDAGE_HOST_DEVICE block_sums sums() const noexcept {
            return {at, sums_shape::of(kernel.angles, kernel.layout.pairs)};
        }
        CORDAGE_HOST_DEVICE token_place place() const noexcept { return place_of(number, kernel.tokens); }
        CORDAGE_HOST_DEVICE std::int32_t head() const noexcept { return group * teams + y; }
        CORDAGE_HOST_DEVICE bool has_head() const noexcept { return is_there() != 0.0f && head() < kernel.heads; }
        CORDAGE_HOST_DEVICE float& is_there() const noexcept { return of_token()[0]; }
        CORDAGE_HOST_DEVICE cos_sin<float> angle(std::int32_t pair) const noexcept {
            return {of_token()[4 + pair], of_token()[4 + kernel.layout.pairs + pair]};
        }
        CORDAGE_HOST_DEVICE void set_angle(std::int32_t pair, const cos_sin<float>& to) const noexcept {
            of_token()[4 + pair] = to.cos;
            of_token()[4 + kernel.layout.pairs + pair] = to.sin;
        }
        CORDAGE_HOST_DEVICE float* t() const noexcept { return of_team(at.thread.z, y); }
        CORDAGE_HOST_DEVICE float* z() const noexcept { return z(at.thread.z, y); }
        CORDAGE_HOST_DEVICE float* z(std::uint32_t z_of, std::int32_t y_of) const noexcept {
            return of_team(z_of, y_of) + kernel.layout.lanes;
        }
        CORDAGE_HOST_DEVICE float& grad_angle(std::int32_t pair) const noexcept { return grad_angle(y, pair); }
        CORDAGE_HOST_DEVICE float& grad_angle(std::int32_t y_of, std::int32_t pair) const noexcept {
            return of_team(at.thread.z, y_of)[2 * kernel.layout.lanes + pair];
        }
        CORDAGE_HOST_DEVICE float* squares(std::int32_t y_of) const noexcept {
            return of_team(at.thread.z, y_of) + 2 * kernel.layout.lanes + kernel.layout.pairs;
        }
        CORDAGE_HOST_DEVICE float* products(std::int32_t y_of) const noexcept { return squares(y_of) + members; }

     private:
        CORDAGE_HOST_DEVICE float* floats() const noexcept {
            return static_cast<float*>(at.shared) + 2 * kernel.layout.sums;
        }
        CORDAGE_HOST_DEVICE float* of_token() const noexcept {
            return floats() + static_cast<std::int32_t>(at.thread.z) * kernel.layout.token_size();
        }
        CORDAGE_HOST_DEVICE float* of_team(std::uint32_t z_of, std::int32_t y_of) const noexcept {
            const auto before = static_cast<std::int32_t>(z_of) * teams + y_of;
            return floats() + static_cast<std::int32_t>(at.threads.z) * kernel.layout.token_size() +
                   before * kernel.layout.team_size();
        }
    };

    CORDAGE_HOST_DEVICE std::int32_t groups_of_heads(const block_view& at) const noexcept {
        const auto teams = static_cast<std::int32_t>(at.threads.y);
        return (heads + teams - 1) / teams;
    }
    CORDAGE_HOST_DEVICE std::int32_t phases_of_step(const block_view& at) const noexcept {
        return 2 + (of.norm.is_over_all_heads ? 6 : 4) * groups_of_heads(at);
    }
    CORDAGE_HOST_DEVICE std::int32_t lane_of_first(std::int32_t pair) const noexcept {
        return first_lane + static_cast<std::int32_t>(Pairing::first(pair, pairs));
    }
    CORDAGE_HOST_DEVICE std::int32_t lane_of_second(std::int32_t pair) const noexcept {
        return first_lane + static_cast<std::int32_t>(Pairing::second(pair, pairs));
    }
    // Calls f(lane) for the thread's lanes that are not rotated.
    template <class F>
    CORDAGE_HOST_DEVICE void for_each_other(const team& here, const F& f) const noexcept {
        for (std::int32_t i = here.member; i < head_dim - 2 * pairs; i += here.members) {
            f(i < first_lane ? i : i + 2 * pairs);
        }
    }
    CORDAGE_HOST_DEVICE float factor(const team& here, std::int32_t lane) const noexcept {
        return of.norm.template factor<float>(here.head(), lane, head_dim);
    }

    CORDAGE_HOST_DEVICE void begin(bool is_first, const team& here) const noexcept {
        const bool is_token = here.number < chunks.end(here.at.block.x);
        const token_place place = is_token ? here.place() : token_place{0, 0};
        const bool is_there = is_token && of.lanes_of(place.row, place.token).x != nullptr &&
                              (only_basis < 0 || angle_detail::basis_of(angles, place.row, place.token) == only_basis);
        if (here.member == 0 && here.y == 0) here.is_there() = is_there ? 1.0f : 0.0f;
        for (std::int32_t pair = here.y * here.members + here.member; is_there && pair < pairs;
             pair += here.members * here.teams) {
            here.set_angle(pair, angles_of<forward, 1>(angles, place.row, place.token, pair).angle(0));
        }
        here.squares(here.y)[here.member] = here.products(here.y)[here.member] = 0.0f;
        for (std::int32_t pair = here.member; pair < pairs; pair += here.members) {
            here.grad_angle(pair) = 0.0f;
            for (index_t basis = 0; is_first && basis < angle_detail::bases_of_token(angles); ++basis) {
                here.sums().pairs(basis)[pair] = 0.0;
            }
        }
        for (index_t axis = 0; axis < angle_detail::axes_of(angles); ++axis) here.sums().position(axis) = 0.0;
        if (is_first) here.sums().dot() = 0.0;
    }

    CORDAGE_HOST_DEVICE void load(const team& here) const noexcept {
        if (!here.has_head()) return;
        const token_place place = here.place();
        const auto lanes = of.lanes_of(place.row, place.token);
        const T* const g = lanes.grad_y - first_lane + here.head() * of.grad_y.head_stride;
        const T* const x = lanes.x - first_lane + here.head() * of.x.head_stride;
        with_units<units>(is_wide, [&]<class Units>(Units) {
            constexpr int size = Units::lanes_of_unit;
            for (std::int32_t unit = here.member; unit < head_dim / size; unit += here.members) {
                float t[size], z[size];  // all loads in flight at once
                Units::load(of.grad_y.format, g, {}, unit, t);
                Units::load(of.x.format, x, {}, unit, z);
                put_lanes<Units>(t, unit, here.t());
                put_lanes<Units>(z, unit, here.z());
            }
        });
    }

    CORDAGE_HOST_DEVICE void rotate(bool adds, const team& here) const noexcept {
        if (!here.has_head()) return;
        float *const t = here.t(), *const z = here.z();
        float* const x = of.norm.is_after_rotation ? z : t;
        float squares = 0.0f, products = 0.0f;
        const auto add = [&](std::int32_t lane) {
            squares = lane_traits<float>::multiply_add(z[lane], z[lane], squares);
            products = lane_traits<float>::multiply_add(t[lane] * factor(here, lane), z[lane], products);
        };
        for (std::int32_t pair = here.member; pair < pairs; pair += here.members) {
            const std::int32_t lane0 = lane_of_first(pair), lane1 = lane_of_second(pair);
            const cos_sin<float> at = here.angle(pair);
            const lane_pair<float> y =
                rotated(of.norm.is_after_rotation ? at : transposed(at), lane_pair<float>{x[lane0], x[lane1]});
            x[lane0] = y.first;
            x[lane1] = y.second;
            if (adds) add(lane0), add(lane1);
        }
        if (!adds) return;
        for_each_other(here, add);
        float &all_squares = here.squares(here.y)[here.member], &all_products = here.products(here.y)[here.member];
        const bool goes_on = of.norm.is_over_all_heads;  // sums continue over groups
        all_squares = goes_on ? all_squares + squares : squares;
        all_products = goes_on ? all_products + products : products;
    }

    CORDAGE_HOST_DEVICE rms_norm_gradient<float> norm_of(const team& here) const noexcept {
        const bool is_over_all = of.norm.is_over_all_heads;
        float squares = 0.0f, products = 0.0f;
        for (std::int32_t y = is_over_all ? 0 : here.y; y < (is_over_all ? here.teams : here.y + 1); ++y) {
            for (std::int32_t i = 0; i < here.members; ++i) {
                squares += here.squares(y)[i];
                products += here.products(y)[i];
            }
        }
        const index_t count = of.norm.rows(heads) * head_dim;
        return {of.norm.inverse_rms(squares, count), products / static_cast<float>(count)};
    }

    CORDAGE_HOST_DEVICE void make_gradients(const team& here) const noexcept {
        float *const t = here.t(), *const z = here.z();
        if (!here.has_head()) {  // contributes 0 to the weights
            for (std::int32_t lane = here.member; lane < head_dim; lane += here.members) z[lane] = 0.0f;
            return;
        }
        const rms_norm_gradient<float> gradient = norm_of(here);
        float dot = 0.0f;
        for (std::int32_t pair = here.member; pair < pairs; pair += here.members) {
            const std::int32_t lane0 = lane_of_first(pair), lane1 = lane_of_second(pair);
            const float factor0 = factor(here, lane0), factor1 = factor(here, lane1);
            const lane_pair<float> t_of{t[lane0], t[lane1]}, z_of{z[lane0], z[lane1]};
            const lane_pair<float> zr{z_of.first * gradient.r, z_of.second * gradient.r};
            lane_pair<float> gx{gradient(z_of.first, t_of.first, factor0), gradient(z_of.second, t_of.second, factor1)};
            // The rotation's output gradient and its output, before or after the norm.
            lane_pair<float> g = t_of, n{zr.first * factor0, zr.second * factor1};
            if (of.norm.is_after_rotation) {
                g = gx;
                n = z_of;
                gx = rotated(transposed(here.angle(pair)), gx);
            }
            here.grad_angle(pair) = plus_grad_angle(here.grad_angle(pair), g, n);
            dot = plus_grad_factor(dot, g, n);
            t[lane0] = gx.first;
            t[lane1] = gx.second;
            z[lane0] = t_of.first * zr.first;
            z[lane1] = t_of.second * zr.second;
        }
        here.sums().dot() += static_cast<double>(dot);
        for_each_other(here, [&](std::int32_t lane) {
            const float t_of = t[lane], z_of = z[lane];
            t[lane] = gradient(z_of, t_of, factor(here, lane));
            z[lane] = t_of * (z_of * gradient.r);
        });
    }

    CORDAGE_HOST_DEVICE void store(const team& here) const noexcept {
        if (!here.has_head()) return;
        const token_place place = here.place();
        T* const gx = of.lanes_of(place.row, place.token).grad_x - first_lane + here.head() * of.grad_x.head_stride;
        with_units<units>(is_wide, [&]<class Units>(Units) {
            for (std::int32_t unit = here.member; unit < head_dim / Units::lanes_of_unit; unit += here.members) {
                float lanes[Units::lanes_of_unit];
                get_lanes<Units>(here.t(), unit, lanes);
                Units::store(of.grad_x.format, lanes, 0.0f, gx, unit);
            }
        });
    }

    // Adds the weight gradients of all teams' heads, or of each head's own weights; one weight for each thread.
    CORDAGE_HOST_DEVICE void add_weights(bool is_first_step, const team& here) const noexcept {
        if (weight_sums == nullptr) return;
        const bool are_own = of.norm.is_over_all_heads, is_first = is_first_step && (are_own || here.group == 0);
        double* const row = weight_sums + index_t{here.at.block.x} * of.norm.rows(heads) * head_dim;
        for (auto i = static_cast<std::int32_t>(here.at.thread_number()); i < (are_own ? here.teams : 1) * head_dim;
             i += static_cast<std::int32_t>(here.at.thread_count())) {
            const std::int32_t first = are_own ? i / head_dim : 0, end = are_own ? first + 1 : here.teams;
            const std::int32_t lane = i - first * head_dim, head = are_own ? here.group * here.teams + first : 0;
            if (head >= heads) return;
            float sum = 0.0f;
            for (std::uint32_t token = 0; token < here.at.threads.z; ++token) {
                for (std::int32_t y = first; y < end; ++y) sum += here.z(token, y)[lane];
            }
            double& to = row[index_t{head} * head_dim + lane];
            to = (is_first ? 0.0 : to) + static_cast<double>(sum);
        }
    }

    CORDAGE_HOST_DEVICE void add_angles(const team& here) const noexcept {
        if (here.is_there() == 0.0f) return;
        for (std::int32_t pair = here.member; pair < pairs; pair += here.members) {
            const float grad_angle[1] = {here.grad_angle(pair)};
            here.sums().add(angles, here.place(), pair, pair, grad_angle, position != nullptr);
        }
    }
    CORDAGE_HOST_DEVICE void add_of_token(const team& here) const noexcept {
        if (here.number >= chunks.end(here.at.block.x)) return;
        if (position != nullptr) here.sums().add_positions(position + here.number, axis_stride);
        for (std::int32_t pair = here.y * here.members + here.member; angle != nullptr && pair < pairs;
             pair += here.members * here.teams) {
            double sum = 0.0;
            for (std::int32_t y = 0; y < here.teams; ++y) sum += static_cast<double>(here.grad_angle(y, pair));
            angle[here.number * pairs + pair] += sum;
        }
    }
    CORDAGE_HOST_DEVICE void finish(std::int32_t phase, const team& here) const noexcept {
        if (sums == nullptr) return;
        double* const row = sums + index_t{here.at.block.x} * sums_of_chunk(angles);
        if (phase == 0) return here.sums().add_lanes(row, pairs, pairs);
        if (here.at.thread_number() == 0) row[sums_of_chunk(angles) - 1] = here.sums().sum_of_dots();
    }
};

/// Threads and shared memory of a block that processes `length` tokens, and the layout of that memory.
struct gradient_plan {
    index3 threads;
    gradient_layout layout;
    index_t shared_bytes;
};
inline gradient_plan plan_gradients(index_t length, const heads_shape& shape, sums_shape sums) noexcept {
    const auto narrow = [](index_t n) { return static_cast<std::int32_t>(n); };
    const auto padded = [&](index_t n) { return narrow(rounded_up_quotient(n, 4) * 4); };
    const index_t members = threads_of_head(shape.head_dim);
    gradient_plan plan{backward_threads(length, members, shape.heads),
                       {padded(sums.pairs), padded(shape.head_dim), narrow(members), 0},
                       0};
    sums.pairs = plan.layout.pairs;
    const auto measure = [&] {
        const index3& t = plan.threads;
        plan.layout.sums = narrow(rounded_up_quotient(block_sums::count(t, sums), 2) * 2);
        const index_t floats = t.z * (plan.layout.token_size() + index_t{t.y} * plan.layout.team_size());
        return plan.shared_bytes = 8 * index_t{plan.layout.sums} + 4 * floats;
    };
    while (measure() > most_shared_bytes) (plan.threads.z > 1 ? plan.threads.z : plan.threads.y) /= 2;
    return plan;
}

/// Launches the backward pass of one checked operand with heads of at most most_lanes_of_head lanes, and its sums.
template <pairing Pairing, class Source, class T, class Format, element W, kernel_launcher Launcher>
void launch_backward(const char* function, const Launcher& where, const Source& angles,
                     const normalized_backward_operand<T, Format, W>& o, const device_gradients& given,
                     bool has_basis_of_token) {
    using kernel_type = normalized_backward_kernel<normalized_backward_operand<T, Format, W>, Pairing, Source>;
    static_assert(device_kernel<kernel_type>);
    const heads_shape& shape = o.shape();
    if (shape.heads == 0) return;
    const index_t tokens = shape.batch * shape.tokens;
    const device_gradients grads = o.is_rotated() ? given : device_gradients{.workspace = given.workspace};
    launch_with_sums(
        function, where, angles, tokens, has_basis_of_token, grads, o.grad_weight,
        [&](const token_chunks& chunks, index_t only_basis) {
            const index_t pairs = o.is_rotated() ? angles.pairs() : 0;
            const gradient_plan plan = plan_gradients(chunks.length, shape, sums_shape::of(angles, pairs));
            const auto narrow = [](index_t n) { return static_cast<std::int32_t>(n); };
            const bool is_wide =
                std::apply([](const auto&... view) { return (kernel_type::units::is_wide(view) && ...); }, o.views());
            const kernel_type kernel{
                angles,
                o,
                shape.tokens,
                chunks,
                only_basis,
                grads.has_sums() ? grads.workspace : nullptr,
                o.grad_weight.empty() ? nullptr : grads.workspace + chunks.count * sums_of_chunk(angles),
                grads.position,
                grads.angle,
                tokens,
                narrow(shape.heads),
                narrow(shape.head_dim),
                narrow(o.first_lane),
                narrow(pairs),
                is_wide,
                plan.layout};
            where.launch(
                function, kernel,
                launch_size{plan.threads, {static_cast<std::uint32_t>(chunks.count), 1, 1}, plan.shared_bytes});
        });
}
/// Launches the backward pass of several checked operands, one after the other.
template <pairing Pairing, class Source, class T, class Format, element W, kernel_launcher Launcher>
void launch_backward(const char* function, const Launcher& where, const Source& angles,
                     std::span<const normalized_backward_operand<T, Format, W>* const> operands,
                     const device_gradients& grads, bool has_basis_of_token) {
    for (const auto* o : operands) launch_backward<Pairing>(function, where, angles, *o, grads, has_basis_of_token);
}

}  // namespace cordage::backend
