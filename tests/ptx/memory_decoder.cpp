// SPDX-License-Identifier: MIT
#include <algorithm>

#include "ptx/decoder.hpp"
#include "ptx/memory_instructions.hpp"

namespace cordage_test::ptx {

namespace {

void decode_address(instruction& i, const instruction_text& p, kernel_names& names, const std::string& text) {
    if (text.size() < 2 || text[0] != '[') fail_at(p.line, "not an address", p.text);
    const std::string inner = trimmed(text.substr(1, text.size() - 2));
    const std::size_t sign = std::min(inner.find_first_of("+-", 1), inner.size());
    if (sign < inner.size()) {
        const std::string offset = trimmed(inner.substr(inner[sign] == '+' ? sign + 1 : sign));
        i.offset = static_cast<s64>(number_of(offset, p.line));
    }
    i.operands[address_operand] =
        names.operand_of_any_width(trimmed(inner.substr(0, sign)), i.widths[address_operand], 8, p.line);
}

space space_of(const instruction_text& p) {
    for (const std::string& word : p.words) {
        if (word == "global" || word == "const") return space::global;
        if (word == "shared" || word.starts_with("shared::")) return space::shared;
        if (word == "param" || word.starts_with("param::")) return space::param;
        if (word == "local") return space::local;
    }
    return space::generic;
}

void decode_load_or_store(instruction& i, const instruction_text& p, kernel_names& names) {
    p.need_operands(2, 2);
    const bool is_load = p.kind() != "st";
    const std::vector<std::string> elements = elements_of(p.operands[is_load ? 0 : 1]);
    const auto size = static_cast<u8>(bytes_of(p.type(), p.line));
    i.elements = static_cast<u8>(elements.size());
    if (elements.size() != (p.has("v2") ? 2 : p.has("v4") ? 4 : 1)) fail_at(p.line, "wrong number of elements", p.text);
    decode_address(i, p, names, p.operands[is_load ? 1 : 0]);
    for (std::size_t k = 0; k < elements.size(); ++k) {
        if (elements[k] == "_") continue;
        i.operands[k] = names.operand_of_any_width(elements[k], i.widths[k], size, p.line);
        if (i.widths[k] < size) fail_at(p.line, "a register of another width", p.text);
    }
    i.run = is_load ? load_of(p.type(), p.line) : store_of(p.type(), p.line);
}

void decode_atomic(instruction& i, const instruction_text& p, kernel_names& names) {
    const std::size_t first = p.kind() == "atom" ? 1 : 0;  // red has no result
    p.need_operands(first + 2, first + 3);
    i.run = atomic_of(p.one_of({"add", "min", "max", "exch", "cas", "and", "or"}), p.type());
    if (i.run == nullptr || p.has_any({"v2", "v4", "noftz"})) p.unknown();
    const auto width = static_cast<u8>(bytes_of(p.type(), p.line));
    if (first == 1 && p.operands[0] != "_") i.operands[0] = names.operand(p.operands[0], width, p.line);
    decode_address(i, p, names, p.operands[first]);
    i.operands[2] = names.operand(p.operands[first + 1], width, p.line);
    if (p.operands.size() > first + 2) i.operands[3] = names.operand(p.operands[first + 2], width, p.line);
}

void decode_vector_move(instruction& i, const instruction_text& p, kernel_names& names) {
    p.need_operands(2, 2);
    const bool is_unpacking = p.operands[0].starts_with('{');
    const std::vector<std::string> elements = elements_of(p.operands[is_unpacking ? 0 : 1]);
    i.elements = static_cast<u8>(elements.size());
    i.widths[0] = static_cast<u8>(bytes_of(p.type(), p.line));
    i.operands[0] = names.operand(p.operands[is_unpacking ? 1 : 0], i.widths[0], p.line);
    if (elements.size() != 2 && elements.size() != 4) p.unknown();
    for (std::size_t k = 0; k < elements.size(); ++k) {
        if (elements[k] == "_") continue;
        i.operands[k + 1] = names.operand(elements[k], static_cast<u8>(i.widths[0] / i.elements), p.line);
    }
    i.run = is_unpacking ? unpack : pack;
}

}  // namespace

bool decode_memory(instruction& i, const instruction_text& p, kernel_names& names) {
    if (p.kind() == "mov" && p.text.find('{') != p.text.npos) {
        decode_vector_move(i, p, names);
        return true;
    }
    const bool is_plain = p.kind() == "ld" || p.kind() == "ldu" || p.kind() == "st";
    if (!is_plain && p.kind() != "atom" && p.kind() != "red") return false;
    if (p.has_any({"async", "bulk", "mmio"})) p.unknown();
    i.memory = space_of(p);
    if (is_plain) {
        decode_load_or_store(i, p, names);
    } else {
        decode_atomic(i, p, names);
    }
    return true;
}

}  // namespace cordage_test::ptx
