// SPDX-License-Identifier: MIT
// A cache of bases copied to a GPU; serves rotation.cuh.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "cordage/basis/basis.hpp"

namespace cordage::aten::detail {

/// The device words of the most recently used bases, with their numbers as key, so that modifying a tensor of
/// frequencies in place selects another entry. Thread-safe.
class device_bases {
 public:
    /// @param most  number of bases to keep, besides those that must stay
    explicit device_bases(std::size_t most = 64) : most_(most) {}

    /// The words of a basis on a device: cached ones, or the result of upload.
    ///
    /// @param must_stay  never evict these words, since a captured graph reads them whenever it runs
    /// @param upload     upload(basis) returns a tensor with its device_words on the device, ready to be read
    /// @throws value_error  as basis
    template <class Upload>
    at::Tensor words_of(std::span<const double> inv_freq, double attention_factor, const at::Device& device,
                        bool must_stay, const Upload& upload) {
        std::vector<std::uint64_t> bits{std::bit_cast<std::uint64_t>(attention_factor)};
        for (const double each : inv_freq) bits.push_back(std::bit_cast<std::uint64_t>(each));
        const std::lock_guard only(mutex_);
        auto found =
            std::ranges::find_if(kept_, [&](const entry& each) { return each.device == device && each.bits == bits; });
        if (found == kept_.end()) {
            const basis b({inv_freq.begin(), inv_freq.end()}, attention_factor);
            kept_.push_front({std::move(bits), device, upload(b)});
            found = kept_.begin();
            forget_oldest();
        }
        kept_.splice(kept_.begin(), kept_, found);  // most recently used first
        found->must_stay |= must_stay;
        return found->words;
    }

 private:
    struct entry {
        std::vector<std::uint64_t> bits;  // of attention_factor and inv_freq
        at::Device device;
        at::Tensor words;
        bool must_stay = false;
    };

    void forget_oldest() {
        std::size_t others = 0;
        kept_.remove_if([&](const entry& each) { return !each.must_stay && ++others > most_; });
    }

    std::size_t most_;
    std::mutex mutex_;
    std::list<entry> kept_;  // most recently used first
};

}  // namespace cordage::aten::detail
