// SPDX-License-Identifier: MIT
#include "ptx/decoder.hpp"
#include "ptx/lane_instructions.hpp"

namespace cordage_test::ptx {

bool decode_between_lanes(instruction& i, const instruction_text& p, kernel_names& names) {
    const auto at = [&](std::size_t which, u8 width) { return names.operand(p.operands[which], width, p.line); };
    i.kind = flow::together;
    if (p.opcode == "bar.warp.sync") {
        p.need_operands(1, 1);
        i.run = warp_barrier;
        i.operands[members_operand] = at(0, 4);
        return true;
    }
    if (p.kind() == "shfl" && p.has("sync")) {
        p.need_operands(5, 5);
        const std::vector<std::string> results = split(p.operands[0], '|');
        i.run = shuffle;
        i.variant = p.one_of({"up", "down", "bfly", "idx"})[0];
        i.operands[0] = names.operand(results[0], 4, p.line);
        if (results.size() == 2) i.operands[second_result] = names.predicate(results[1], p.line);
        for (std::size_t k = 1; k < 5; ++k) i.operands[k] = at(k, 4);
        return true;
    }
    if (p.kind() == "vote" && p.has("sync")) {
        p.need_operands(3, 3);
        const std::string mode = p.one_of({"all", "any", "uni", "ballot"});
        i.run = vote;
        i.variant = mode == "any" ? 'y' : mode[0];
        i.is_inverted = p.operands[1].starts_with('!');
        i.operands[0] = mode == "ballot" ? at(0, 4) : names.predicate(p.operands[0], p.line);
        i.operands[1] = names.predicate(p.operands[1].substr(i.is_inverted ? 1 : 0), p.line);
        i.operands[members_operand] = at(2, 4);
        return true;
    }
    if (p.kind() == "match" && p.has("sync")) {
        p.need_operands(3, 3);
        const std::vector<std::string> results = split(p.operands[0], '|');
        i.run = match;
        i.variant = p.has("any") ? 'y' : 'a';
        i.operands[0] = names.operand(results[0], 4, p.line);
        if (results.size() == 2) i.operands[second_result] = names.predicate(results[1], p.line);
        i.widths[1] = static_cast<u8>(bytes_of(p.type(), p.line));
        i.operands[1] = at(1, i.widths[1]);
        i.operands[members_operand] = at(2, 4);
        return true;
    }
    i.kind = flow::plain;
    if (p.kind() != "activemask") return false;
    i.run = active_mask;
    i.operands[0] = at(0, 4);
    return true;
}

}  // namespace cordage_test::ptx
