// SPDX-License-Identifier: MIT
// What the functions of the register layer return for some numbers: one text for NVRTC and for the host. Included
// behind the one file or the headers.
#pragma once

namespace cordage_test {

struct given_numbers {
    double inv_freq;
    double position;
    std::int64_t whole_position;
    float first, second, grad_first, grad_second;
    float wide;  // within the range of no format
};

/// The same bytes on every processor.
struct exact_results {
    std::uint64_t phase, whole_phase, phase_of_view, phase_of_angle;
    std::uint32_t cos, sin;
    std::uint32_t half, brain, e4m3, e5m2;  // as stored
    float of_half, of_brain, of_e4m3, of_e5m2;
    std::int64_t lanes[4];
    std::uint64_t is_valid;
};

/// Products and sums among them are contracted or not.
struct close_results {
    double cos, sin, cos_of_angle, sin_of_angle;
    float first, second, grad_x_first, grad_x_second, grad_angle, grad_factor;
};

/// For pair `pair` of a basis that is the only one of its view.
CORDAGE_HOST_DEVICE inline exact_results exact_of(const cordage::basis_view& basis, cordage::index_t pair,
                                                  const given_numbers& x) {
    using namespace cordage;
    const position_phases at_position{position_traits<double>::split(x.position), basis.fractions, basis.whole_turns};
    const auto phase = phase_of(turns_of(x.inv_freq), x.position);
    const auto at = cos_sin_of_phase32<float>(static_cast<std::uint32_t>(phase >> 32));
    const float16 half = element_traits<float16>::store(x.wide);
    const bfloat16 brain = element_traits<bfloat16>::store(x.wide);
    const std::uint32_t e4m3 = fp8_bits<fp8_e4m3>(x.wide), e5m2 = fp8_bits<fp8_e5m2>(x.wide);
    return {phase,
            phase_of(turns_of(x.inv_freq), x.whole_position),
            at_position.phase(pair),
            phase_of_angle(x.position),
            lane_traits<float>::bits(at.cos),
            lane_traits<float>::bits(at.sin),
            half.bits,
            brain.bits,
            e4m3,
            e5m2,
            element_traits<float16>::load(half),
            to_float(brain),
            from_fp8_bits<fp8_e4m3, float>(e4m3),
            from_fp8_bits<fp8_e5m2, float>(e5m2),
            {half_split::first(pair, basis.pairs), half_split::second(pair, basis.pairs),
             interleaved::first(pair, basis.pairs), interleaved::second(pair, basis.pairs)},
            position_traits<double>::split(x.position).is_valid && basis.index(0, 0) == 0 ? 1u : 0u};
}

/// As above.
CORDAGE_HOST_DEVICE inline close_results close_of(const given_numbers& x) {
    using namespace cordage;
    const auto phase = phase_of(turns_of(x.inv_freq), x.position);
    const auto exact = cos_sin_of_phase(phase), of_angle = cos_sin_of(x.position);
    const auto at = cos_sin_of_phase32<float>(static_cast<std::uint32_t>(phase >> 32));
    const lane_pair<float> grad{x.grad_first, x.grad_second}, y = rotated(at, lane_pair<float>{x.first, x.second});
    const auto grad_x = rotated(transposed(at), grad);
    return {exact.cos,
            exact.sin,
            of_angle.cos,
            of_angle.sin,
            y.first,
            y.second,
            grad_x.first,
            grad_x.second,
            plus_grad_angle(1.0f, grad, y),
            plus_grad_factor(1.0f, grad, y)};
}

}  // namespace cordage_test
