// SPDX-License-Identifier: MIT
// The sizes of a Llama decoder and its rotary embedding, from the metadata of a GGUF file. Without libtorch.
#pragma once

#include <initializer_list>

#include "cordage/core/config.hpp"
#include "smollm2/gguf.hpp"

namespace demo {

struct llama_config {
    index_t layers, heads, kv_heads, width, hidden, vocabulary;
    cordage::rope_config rope;
    double epsilon;  ///< of the norms
};

/// @throws cordage::value_error  if the file's model is another or its sizes do not fit together
inline llama_config config_of(const cordage::gguf_file& file) {
    const auto refuse = [](std::initializer_list<cordage::message_part> why) {
        cordage::fail<cordage::value_error>({"gguf: ", cordage::joined(why)});
    };
    const auto architecture = file.texts().find("general.architecture");
    if (architecture == file.texts().end() || architecture->second != "llama") {
        refuse({"general.architecture must be 'llama'"});
    }
    const auto number = [&](const char* key) {
        const auto found = file.number(key);
        if (!found) refuse({key, " must be given"});
        return *found;
    };
    const auto count = [&](const char* key) {
        number(key);
        return *file.count(key);
    };
    llama_config c{count("llama.block_count"),
                   count("llama.attention.head_count"),
                   count("llama.attention.head_count_kv"),
                   count("llama.embedding_length"),
                   count("llama.feed_forward_length"),
                   count("llama.vocab_size"),
                   {},
                   number("llama.attention.layer_norm_rms_epsilon")};
    if (c.width % c.heads != 0 || c.heads % c.kv_heads != 0) refuse({"heads must divide the width"});
    c.rope = {c.width / c.heads, count("llama.rope.dimension_count"), number("llama.rope.freq_base"),
              number("llama.context_length")};
    cordage::validate(c.rope);
    return c;
}

}  // namespace demo
