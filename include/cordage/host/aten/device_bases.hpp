// SPDX-License-Identifier: MIT
// Bases that were brought to a GPU, kept for the calls to come; serves rotation.cuh.
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

/// The words on their devices of the bases that were last asked for, found by their numbers: a tensor of the same
/// numbers finds them, and one that was written to does not. Safe from several threads.
class device_bases {
 public:
    /// @param most  how many to keep, beside those that must stay
    explicit device_bases(std::size_t most = 64) : most_(most) {}

    /// The words of a basis on a device: those of an earlier call, or what upload makes of them.
    ///
    /// @param must_stay  never to be forgotten, as a captured graph will read them each time that it is run
    /// @param upload     upload(std::vector<std::uint64_t>) is a tensor with these words on the device, ready to be
    /// read
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
        kept_.splice(kept_.begin(), kept_, found);  // the last that was asked for comes first
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
    std::list<entry> kept_;  // the last that was asked for comes first
};

}  // namespace cordage::aten::detail
