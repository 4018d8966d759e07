// SPDX-License-Identifier: MIT
// A model's scaling rule, config x policy x schedule, which gives the basis of a length; stage policy at t -> basis.
#pragma once

#include <concepts>
#include <utility>

#include "cordage/basis/basis.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/schedule/schedules.hpp"

namespace cordage {

/// Gives the basis to use at each length. Policy and Schedule are chosen at compile time, or at run time as any_policy
/// and any_schedule:
///
///   rope_scaling llama(config, ntk_aware{}, continuous{});        // the exact t of every length
///   rope_scaling<any_policy, any_schedule> served(config, yarn{}, nearest_upper_bound({1, 2, 4}));
template <class Policy = any_policy, class Schedule = any_schedule>
class rope_scaling {
    static_assert(policy_detail::require_policy<Policy>());
    static_assert(
        length_schedule<Schedule>,
        "cordage::rope_scaling: after the policy write a schedule: fixed{t}, dynamic{factor}, continuous{}, or one "
        "with "
        "'double ratio(const rope_config&, double seq_len) const', the t >= 1 of a length; docs/extending.md");

 public:
    /// @throws value_error or shape_error  if config, the policy's parameters or the schedule's settings are invalid
    rope_scaling(rope_config config, Policy policy, Schedule schedule)
        : config_(config), policy_(std::move(policy)), schedule_(std::move(schedule)) {
        validate(policy_, config_);
        validate_schedule(schedule_);
    }

    /// The schedule's t for a sequence of seq_len tokens.
    double ratio(double seq_len) const { return ratio_at(schedule_, config_, seq_len); }
    /// The basis for a sequence of seq_len tokens.
    basis at_length(double seq_len) const { return make_basis(config_, policy_, ratio(seq_len)); }
    /// The basis at a given t >= 1.
    basis at_ratio(double t) const { return make_basis(config_, policy_, t); }

    const rope_config& config() const { return config_; }
    const Policy& policy() const { return policy_; }
    const Schedule& schedule() const { return schedule_; }

 private:
    rope_config config_;
    Policy policy_;
    Schedule schedule_;
};
template <class Policy>
rope_scaling(rope_config, Policy) -> rope_scaling<Policy, void>;  // for the message
template <class First, class Second, class... More>
    requires(!std::convertible_to<First, rope_config>)
rope_scaling(First, Second, More...) -> rope_scaling<void, void>;  // likewise

}  // namespace cordage
