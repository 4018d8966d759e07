// SPDX-License-Identifier: MIT
// The sizes of a Llama decoder and its rotary embedding, from the metadata of a GGUF file. Without libtorch.
#pragma once

#include <stdexcept>

#include "cordage/core/config.hpp"
#include "smollm2/gguf.hpp"

namespace demo {

struct llama_config {
    index_t layers, heads, kv_heads, width, hidden, vocabulary;
    cordage::rope_config rope;
};

/// @throws std::runtime_error  if the file's model is another or its sizes do not fit together
inline llama_config config_of(const gguf_file& file) {
    if (file.text("general.architecture") != "llama") throw std::runtime_error("gguf: the model is no Llama decoder");
    llama_config c{file.count("llama.block_count"),
                   file.count("llama.attention.head_count"),
                   file.count("llama.attention.head_count_kv"),
                   file.count("llama.embedding_length"),
                   file.count("llama.feed_forward_length"),
                   file.count("llama.vocab_size"),
                   {}};
    if (c.width % c.heads != 0 || c.heads % c.kv_heads != 0) throw std::runtime_error("gguf: heads do not divide");
    c.rope = {c.width / c.heads, file.count("llama.rope.dimension_count"), file.number("llama.rope.freq_base"),
              file.number("llama.context_length")};
    cordage::validate(c.rope);
    return c;
}

}  // namespace demo
