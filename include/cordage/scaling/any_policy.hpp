// SPDX-License-Identifier: MIT
// A policy chosen at run time; last file of the stage t -> log alpha.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage {

/// Holds any scaling policy, including your own, as one value type that is itself a scaling policy. Copies share the
/// policy, which is immutable. A learned policy keeps its parameters; any other has none.
class any_policy {
 public:
    template <class Policy>
        requires(!std::same_as<Policy, any_policy> && policy_detail::like_policy<Policy>)
    any_policy(Policy policy) : policy_(std::make_shared<const holder<Policy>>(std::move(policy))) {}

    void log_alpha(const rope_config& c, double t, std::span<double> out) const { policy_->log_alpha(c, t, out); }
    void log_alpha_rate(const rope_config& c, double t, std::span<double> out) const {
        policy_->log_alpha_rate(c, t, out);
    }
    double attention_factor(const rope_config& c, double t) const { return policy_->attention_factor(c, t); }
    double attention_factor_rate(const rope_config& c, double t) const { return policy_->attention_factor_rate(c, t); }
    void validate(const rope_config& c) const { policy_->validate(c); }

    std::vector<double> parameters() const { return policy_->parameters(); }

    /// @throws shape_error unless the policy has as many parameters as numbers
    any_policy with_parameters(std::span<const double> numbers) const {
        return any_policy(policy_->with_parameters(numbers));
    }
    void log_alpha_vjp(const rope_config& c, double t, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        policy_->log_alpha_vjp(c, t, grad_log_alpha, grad_parameters);
    }
    void attention_factor_vjp(const rope_config& c, double t, double grad, std::span<double> grad_parameters) const {
        policy_->attention_factor_vjp(c, t, grad, grad_parameters);
    }

 private:
    struct interface {
        virtual ~interface() = default;
        virtual void log_alpha(const rope_config&, double, std::span<double>) const = 0;
        virtual void log_alpha_rate(const rope_config&, double, std::span<double>) const = 0;
        virtual double attention_factor(const rope_config&, double) const = 0;
        virtual double attention_factor_rate(const rope_config&, double) const = 0;
        virtual void validate(const rope_config&) const = 0;
        virtual std::vector<double> parameters() const = 0;
        virtual std::shared_ptr<const interface> with_parameters(std::span<const double>) const = 0;
        virtual void log_alpha_vjp(const rope_config&, double, std::span<const double>, std::span<double>) const = 0;
        virtual void attention_factor_vjp(const rope_config&, double, double, std::span<double>) const = 0;
    };

    template <class Policy>
    struct holder final : interface {
        static_assert(policy_detail::require_policy<Policy>());
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
        std::vector<double> parameters() const override {
            if constexpr (learned_policy<Policy>) return policy.parameters();
            return {};
        }
        std::shared_ptr<const interface> with_parameters(std::span<const double> numbers) const override {
            if constexpr (learned_policy<Policy>) {
                return std::make_shared<const holder>(policy.with_parameters(numbers));
            } else {
                expect_none(numbers.size());
                return std::make_shared<const holder>(policy);
            }
        }
        void log_alpha_vjp(const rope_config& c, double t, std::span<const double> grad_log_alpha,
                           std::span<double> grad_parameters) const override {
            if constexpr (learned_policy<Policy>) {
                policy.log_alpha_vjp(c, t, grad_log_alpha, grad_parameters);
            } else {
                expect_none(grad_parameters.size());
            }
        }
        void attention_factor_vjp(const rope_config& c, double t, double grad,
                                  std::span<double> grad_parameters) const override {
            if constexpr (has_attention_factor_vjp<Policy>) policy.attention_factor_vjp(c, t, grad, grad_parameters);
        }
        static void expect_none(std::size_t size) {
            if (size != 0) fail<shape_error>({"any_policy: parameters size ", size, " must be 0 for this policy"});
        }
        Policy policy;
    };

    explicit any_policy(std::shared_ptr<const interface> policy) : policy_(std::move(policy)) {}

    std::shared_ptr<const interface> policy_;
};
static_assert(learned_policy<any_policy> && has_attention_factor<any_policy> && has_attention_factor_vjp<any_policy>);

}  // namespace cordage
