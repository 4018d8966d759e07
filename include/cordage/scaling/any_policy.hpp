// SPDX-License-Identifier: MIT
// A policy chosen at run time, over the same policies; last file of the stage t -> log alpha.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "cordage/scaling/policy.hpp"

namespace cordage {

/// Holds any scaling policy, a researcher's own included, as one value type that is a scaling policy itself. Copies
/// share the policy, which nobody can change any more.
class any_policy {
 public:
    template <scaling_policy Policy>
    requires(!std::same_as<Policy, any_policy>) any_policy(Policy policy)
        : policy_(std::make_shared<const holder<Policy>>(std::move(policy))) {}

    void log_alpha(const rope_config& c, double t, std::span<double> out) const { policy_->log_alpha(c, t, out); }
    void log_alpha_rate(const rope_config& c, double t, std::span<double> out) const {
        policy_->log_alpha_rate(c, t, out);
    }
    double attention_factor(const rope_config& c, double t) const { return policy_->attention_factor(c, t); }
    double attention_factor_rate(const rope_config& c, double t) const { return policy_->attention_factor_rate(c, t); }
    void validate(const rope_config& c) const { policy_->validate(c); }

 private:
    struct interface {
        virtual ~interface() = default;
        virtual void log_alpha(const rope_config&, double, std::span<double>) const = 0;
        virtual void log_alpha_rate(const rope_config&, double, std::span<double>) const = 0;
        virtual double attention_factor(const rope_config&, double) const = 0;
        virtual double attention_factor_rate(const rope_config&, double) const = 0;
        virtual void validate(const rope_config&) const = 0;
    };

    template <class Policy>
    struct holder final : interface {
        explicit holder(Policy p) : policy(std::move(p)) {}
        void log_alpha(const rope_config& c, double t, std::span<double> out) const override {
            cordage::log_alpha(policy, c, t, out);
        }
        void log_alpha_rate(const rope_config& c, double t, std::span<double> out) const override {
            cordage::log_alpha_rate(policy, c, t, out);
        }
        double attention_factor(const rope_config& c, double t) const override {
            return cordage::attention_factor(policy, c, t);
        }
        double attention_factor_rate(const rope_config& c, double t) const override {
            return cordage::attention_factor_rate(policy, c, t);
        }
        void validate(const rope_config& c) const override { cordage::validate(policy, c); }
        Policy policy;
    };

    std::shared_ptr<const interface> policy_;
};
static_assert(scaling_policy<any_policy> && has_attention_factor<any_policy>);

}  // namespace cordage
