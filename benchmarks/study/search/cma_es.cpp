// SPDX-License-Identifier: MIT
// CMA-ES after Hansen's tutorial; equation numbers are those of arXiv:1604.00772.
#include "search/cma_es.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "cordage/core/error.hpp"
#include "cordage/positions/sampler.hpp"

namespace demo {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Standard normal numbers (Marsaglia's polar method, of which one of two is used).
double draw_normal(std::mt19937_64& generator) {
    while (true) {
        const double u = cordage::draw_real(generator, -1.0, 1.0), v = cordage::draw_real(generator, -1.0, 1.0);
        const double s = u * u + v * v;
        if (s > 0.0 && s < 1.0) return u * std::sqrt(-2.0 * std::log(s) / s);
    }
}

std::vector<double> rounded(const VectorXd& x) {
    std::vector<double> point;
    for (const double number : x) point.push_back(static_cast<float>(number));
    return point;
}

// What depends on the dimension n alone.
struct constants {
    explicit constants(double n) {
        lambda = 4 + static_cast<index_t>(3.0 * std::log(n));
        const index_t mu = lambda / 2;
        weights.resize(mu);
        for (index_t i = 0; i < mu; ++i) {
            weights[i] = std::log((static_cast<double>(lambda) + 1.0) / 2.0) - std::log(static_cast<double>(i) + 1.0);
        }
        weights /= weights.sum();
        mu_effective = 1.0 / weights.squaredNorm();
        c_path = (mu_effective + 2.0) / (n + mu_effective + 5.0);  // (55)
        damping = 1.0 + 2.0 * std::max(0.0, std::sqrt((mu_effective - 1.0) / (n + 1.0)) - 1.0) + c_path;
        c_covariance = (4.0 + mu_effective / n) / (n + 4.0 + 2.0 * mu_effective / n);  // (56)
        c_one = 2.0 / ((n + 1.3) * (n + 1.3) + mu_effective);                          // (57)
        c_mu = std::min(1.0 - c_one, 2.0 * (mu_effective - 2.0 + 1.0 / mu_effective) /
                                         ((n + 2.0) * (n + 2.0) + mu_effective));  // (58)
        expected_norm = std::sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));
    }
    index_t lambda;
    VectorXd weights;  // [mu], their sum is 1
    double mu_effective, c_path, damping, c_covariance, c_one, c_mu, expected_norm;
};

}  // namespace

search_result search_cma_es(const objective& what, const cma_es_options& options, index_t budget) {
    trial_recorder trials(what, budget);
    const auto n = static_cast<index_t>(options.start.size());
    if (n == 0) cordage::fail<cordage::value_error>({"search_cma_es: start must have a number or more"});
    for (index_t i = 0; i < n; ++i) {
        cordage::validate_finite({"search_cma_es: start[", i, "]"}, options.start[static_cast<std::size_t>(i)]);
    }
    cordage::validate_positive({"search_cma_es: step"}, options.step);

    const constants c(static_cast<double>(n));
    const index_t mu = c.weights.size();
    std::mt19937_64 generator(options.seed);
    VectorXd mean = Eigen::Map<const VectorXd>(options.start.data(), n);
    MatrixXd covariance = MatrixXd::Identity(n, n);
    VectorXd sigma_path = VectorXd::Zero(n), covariance_path = VectorXd::Zero(n);
    double sigma = options.step;
    trials.evaluate(rounded(mean));
    for (index_t generation = 1; trials.left() >= c.lambda; ++generation) {
        const Eigen::SelfAdjointEigenSolver<MatrixXd> axes(covariance);
        const VectorXd lengths = axes.eigenvalues().cwiseMax(0.0).cwiseSqrt();
        MatrixXd steps(n, c.lambda);  // in units of sigma
        std::vector<double> losses;
        for (index_t k = 0; k < c.lambda; ++k) {
            VectorXd z(n);
            for (double& number : z) number = draw_normal(generator);
            steps.col(k) = axes.eigenvectors() * lengths.cwiseProduct(z);  // (39)
            losses.push_back(trials.evaluate(rounded(mean + sigma * steps.col(k))).loss);
        }
        std::vector<index_t> order(losses.size());
        std::iota(order.begin(), order.end(), index_t{0});
        std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
            return losses[static_cast<std::size_t>(a)] < losses[static_cast<std::size_t>(b)];
        });
        MatrixXd best(n, mu);
        for (index_t i = 0; i < mu; ++i) best.col(i) = steps.col(order[static_cast<std::size_t>(i)]);
        const VectorXd moved = best * c.weights;  // (41)
        mean += sigma * moved;                    // (42)

        const VectorXd in_axes = axes.eigenvectors().transpose() * moved;
        const VectorXd whitened = axes.eigenvectors() * in_axes.cwiseQuotient(lengths.cwiseMax(1e-150));
        sigma_path =
            (1.0 - c.c_path) * sigma_path + std::sqrt(c.c_path * (2.0 - c.c_path) * c.mu_effective) * whitened;  // (43)
        const double path_length =
            sigma_path.norm() / std::sqrt(1.0 - std::pow(1.0 - c.c_path, 2.0 * static_cast<double>(generation)));
        const bool is_steady = path_length < (1.4 + 2.0 / (static_cast<double>(n) + 1.0)) * c.expected_norm;
        covariance_path *= 1.0 - c.c_covariance;  // (45)
        if (is_steady) {
            covariance_path += std::sqrt(c.c_covariance * (2.0 - c.c_covariance) * c.mu_effective) * moved;
        }
        const double lost = is_steady ? 0.0 : c.c_covariance * (2.0 - c.c_covariance);
        covariance *= 1.0 - c.c_one - c.c_mu + c.c_one * lost;  // (47)
        covariance += c.c_one * covariance_path * covariance_path.transpose();
        covariance += c.c_mu * best * c.weights.asDiagonal() * best.transpose();
        sigma *= std::exp(c.c_path / c.damping * (sigma_path.norm() / c.expected_norm - 1.0));  // (44)
    }
    if (trials.left() > 0) trials.evaluate(rounded(mean));  // what the last generation made of the distribution
    return trials.done();
}

}  // namespace demo
