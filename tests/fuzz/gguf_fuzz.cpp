// SPDX-License-Identifier: MIT
// Any bytes as a GGUF file: its metadata and tensors are read and are the rules of a model, strictly and leniently, or
// refused with an error of the library's own, in time linear in the bytes.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/checkpoint/gguf_ropes.hpp"
#include "run_counter.hpp"
#include "time_limit.hpp"

namespace {

void use(const cordage::hf::model_ropes& model) {
    fuzz::expect(!model.ropes.empty() || model.layers.empty(), "layers have rules");
    for (cordage::index_t i = 0; i < std::ssize(model.layers); ++i) model.at(i);
    for (const auto& rope : model.ropes) {
        const cordage::rope_scaling served(rope.config, rope.policy, rope.schedule);
        for (const double length : {1.0, rope.config.original_length, 1e7}) {
            try {
                served.at_length(length);
            } catch (const cordage::value_error&) {  // factors whose product overflows
            }
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter runs("are models");
    const fuzz::time_limit limit(size);
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    try {
        const cordage::gguf_file file(std::make_unique<std::istringstream>(bytes));
        for (const auto& [name, tensor] : file.tensors()) {
            try {
                fuzz::expect(file.values(name).size() <= size, "a tensor lies within the file");
            } catch (const cordage::value_error&) {
            }
        }
        for (const bool lenient : {false, true}) {
            try {
                const auto model = cordage::hf::read_gguf(file, {.lenient = lenient});
                use(model);
                fuzz::expect(!describe(model).empty(), "a model has words");
                runs.passed();
            } catch (const cordage::error&) {
                runs.refused();
            }
        }
    } catch (const cordage::value_error&) {
        runs.refused();
    }
    return 0;
}
