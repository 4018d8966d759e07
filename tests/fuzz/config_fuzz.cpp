// SPDX-License-Identifier: MIT
// Any bytes as a config.json: they are read, strictly and leniently, or refused with an error of the library's own.
// What is read has finite bases at every length, and words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/config/read.hpp"

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
            } catch (const cordage::value_error&) {  // factors whose product no double holds
            }
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const bool lenient : {false, true}) {
        try {
            use(cordage::hf::read_config(text, {.lenient = lenient}));
        } catch (const cordage::error&) {
        }
    }
    return 0;
}
