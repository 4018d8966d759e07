// SPDX-License-Identifier: MIT
// The gradient of a solve, exact for the numbers it computed; the backward of the stage ode.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/loops.hpp"
#include "cordage/ode/reverse_sweep.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage {

/// The gradient of a loss to the state read at t: where the reverse sweep takes something in.
template <class Scalar>
struct gradient_seed {
    Scalar t;
    std::span<const Scalar> grad_z;  ///< [size]
};

/// Where discrete_adjoint and continuous_adjoint add their results.
template <class Scalar>
struct gradient_sums {
    std::span<Scalar> grad_z0;          ///< [size]
    std::span<Scalar> grad_parameters;  ///< [parameter_count]
    std::span<Scalar> grad_times = {};  ///< [seeds], to each seed's t with the mesh held fixed; empty if not wanted
};

namespace ode_detail {

/// Throws what both adjoints throw for a trajectory that failed, sizes that disagree and seeds outside the interval.
template <butcher_tableau Tableau, class Scalar, class Field>
void validate_gradient(const char* who, const trajectory<Tableau, Scalar>& path, const Field& field,
                       std::span<const gradient_seed<Scalar>> seeds, const gradient_sums<Scalar>& sums) {
    static_assert(differentiable_field<Field, Scalar>,
                  "cordage::discrete_adjoint, continuous_adjoint: Field needs size(), parameter_count() and 'Scalar "
                  "vjp(Scalar t, std::span<const Scalar> z, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z, "
                  "std::span<Scalar> grad_parameters)'; docs/extending.md");
    const auto expect = [who](const char* what, std::size_t size, std::size_t wanted) {
        if (size != wanted) fail<shape_error>({who, ": ", what, " size ", size, " must be ", wanted});
    };
    expect("field", static_cast<std::size_t>(field.size()), path.size());
    expect("grad_z0", sums.grad_z0.size(), path.size());
    expect("grad_parameters", sums.grad_parameters.size(), static_cast<std::size_t>(field.parameter_count()));
    if (!sums.grad_times.empty()) expect("grad_times", sums.grad_times.size(), seeds.size());
    for (const auto& seed : seeds) path.locate(who, seed.t, seed.grad_z.size());
}

/// 0 ... count-1, the index of the greatest key first, those of equal keys in order. (Not by std::stable_sort, whose
/// parts in some standard libraries C++17 has deprecated, of which compilers warn.)
template <class Key>
std::vector<std::size_t> greatest_first(std::size_t count, const Key& key) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t i, std::size_t j) { return std::pair(key(j), i) < std::pair(key(i), j); });
    return order;
}

}  // namespace ode_detail

/// The discrete gradient: of the very numbers that a solve computed, interpolant included, accepted steps held fixed.
/// One sweep from the last seed back to begin serves all seeds.
///
/// @param field  the one the trajectory was solved with, differentiable
/// @param seeds  any number, in any order, each t within the interval
/// @param sums   results are added to what is there; must not overlap
/// @return       the gradient to interval.end with all nodes and seeds moving in proportion, t = begin + r (end -
///               begin) (so T of a fixed mesh: through h and through the stages' times); 0 if the interval is empty
/// @throws cordage::error unless the solve was a success; value_error for a seed's t; shape_error for sizes: all before
///         anything is added
/// Precision: Scalar. Calls vjp at most as often as the accepted steps called the field. Allocates its workspace once.
template <butcher_tableau Tableau, class Scalar, class Field>
Scalar discrete_adjoint(const trajectory<Tableau, Scalar>& path, Field&& field,
                        std::type_identity_t<std::span<const gradient_seed<Scalar>>> seeds,
                        const std::type_identity_t<gradient_sums<Scalar>>& sums) {
    using namespace ode_detail;
    validate_gradient("discrete_adjoint", path, field, seeds, sums);
    std::vector<trajectory_place<Scalar>> places;
    for (const auto& seed : seeds) places.push_back(path.locate("discrete_adjoint", seed.t, seed.grad_z.size()));
    if (places.empty()) return Scalar{0};
    if (!sums.grad_times.empty()) {
        std::vector<Scalar> slope(path.size());
        for (std::size_t i = 0; i < seeds.size(); ++i) {
            path.slope_at(seeds[i].t, slope);
            sums.grad_times[i] += std::inner_product(slope.begin(), slope.end(), seeds[i].grad_z.begin(), Scalar{0});
        }
    }

    // The sweep meets the last seed first. A seed at the last node adds to the state there, any other to its step.
    std::vector<placed_gradient<Scalar>> placed;
    for (const std::size_t i : greatest_first(places.size(), [&](std::size_t k) { return places[k].node; })) {
        placed.push_back({places[i], seeds[i].grad_z});
    }
    auto next = placed.begin();
    const auto take_those_at = [&](std::size_t node) {
        const auto begin = next;
        while (next != placed.end() && next->place.node == node) ++next;
        return std::span<const placed_gradient<Scalar>>(begin, next);
    };
    recorder<Scalar, std::remove_reference_t<Field>> recorded(field);
    reverse_sweep<Tableau, Scalar> sweep(path, recorded, sums.grad_parameters);
    std::size_t node = std::min(placed.front().place.node + 1, path.nodes() - 1);
    for (const auto& seed : take_those_at(node)) add_scaled<Scalar>(1, seed.grad_z, sweep.grad_z());
    while (node-- > 0) sweep.step_back(node, take_those_at(node));
    sweep.finish();
    add_scaled<Scalar>(1, sweep.grad_z(), sums.grad_z0);
    const Scalar length = path.interval().end - path.interval().begin;
    return length == 0 ? Scalar{0} : sweep.grad_stretch() / length;
}

}  // namespace cordage
