// SPDX-License-Identifier: MIT
// The figures of docs/cache_path.md for keys that move many times: rounded at each move, or moved from a stored copy.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "cordage/kernels.hpp"
#include "cordage/tensors/hadamard.hpp"

using namespace cordage;

namespace {

constexpr heads_shape shape{1, 32, 4, 128};
constexpr std::size_t lanes = 32 * 4 * 128, key_heads = 32 * 4;

// Errors relative to the root mean square of the keys, after so many moves by -1.
struct figures {
    double once, after_20, after_1000;  // after 1000: at least
};

// @param format_of  the format whose computed scales lie at a pointer
template <class T, class FormatOf>
void check_moves(const figures& each_time, double from_stored, const FormatOf& format_of) {
    using format = decltype(format_of(nullptr));
    struct keys {
        std::vector<T> elements = std::vector<T>(lanes / lanes_of_element<format>);
        std::vector<float> scales = std::vector<float>(key_heads);
    };
    const auto view = [&](keys& all) { return token_major(all.elements.data(), shape, format_of(all.scales.data())); };
    std::vector<double> theta;
    for (int i = 0; i < 64; ++i) theta.push_back(std::pow(10000.0, -i / 64.0));
    const basis b(theta);
    const auto ids_after = [](int moves) {
        std::vector<std::int32_t> ids;
        for (std::int32_t i = 0; i < shape.tokens; ++i) ids.push_back(5000 + i - moves);
        return ids;
    };
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> x(lanes);
    for (float& value : x) value = normal(random);

    keys stored, moved, from;
    const std::vector<std::int32_t> stored_ids = ids_after(0);
    rotate_forward<half_split>(exact_angles(b, stored_ids), from_to(token_major(x.data(), shape), view(stored)));
    moved = stored;
    const auto error = [&](keys& found, const std::vector<std::int32_t>& ids) {
        std::vector<double> wanted(x.begin(), x.end());
        std::vector<float> values(lanes);
        rotate_forward<half_split>(exact_angles(b, ids), in_place(token_major(wanted.data(), shape)));
        rotate_forward<half_split>(exact_angles(b, ids),
                                   from_to(view(found), token_major(values.data(), shape)).unrotated());
        double difference = 0.0, all = 0.0;
        for (std::size_t i = 0; i < lanes; ++i) {
            difference += (static_cast<double>(values[i]) - wanted[i]) * (static_cast<double>(values[i]) - wanted[i]);
            all += wanted[i] * wanted[i];
        }
        return std::sqrt(difference / all);
    };
    for (int moves = 1; moves <= 1000; ++moves) {
        const std::vector<std::int32_t> ids = ids_after(moves), before = ids_after(moves - 1);
        rebase<half_split>(exact_angles(b, ids) - exact_angles(b, before), in_place(view(moved)));
        if (moves != 1 && moves != 20 && moves != 1000) continue;
        rebase<half_split>(exact_angles(b, ids) - exact_angles(b, stored_ids), from_to(view(stored), view(from)));
        CAPTURE(moves);
        const double in_place = error(moved, ids);
        if (moves == 1) CHECK(in_place == doctest::Approx(each_time.once).epsilon(0.1));
        if (moves == 20) CHECK(in_place == doctest::Approx(each_time.after_20).epsilon(0.1));
        if (moves == 1000) CHECK(in_place > 0.9 * each_time.after_1000);
        CHECK(error(from, ids) < from_stored);
    }
}

}  // namespace

TEST_CASE("rotate/stored_moves: keys moved from a stored copy are rounded once, after any number of moves") {
    check_moves<q8_0_block>({0.0069, 0.044, 0.90}, 0.0079, [](float*) { return q8_0{}; });
    check_moves<q8_0_block>({0.0075, 0.024, 0.17}, 0.0079, [](float*) { return hadamard<q8_0>{.size = 128}; });
    const auto with_scales = []<class T>(T) {
        return [](float* scales) { return scaled_bytes<T>{.scales = {scales, key_heads, shape.heads, 1}}; };
    };
    check_moves<std::int8_t>({0.0086, 0.049, 1.0}, 0.0096, with_scales(std::int8_t{}));
    check_moves<fp8_e4m3>({0.0325, 0.149, 1e3}, 0.038, with_scales(fp8_e4m3{}));
    check_moves<bfloat16>({0.0022, 0.0147, 0.53}, 0.0025, [](float*) { return element_traits<bfloat16>{}; });
}
