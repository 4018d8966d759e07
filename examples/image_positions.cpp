// SPDX-License-Identifier: MIT
// A prompt with an image: M-RoPE gives every token a time, a row and a column, and each pair is rotated by one of them.
// For text, with the same number on all three, the result is that of plain RoPE.
#include <cmath>
#include <cordage/cordage.hpp>
#include <cstdio>
#include <vector>

int main() {
    const cordage::rope_config model{.head_dim = 128, .rotary_dim = 128, .theta_base = 5e6, .original_length = 32768};
    const cordage::basis basis = cordage::make_basis(model, cordage::unscaled{}, 1.0);
    // Two tokens of text, an image of 2 x 3 patches, one more token of text: [3 axes, 9 tokens].
    const std::vector<int> position_ids{0, 1, 2, 2, 2, 2, 2, 2, 5,   // time
                                        0, 1, 2, 2, 2, 3, 3, 3, 5,   // row
                                        0, 1, 2, 3, 4, 2, 3, 4, 5};  // column
    std::vector<float> q(std::size_t{9} * 4 * 128, 1.0f), plain = q;
    const cordage::heads_shape shape{.tokens = 9, .heads = 4, .head_dim = 128};

    // [image_positions]
    const auto axis_of_pair = cordage::interleaved_axes({24, 20, 20});  // Qwen3-VL's; contiguous_axes for Qwen2-VL's
    const cordage::axis_angles angles(basis, axis_of_pair, cordage::axis_major(position_ids.data(), 3, 1, 9));
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(cordage::token_major(q.data(), shape)));
    // [/image_positions]

    const std::vector<int> text_ids{0, 1, 2, 2, 2, 2, 2, 2, 5};
    cordage::rotate_forward<cordage::half_split>(cordage::exact_angles(basis, text_ids),
                                                 cordage::in_place(cordage::token_major(plain.data(), shape)));
    std::size_t same = 0;
    for (std::size_t token = 0; token < 9; ++token) {
        bool equal = true;
        for (std::size_t i = 0; i < 512; ++i)
            equal = equal && std::abs(q[token * 512 + i] - plain[token * 512 + i]) < 1e-6f;
        same += equal ? 1 : 0;
    }
    std::printf("%zu of 9 tokens are rotated as plain RoPE rotates them\n", same);
    return same == 4 ? 0 : 1;  // the text, and the first patch, whose three numbers are also equal
}
