// SPDX-License-Identifier: MIT
// Any scaling policy, learned or closed, as one value type whose parameters can be trained.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cordage/scaling/policy.hpp"

namespace demo {

using cordage::rope_config;

/// Holds any scaling policy and is a cordage::learned_policy itself; a closed form has no parameters to learn.
class any_learned_policy {
 public:
    template <cordage::scaling_policy Policy>
    requires(!std::same_as<Policy, any_learned_policy>) any_learned_policy(Policy policy)
        : policy_(std::make_shared<const holder<Policy>>(std::move(policy))) {}

    void log_alpha(const rope_config& c, double t, std::span<double> out) const { policy_->log_alpha(c, t, out); }
    void log_alpha_rate(const rope_config& c, double t, std::span<double> out) const { policy_->rate(c, t, out); }
    double attention_factor(const rope_config& c, double t) const { return policy_->factor(c, t); }
    double attention_factor_rate(const rope_config& c, double t) const { return policy_->factor_rate(c, t); }
    std::vector<double> parameters() const { return policy_->parameters(); }
    any_learned_policy with_parameters(std::span<const double> numbers) const {
        return any_learned_policy(policy_->with_parameters(numbers));
    }
    void log_alpha_vjp(const rope_config& c, double t, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        policy_->vjp(c, t, grad_log_alpha, grad_parameters);
    }

 private:
    struct interface {
        virtual ~interface() = default;
        virtual void log_alpha(const rope_config&, double, std::span<double>) const = 0;
        virtual void rate(const rope_config&, double, std::span<double>) const = 0;
        virtual double factor(const rope_config&, double) const = 0;
        virtual double factor_rate(const rope_config&, double) const = 0;
        virtual std::vector<double> parameters() const = 0;
        virtual std::shared_ptr<const interface> with_parameters(std::span<const double>) const = 0;
        virtual void vjp(const rope_config&, double, std::span<const double>, std::span<double>) const = 0;
    };

    template <class Policy>
    struct holder final : interface {
        explicit holder(Policy p) : policy(std::move(p)) {}
        void log_alpha(const rope_config& c, double t, std::span<double> out) const override {
            cordage::log_alpha(policy, c, t, out);
        }
        void rate(const rope_config& c, double t, std::span<double> out) const override {
            cordage::log_alpha_rate(policy, c, t, out);
        }
        double factor(const rope_config& c, double t) const override { return cordage::attention_factor(policy, c, t); }
        double factor_rate(const rope_config& c, double t) const override {
            return cordage::attention_factor_rate(policy, c, t);
        }
        std::vector<double> parameters() const override {
            if constexpr (cordage::learned_policy<Policy>) {
                return policy.parameters();
            } else {
                return {};
            }
        }
        std::shared_ptr<const interface> with_parameters(std::span<const double> numbers) const override {
            if constexpr (cordage::learned_policy<Policy>) {
                return std::make_shared<const holder>(policy.with_parameters(numbers));
            } else {
                return std::make_shared<const holder>(policy);
            }
        }
        void vjp(const rope_config& c, double t, std::span<const double> grad_log_alpha,
                 std::span<double> grad_parameters) const override {
            if constexpr (cordage::learned_policy<Policy>) {
                policy.log_alpha_vjp(c, t, grad_log_alpha, grad_parameters);
            }
        }
        Policy policy;
    };

    explicit any_learned_policy(std::shared_ptr<const interface> policy) : policy_(std::move(policy)) {}

    std::shared_ptr<const interface> policy_;
};
static_assert(cordage::learned_policy<any_learned_policy> && cordage::has_attention_factor<any_learned_policy>);

}  // namespace demo
