// SPDX-License-Identifier: MIT
// A schedule chosen at run time, over the same schedules; last file of the stage sequence length -> t.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

#include "cordage/schedule/schedule.hpp"

namespace cordage {

/// Holds any length schedule as one value type that is a length schedule itself. Copies share it.
class any_schedule {
 public:
    template <length_schedule Schedule>
    requires(!std::same_as<Schedule, any_schedule>) any_schedule(Schedule schedule) {
        const auto held = std::make_shared<const Schedule>(std::move(schedule));
        ratio_ = [held](const rope_config& c, double seq_len) { return held->ratio(c, seq_len); };
        validate_ = [held] { validate_schedule(*held); };
    }

    double ratio(const rope_config& c, double seq_len) const { return ratio_(c, seq_len); }
    void validate() const { validate_(); }

 private:
    std::function<double(const rope_config&, double)> ratio_;
    std::function<void()> validate_;
};
static_assert(length_schedule<any_schedule>);

}  // namespace cordage
