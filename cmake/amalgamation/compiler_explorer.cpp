// The program of docs/install.md's link: what does a compiler make of rotate_head?
#include <cmath>
#include <cordage/pair/cos_sin.hpp>
#include <cordage/pair/phase.hpp>
#include <cordage/pair/rotate.hpp>
#include <cstdio>

using namespace cordage;
constexpr int pairs = 64;

/// Rotates a head [2*pairs], half_split, at a position up to 2^31. fractions: of a turn a position, in 2^-64.
void rotate_head(float* x, const std::uint64_t* fractions, std::uint64_t position) {
    for (int i = 0; i < pairs; ++i) {
        const auto phase = static_cast<std::uint32_t>((position * fractions[i]) >> 32);  // exact, as products wrap
        const auto y = rotated(cos_sin_of_phase32<float>(phase), lane_pair<float>{x[i], x[i + pairs]});
        x[i] = y.first;
        x[i + pairs] = y.second;
    }
}

int main() {
    std::uint64_t fractions[pairs];
    float x[2 * pairs];
    for (int i = 0; i < pairs; ++i) {
        fractions[i] = turns_of(std::pow(10000.0, -static_cast<double>(i) / pairs)).fraction;
        x[i] = 1.0f, x[i + pairs] = 0.0f;
    }
    rotate_head(x, fractions, 1'000'000);
    std::printf("pair 0: %.7f %.7f\npair 63: %.7f %.7f\n", static_cast<double>(x[0]), static_cast<double>(x[pairs]),
                static_cast<double>(x[pairs - 1]), static_cast<double>(x[2 * pairs - 1]));
}
