// SPDX-License-Identifier: MIT
// CLEX as called by the comparison with other packages: the correct z, and the gradient of the given loss.
#include "../../benchmarks/peers/clex_peer.cpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

constexpr std::int64_t pairs = 3, hidden = 4, t_max = 3;

// A loss sum(grad_z * z) of small weights.
struct problem {
    std::vector<double> up, down, grad_z, z, gradient;
    clex_case c;

    explicit problem(double step_size) : z(pairs * t_max), gradient(2 * pairs * hidden) {
        for (int i = 0; i < pairs * hidden; ++i) up.push_back(0.2 * std::sin(1.0 + i));
        for (int i = 0; i < pairs * hidden; ++i) down.push_back(0.1 * std::cos(2.0 * i));
        for (int i = 0; i < pairs * t_max; ++i) grad_z.push_back(std::sin(3.0 * i));
        c = {pairs, hidden, t_max, 0, step_size, 1e-12, up.data(), down.data(), grad_z.data()};
    }
    double loss() {
        REQUIRE(cordage_clex(&c, 1, z.data(), gradient.data()) == 0);
        double sum = 0.0;
        for (std::size_t i = 0; i < z.size(); ++i) sum += grad_z[i] * z[i];
        return sum;
    }
};

TEST_CASE("peers/clex_peer: in float the result is that of double") {
    problem in_double(0.01), in_float(0.01);
    in_float.c.in_float = 1;
    in_double.loss();
    in_float.loss();
    for (std::size_t i = 0; i < in_float.z.size(); ++i) {
        CHECK(in_float.z[i] == doctest::Approx(in_double.z[i]).epsilon(1e-5));
    }
    CHECK(in_float.z != in_double.z);
}

TEST_CASE("peers/clex_peer: z begins at log theta, and both solvers find the same z") {
    problem fixed(0.01), adaptive(0.0);
    fixed.loss();
    adaptive.loss();
    for (std::size_t i = 0; i < fixed.z.size(); ++i) {
        if (i < pairs) CHECK(fixed.z[i] == doctest::Approx(-static_cast<double>(i) / pairs * std::log(10000.0)));
        CHECK(fixed.z[i] == doctest::Approx(adaptive.z[i]).epsilon(1e-8));
    }
    CHECK(std::fabs(fixed.z.back() - fixed.z[pairs - 1]) > 0.1);
}

TEST_CASE("peers/clex_peer: the gradient is that of the sum of grad_z z to up, then down") {
    problem p(0.05);
    p.loss();
    const std::vector<double> gradient = p.gradient;
    constexpr double h = 1e-5;
    for (std::vector<double>* weights : {&p.up, &p.down}) {
        for (std::size_t i = 0; i < weights->size(); ++i) {
            double& weight = (*weights)[i];
            const double before = weight;
            weight = before + h;
            const double above = p.loss();
            weight = before - h;
            const double below = p.loss();
            weight = before;
            const double found = gradient[i + (weights == &p.down ? weights->size() : 0)];
            CHECK(found == doctest::Approx((above - below) / (2.0 * h)).epsilon(1e-6).scale(1.0));
        }
    }
}

TEST_CASE("peers/clex_peer: an unsupported case is a status, not an exception") {
    problem p(0.01);
    p.c.hidden = 0;
    CHECK(cordage_clex(&p.c, 1, p.z.data(), p.gradient.data()) == 1);
}

}  // namespace
