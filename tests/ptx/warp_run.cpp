// SPDX-License-Identifier: MIT
#include "ptx/warp_run.hpp"

#include <algorithm>

namespace cordage_test::ptx {

namespace {

void set_next(warp& w, u32 lanes, u32 instruction_number) {
    for_each_lane(lanes, [&](int lane) { w.next[static_cast<std::size_t>(lane)] = instruction_number; });
}

// Lanes that are at the same instruction, and the instruction at which others wait.
struct group {
    u32 lanes = 0;
    u32 at = ~0u;
    u32 others_at = ~0u;
};
group next_group(const warp& w) {
    const u32 ready = w.alive & ~w.at_barrier & ~w.held;
    group g;
    for_each_lane(ready, [&](int lane) { g.at = std::min(g.at, w.next[static_cast<std::size_t>(lane)]); });
    for_each_lane(ready, [&](int lane) {
        const u32 at = w.next[static_cast<std::size_t>(lane)];
        if (at == g.at) g.lanes |= 1u << lane;
        if (at != g.at) g.others_at = std::min(g.others_at, at);
    });
    return g;
}

class runner {
 public:
    runner(warp& w, u64 most_steps) : w_(w), code_(w.launch->kernel.code.data()), most_steps_(most_steps) {}

    void run() {
        while (true) {
            group_ = next_group(w_);
            if (group_.lanes == 0) {
                if ((w_.held & w_.alive) == 0) return;
                w_.held = 0;
                w_.is_stuck = true;
                continue;
            }
            while (group_.lanes != 0 && group_.at < group_.others_at) step(code_[group_.at]);
            set_next(w_, group_.lanes, group_.at);
            release_held();
        }
    }

 private:
    void step(const instruction& i) {
        u32 lanes = group_.lanes;
        if (i.guard != no_operand) lanes &= i.is_negated ? ~w_.predicates[i.guard] : w_.predicates[i.guard];
        ++steps_;
        ++group_.at;
        switch (i.kind) {
            case flow::plain:
                if (lanes != 0) i.run(i, w_, lanes);
                break;
            case flow::branch:
                branch(i, lanes);
                break;
            case flow::trap:
                if (lanes != 0) w_.launch->report("trap", i, w_, std::countr_zero(lanes), "the kernel ends itself");
                [[fallthrough]];
            case flow::exit:
                w_.alive &= ~lanes;
                group_.lanes &= ~lanes;
                break;
            case flow::barrier:
                w_.at_barrier |= lanes;
                set_next(w_, lanes, group_.at);
                for_each_lane(lanes, [&](int lane) { w_.barrier[static_cast<std::size_t>(lane)] = i.number; });
                group_.lanes &= ~lanes;
                break;
            case flow::together:
                together(i, lanes);
                break;
        }
    }

    void branch(const instruction& i, u32 lanes) {
        if (lanes != 0 && i.target <= i.number && steps_ > most_steps_) {
            w_.launch->report("endless", i, w_, std::countr_zero(lanes), "a warp does not come to an end");
            w_.alive &= ~group_.lanes;
            group_.lanes = 0;
        } else if (lanes == group_.lanes) {
            group_.at = i.target;
        } else if (lanes != 0) {
            set_next(w_, lanes, i.target);
            set_next(w_, group_.lanes & ~lanes, group_.at);
            group_.lanes = 0;
        }
    }

    // Lanes whose members are not all here are held until they are.
    void together(const instruction& i, u32 lanes) {
        u32 early = 0;
        for_each_lane(lanes, [&](int lane) {
            const u32 members = get<u32>(w_.at(i.operands[members_operand]), lane);
            if ((members >> lane & 1) == 0)
                w_.launch->report("shuffle", i, w_, lane, "a lane is not in its mask of members");
            if ((members & w_.alive & ~lanes) != 0) early |= 1u << lane;
        });
        if (early != 0 && w_.is_stuck) {
            w_.launch->report("shuffle", i, w_, std::countr_zero(early),
                              "lanes of the mask of members do not come here");
            early = 0;
        }
        w_.is_stuck = false;
        if ((lanes & ~early) != 0) i.run(i, w_, lanes & ~early);
        if (early == 0) return;
        w_.held |= early;
        set_next(w_, early, i.number);
        set_next(w_, group_.lanes & ~early, group_.at);
        group_.lanes = 0;
    }

    // Lanes that are held go on with those that have come to their instruction.
    void release_held() {
        const u32 ready = w_.alive & ~w_.at_barrier & ~w_.held;
        for_each_lane(w_.held, [&](int lane) {
            for_each_lane(ready, [&](int other) {
                if (w_.next[static_cast<std::size_t>(other)] == w_.next[static_cast<std::size_t>(lane)])
                    w_.held &= ~(1u << lane);
            });
        });
    }

    warp& w_;
    const instruction* code_;
    u64 most_steps_;
    u64 steps_ = 0;
    group group_;
};

}  // namespace

void run_warp(warp& w, u64 most_steps) { runner(w, most_steps).run(); }

}  // namespace cordage_test::ptx
