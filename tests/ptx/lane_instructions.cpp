// SPDX-License-Identifier: MIT
#include "ptx/lane_instructions.hpp"

#include "ptx/warp.hpp"

namespace cordage_test::ptx {

namespace {

u32 members_of(const instruction& i, warp& w, int lane) { return get<u32>(w.at(i.operands[members_operand]), lane); }

// A device splits a warp for votes of some lanes, and what follows runs once for each part until the kernel ends.
void check_whole(const instruction& i, warp& w, u32 lanes) {
    const int lane = std::countr_zero(lanes);
    if (lanes == 0 || members_of(i, w, lane) == ~0u) return;
    w.launch->report("vote", i, w, lane, "of part of a warp: its parts run one after the other from here on");
}

// The lane that another one reads, and whether it is within the segment.
struct source {
    int lane;
    bool is_inside;
};
source source_of(char variant, int lane, u32 by, u32 clamp_and_segment) {
    const u32 clamp = clamp_and_segment & 31, segment = clamp_and_segment >> 8 & 31, own = static_cast<u32>(lane);
    const auto last = static_cast<int>((own & segment) | (clamp & ~segment)), first = static_cast<int>(own & segment);
    const auto distance = static_cast<int>(by & 31);
    int from = first | static_cast<int>(by & 31 & ~segment);
    if (variant == 'u') from = lane - distance;
    if (variant == 'd') from = lane + distance;
    if (variant == 'b') from = lane ^ distance;
    const bool is_inside = variant == 'u' ? from >= last : from <= last;
    return {is_inside ? from : lane, is_inside};
}

}  // namespace

void shuffle(const instruction& i, warp& w, u32 lanes) {
    std::array<u32, 32> values;
    std::memcpy(values.data(), w.at(i.operands[1]), sizeof(values));
    for_each_lane(lanes, [&](int lane) {
        const source from =
            source_of(i.variant, lane, get<u32>(w.at(i.operands[2]), lane), get<u32>(w.at(i.operands[3]), lane));
        if ((members_of(i, w, lane) & lanes & 1u << from.lane) == 0) {
            w.launch->report("shuffle", i, w, lane,
                             "lane " + std::to_string(lane) + " reads lane " + std::to_string(from.lane) +
                                 ", which does not take part");
        }
        put(w.at(i.operands[0]), lane, values[static_cast<std::size_t>(from.lane)]);
        if (i.operands[second_result] == no_operand) return;
        set_bits(w.predicates[i.operands[second_result]], 1u << lane, from.is_inside ? ~0u : 0);
    });
}

void vote(const instruction& i, warp& w, u32 lanes) {
    check_whole(i, w, lanes);
    const u32 votes = i.is_inverted ? ~w.predicates[i.operands[1]] : w.predicates[i.operands[1]];
    u32 result = 0;
    for_each_lane(lanes, [&](int lane) {
        const u32 members = members_of(i, w, lane) & lanes, set = votes & members;
        bool is_true = set == members;
        if (i.variant == 'y') is_true = set != 0;
        if (i.variant == 'u') is_true = set == members || set == 0;
        result |= u32{is_true} << lane;
        if (i.variant == 'b') put(w.at(i.operands[0]), lane, set);
    });
    if (i.variant != 'b') set_bits(w.predicates[i.operands[0]], lanes, result);
}

void match(const instruction& i, warp& w, u32 lanes) {
    check_whole(i, w, lanes);
    const std::byte* const values = w.at(i.operands[1]);
    for_each_lane(lanes, [&](int lane) {
        const u32 members = members_of(i, w, lane) & lanes;
        u32 equal = 0;
        for_each_lane(members, [&](int other) {
            const bool is_equal = get_bits(values, other, i.widths[1]) == get_bits(values, lane, i.widths[1]);
            equal |= u32{is_equal} << other;
        });
        const bool is_all = equal == members;
        put(w.at(i.operands[0]), lane, i.variant == 'y' || is_all ? equal : 0u);
        if (i.operands[second_result] == no_operand) return;
        set_bits(w.predicates[i.operands[second_result]], 1u << lane, is_all ? ~0u : 0);
    });
}

void warp_barrier(const instruction& i, warp& w, u32 lanes) {
    for (u32 left = lanes; left != 0;) {  // several teams may be here, each with its own mask
        const u32 members = members_of(i, w, std::countr_zero(left)) & lanes;
        w.launch->shared.warp_barrier(w.first_thread, members);
        left &= ~members & (left - 1);
    }
}

void active_mask(const instruction& i, warp& w, u32 lanes) {
    for_each_lane(lanes, [&](int lane) { put(w.at(i.operands[0]), lane, lanes); });
}

}  // namespace cordage_test::ptx
