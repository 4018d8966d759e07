// SPDX-License-Identifier: MIT
#include "rotate/random_angles.hpp"

#include "cordage/rotate/cos_sin_table.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

template <position_type P>
using float32 = angles_of_positions<float32_angles<P>, P>;

template <class Real>
struct table {
    template <class F>
    static void with(draw& d, const F& f) {
        exact<std::int32_t>::with(d, [&](const auto& angles, index_t batch) {
            const cos_sin_table<Real> made(angles);
            cos_sin_view<Real> view = made.view();
            const index_t size = angles.batch() * angles.tokens() * angles.pairs();
            const auto moved = [&](std::size_t role, const Real* from) {
                const std::span<Real> to = guarded_numbers<Real>(d, role, size);
                std::copy_n(from, size, to.data());
                return to.data();
            };
            view.cos_data = moved(9, view.cos_data);
            view.sin_data = moved(10, view.sin_data);
            f(view, batch);
        });
    }
};

// Every source with one pairing and type, since exact<int32> is tested with all.
template <class T, class Pairing, class Kind>
void check_angles(unsigned seed) {
    for_each_vector_kernel([seed]<class P, class Backend>(P, Backend) {
        if constexpr (std::same_as<P, Pairing>) check_cases<Pairing, Backend, T, Kind>(seed, 120);
    });
}

}  // namespace

TEST_CASE("rotate/random: positions of every type") {
    check_angles<float, half_split, exact<std::int64_t>>(11);
    check_angles<bfloat16, interleaved, exact<float>>(12);
    check_angles<float, interleaved, exact<double>>(13);
    check_angles<float16, half_split, float32<std::int32_t>>(14);
}
TEST_CASE("rotate/random: positions of several axes, and a basis for every row or every token") {
    check_angles<float, half_split, axes3<std::int32_t>>(15);
    check_angles<bfloat16, interleaved, axes3<double>>(16);
    check_angles<bfloat16, interleaved, rows_of_axes<double>>(23);
    check_angles<float, interleaved, rows_of_bases<std::int32_t>>(17);
    check_angles<double, half_split, rows_of_bases<double>>(18);
    check_angles<float, interleaved, tokens_of_bases<std::int32_t>>(24);
    check_angles<double, half_split, tokens_of_bases<double>>(25);
}
TEST_CASE("rotate/random: differences of angles") { check_angles<float, half_split, differences<double>>(26); }
TEST_CASE("rotate/random: tables, of the type that is computed in and of the other") {
    check_angles<float, half_split, table<float>>(19);
    check_angles<float16, interleaved, table<float>>(20);
    check_angles<double, interleaved, table<double>>(21);
    check_angles<float, interleaved, table<double>>(22);
}
