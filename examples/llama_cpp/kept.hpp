// SPDX-License-Identifier: MIT
// A cache of objects constructed from the arguments of a graph's node, since a node cannot hold objects.
#pragma once

#include <ggml.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "cordage/host/ggml/rope_arguments.hpp"

namespace cordage_llama {

/// The frequency factors of a node, [pairs]; empty for null.
/// @throws cordage::value_error  unless they are F32 in this process's memory
inline std::span<const float> factors(const ggml_tensor* t, const cordage::ggml::rope_arguments& a) {
    if (t == nullptr) return {};
    if (t->type != GGML_TYPE_F32 || t->data == nullptr) {
        cordage::fail<cordage::value_error>({"frequency factors '", t->name, "' must be F32 and in memory"});
    }
    const auto pairs = static_cast<std::size_t>(a.mode == cordage::ggml::vision ? a.n_dims : a.n_dims / 2);
    return {static_cast<const float*>(t->data), std::min(pairs, static_cast<std::size_t>(t->ne[0]))};
}

/// Objects found by arguments, factors and size of the Hadamard transform, kept for the life of the program. A model
/// has a few, shared by all threads.
template <class T>
class kept {
 public:
    /// Returns the stored object, or stores the result of make(). Throws what make throws.
    template <class Make>
    T& of(const cordage::ggml::rope_arguments& a, std::span<const float> factors, cordage::index_t hadamard_size,
          const Make& make) {
        const auto found = [&]() -> T* {
            for (entry& e : entries_) {
                if (e.arguments == a && e.hadamard_size == hadamard_size && std::ranges::equal(e.factors, factors)) {
                    return &e.object;
                }
            }
            return nullptr;
        };
        {
            const std::shared_lock lock(mutex_);
            if (T* const object = found()) return *object;
        }
        const std::unique_lock lock(mutex_);
        if (T* const object = found()) return *object;
        return entries_.emplace_front(entry{a, {factors.begin(), factors.end()}, hadamard_size, make()}).object;
    }

 private:
    struct entry {
        cordage::ggml::rope_arguments arguments;
        std::vector<float> factors;
        cordage::index_t hadamard_size;
        T object;
    };

    std::shared_mutex mutex_;
    std::list<entry> entries_;
};

}  // namespace cordage_llama
