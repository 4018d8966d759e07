// SPDX-License-Identifier: MIT
// Wraps a class that holds q and k as an entry of the C interface; serves the libraries of the comparison.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>
#include <xsimd/xsimd.hpp>

#include "cordage/pair/format.hpp"
#include "peer_abi.hpp"

namespace cordage::peers {

/// The tensors of one case, aligned to cache lines as torch's.
template <class T>
class tensors {
 public:
    explicit tensors(const rope_case& c)
        : q_(static_cast<std::size_t>(c.tokens * c.heads * c.head_dim)),
          k_(static_cast<std::size_t>(c.tokens * c.kv_heads * c.head_dim)) {}

    void load(const void* q, const void* k) {
        std::copy_n(static_cast<const T*>(q), q_.size(), q_.data());
        if (k != nullptr) std::copy_n(static_cast<const T*>(k), k_.size(), k_.data());
    }
    void store(void* q, void* k) const {
        std::copy_n(q_.data(), q_.size(), static_cast<T*>(q));
        if (k != nullptr) std::copy_n(k_.data(), k_.size(), static_cast<T*>(k));
    }

 protected:
    std::vector<T, xsimd::aligned_allocator<T, 64>> q_, k_;
};

/// The result of setup, for any element type.
class prepared {
 public:
    virtual ~prepared() = default;
    virtual void load(const void* q, const void* k) = 0;
    virtual void run(std::int64_t repeats) = 0;
    virtual void store(void* q, void* k) const = 0;
};

/// Kernel<T> is constructed from a rope_case, and has load, store and operator() for one run.
template <class Kernel>
class prepared_as final : public prepared {
 public:
    explicit prepared_as(const rope_case& c) : kernel_(c) {}
    void load(const void* q, const void* k) override { kernel_.load(q, k); }
    void run(std::int64_t repeats) override {
        while (repeats-- > 0) kernel_();
    }
    void store(void* q, void* k) const override { kernel_.store(q, k); }

 private:
    Kernel kernel_;
};

template <template <class> class Kernel>
prepared* prepare(const rope_case& c) {
    switch (c.dtype) {
        case rope_fp32:
            return new prepared_as<Kernel<float>>(c);
        case rope_fp16:
            return new prepared_as<Kernel<float16>>(c);
        case rope_bf16:
            return new prepared_as<Kernel<bfloat16>>(c);
        default:
            return nullptr;
    }
}

/// The entry of the C interface that sets up Kernel for the case's element type.
template <template <class> class Kernel>
constexpr rope_peer entry(const char* name, rope_style style) {
    return {.name = name,
            .style = style,
            .passes = 2,
            .setup = [](const rope_case* c) noexcept -> void* {
                try {
                    return prepare<Kernel>(*c);
                } catch (...) {  // no exception may cross a C interface: the case is not supported
                    return nullptr;
                }
            },
            .load = [](void* self, const void* q, const void* k) { static_cast<prepared*>(self)->load(q, k); },
            .run = [](void* self, std::int64_t repeats) { static_cast<prepared*>(self)->run(repeats); },
            .store = [](void* self, void* q, void* k) { static_cast<prepared*>(self)->store(q, k); },
            .release = [](void* self) { delete static_cast<prepared*>(self); }};
}

}  // namespace cordage::peers
