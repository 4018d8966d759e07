// SPDX-License-Identifier: MIT
// Any bytes as a config.json: they are read, strictly and leniently, or refused with an error of the library's own.
// What is read has finite bases at every length, and words; a tower has positions of a grid, a way of counting has
// those of a prompt with an image and a video.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/multimodal.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/models/config/tower.hpp"
#include "time_limit.hpp"

namespace {

void use(const cordage::hf::model_ropes& model) {
    if (model.ropes.empty()) std::abort();
    if (cordage::hf::describe(model).empty()) std::abort();
    for (const auto& rope : model.ropes) {
        const cordage::rope_scaling served(rope.config, rope.policy, rope.schedule);
        for (const double length : {1.0, rope.config.original_length, 1e7}) {
            if (!(served.ratio(length) >= 1.0)) std::abort();
            try {
                served.at_length(length);
            } catch (const cordage::value_error&) {  // factors whose product overflows
            }
        }
    }
}

void use(const cordage::hf::tower_rope& tower) {
    if (2 * tower.basis.pairs() > tower.head_dim || describe(tower).empty()) std::abort();
    if (tower.axis_of_pair.size() != static_cast<std::size_t>(tower.basis.pairs())) std::abort();
    if (tower.grid.tokens_before > 1000) return;
    constexpr cordage::patch_grid grid{.frames = 2, .rows = 4, .columns = 6};
    try {
        const auto positions = cordage::grid_positions(tower.grid, {&grid, 1});
        const cordage::index_t others = tower.grid.tokens_before + tower.grid.tokens_after;
        if (std::ssize(positions) != (48 + others) * tower.grid.axes) std::abort();
    } catch (const cordage::value_error&) {  // partial blocks
    }
}

void use(const cordage::multimodal_rule& rule) {
    try {
        cordage::multimodal_positions<float> positions(rule);
        positions.text(3);
        positions.image({.rows = 4, .columns = 12});
        positions.video({.frames = 4, .rows = 4, .columns = 8}, 0.5);
        positions.text(2);
        const auto tokens = positions.tokens();
        if (tokens < 5 || positions.view(0, tokens).axes != rule.axes) std::abort();
    } catch (const cordage::value_error&) {  // blocks that are not whole, positions that no float holds
    }
}

void read_all(std::string_view text) {
    for (const bool lenient : {false, true}) {
        try {
            use(cordage::hf::read_config(text, {.lenient = lenient, .dictionary_is_callers = lenient}));
        } catch (const cordage::error&) {
        }
        try {
            use(cordage::hf::read_tower(text, {.lenient = lenient}));
        } catch (const cordage::error&) {
        }
    }
    try {
        use(cordage::hf::read_multimodal_rule(text));
    } catch (const cordage::error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    {
        const fuzz::time_limit limit(size);
        read_all(text);
    }
    fuzz::grows_linearly(text, read_all);
    return 0;
}
