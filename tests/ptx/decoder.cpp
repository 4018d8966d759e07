// SPDX-License-Identifier: MIT
#include "ptx/decoder.hpp"

#include <algorithm>

#include "ptx/contraction.hpp"
#include "ptx/conversions.hpp"
#include "ptx/lane_instructions.hpp"
#include "ptx/memory_instructions.hpp"
#include "ptx/operation_table.hpp"

namespace cordage_test::ptx {

namespace {

void nothing(const instruction&, warp&, u32) {}

/// One statement, "@!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8]", taken apart.
struct parts {
    std::string opcode;              // "ld.global.v2.f32"
    std::vector<std::string> words;  // of the opcode
    std::vector<std::string> operands;
    std::string text;
    int line;

    const std::string& kind() const { return words.front(); }
    const std::string& type() const { return words.back(); }
    bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
    bool has_any(std::initializer_list<const char*> all) const {
        return std::ranges::any_of(all, [&](const char* word) { return has(word); });
    }
    /// The first of these words that the opcode has, or "".
    std::string one_of(std::initializer_list<const char*> all) const {
        const auto found = std::ranges::find_if(all, [&](const char* word) { return has(word); });
        return found == all.end() ? "" : *found;
    }
    [[noreturn]] void unknown() const { fail_at(line, "unknown instruction", text); }
    void need_operands(std::size_t least, std::size_t most) const {
        if (operands.size() < least || operands.size() > most) fail_at(line, "wrong number of operands", text);
    }
};

std::vector<std::string> elements_of(const std::string& vector) {
    if (!vector.starts_with('{')) return {vector};
    return split(std::string_view(vector).substr(1, vector.size() - 2), ',');
}

/// Decodes the instructions of a body one by one.
class decoder {
 public:
    decoder(kernel_names& names, kernel_code& out) : names_(names), out_(out) {}

    void add(const statement& s, u32 used_bytes);
    void set_label(const std::string& label) {
        labels_[label] = static_cast<u32>(out_.code.size());
        is_behind_label_ = true;
    }
    void end(int line);

 private:
    void decode(instruction& i, const parts& p);
    bool decode_flow(instruction& i, const parts& p);
    bool decode_between_lanes(instruction& i, const parts& p);
    bool decode_memory(instruction& i, const parts& p);
    void decode_load_or_store(instruction& i, const parts& p);
    void decode_atomic(instruction& i, const parts& p);
    void decode_vector_move(instruction& i, const parts& p);
    void decode_conversion(instruction& i, const parts& p);
    void decode_operation(instruction& i, const parts& p, const operation* o);
    void decode_address(instruction& i, const parts& p, const std::string& text);

    u32 operand(const parts& p, std::size_t which, u8 width) {
        return names_.operand(p.operands[which], width, p.line);
    }
    u32 predicate(const parts& p, const std::string& name) { return names_.predicate(name, p.line); }

    struct jump {
        std::size_t from;
        std::string label;
        int line;
    };
    kernel_names& names_;
    kernel_code& out_;
    std::unordered_map<std::string, u32> labels_;
    std::vector<jump> jumps_;
    std::vector<definitions> definitions_;
    bool is_behind_label_ = false;
};

void decoder::add(const statement& s, u32 used_bytes) {
    instruction i;
    i.operands.fill(no_operand);
    i.line = s.line;
    i.used_bytes = used_bytes;
    i.number = static_cast<u32>(out_.code.size());
    std::string text = s.text;
    if (text.starts_with('@')) {
        const std::size_t end = std::min(text.find(' '), text.size());
        i.is_negated = text.starts_with("@!");
        const std::size_t first = i.is_negated ? 2 : 1;
        i.guard = names_.predicate(text.substr(first, end - first), s.line);
        text = trimmed(text.substr(end));
    }
    const std::size_t end = std::min(text.find(' '), text.size());
    parts p{text.substr(0, end), split(text.substr(0, end), '.'), split(text.substr(end), ','), s.text, s.line};
    decode(i, p);
    definitions_.push_back({{}, is_behind_label_});
    is_behind_label_ = false;
    for (const std::string& result : p.operands.empty() ? p.operands : elements_of(p.operands[0])) {
        if (const auto* r = names_.find_register(result); r != nullptr && r->width != 0) {
            definitions_.back().registers.push_back(r->offset);
        }
    }
    out_.code.push_back(i);
    out_.text.push_back(s.text);
}

void decoder::end(int line) {
    instruction last;
    last.kind = flow::exit;
    last.line = line;
    last.number = static_cast<u32>(out_.code.size());
    out_.code.push_back(last);
    out_.text.emplace_back("}");
    contract(out_, definitions_);
    for (const jump& j : jumps_) {
        const auto at = labels_.find(j.label);
        if (at == labels_.end()) fail_at(j.line, "unknown label", j.label);
        out_.code[j.from].target = at->second;
    }
}

void decoder::decode(instruction& i, const parts& p) {
    if (decode_flow(i, p) || decode_between_lanes(i, p) || decode_memory(i, p)) return;
    if (p.kind() == "cvt") return decode_conversion(i, p);
    if (p.kind() == "mov" && p.text.find('{') != p.text.npos) return decode_vector_move(i, p);
    std::string name;  // denormals of doubles are never flushed, but by rcp
    for (const std::string& word : p.words) {
        if (word == "uni" || (word == "ftz" && p.opcode != "rcp.approx.ftz.f64")) continue;
        if (word == "f32" && p.has("ftz")) name += ".ftz";
        name += (name.empty() ? "" : ".") + word;
    }
    decode_operation(i, p, operations().find(name));
}

bool decoder::decode_flow(instruction& i, const parts& p) {
    i.run = nothing;
    if (p.kind() == "bra") {
        p.need_operands(1, 1);
        i.kind = flow::branch;
        jumps_.push_back({i.number, p.operands[0], p.line});
    } else if (p.opcode == "ret" || p.opcode == "exit") {
        i.kind = flow::exit;
    } else if (p.opcode == "trap") {
        i.kind = flow::trap;
    } else if ((p.kind() == "bar" || p.kind() == "barrier") && !p.has("warp")) {
        // The only barrier of all threads that __syncthreads() is.
        if (!p.has("sync") || p.operands != std::vector<std::string>{"0"}) p.unknown();
        i.kind = flow::barrier;
    } else {
        // Order between blocks and kernels, which run one after another here.
        constexpr std::array all{"griddepcontrol", "membar", "fence", "nanosleep", "prefetch", "prefetchu"};
        return std::ranges::find(all, p.kind()) != all.end();
    }
    return true;
}

bool decoder::decode_between_lanes(instruction& i, const parts& p) {
    const auto at = [&](std::size_t which, u8 width) { return operand(p, which, width); };
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
        i.operands[0] = names_.operand(results[0], 4, p.line);
        if (results.size() == 2) i.operands[second_result] = predicate(p, results[1]);
        for (std::size_t k = 1; k < 5; ++k) i.operands[k] = at(k, 4);
        return true;
    }
    if (p.kind() == "vote" && p.has("sync")) {
        p.need_operands(3, 3);
        const std::string mode = p.one_of({"all", "any", "uni", "ballot"});
        i.run = vote;
        i.variant = mode == "any" ? 'y' : mode[0];
        i.is_inverted = p.operands[1].starts_with('!');
        i.operands[0] = mode == "ballot" ? at(0, 4) : predicate(p, p.operands[0]);
        i.operands[1] = predicate(p, p.operands[1].substr(i.is_inverted ? 1 : 0));
        i.operands[members_operand] = at(2, 4);
        return true;
    }
    if (p.kind() == "match" && p.has("sync")) {
        p.need_operands(3, 3);
        const std::vector<std::string> results = split(p.operands[0], '|');
        i.run = match;
        i.variant = p.has("any") ? 'y' : 'a';
        i.operands[0] = names_.operand(results[0], 4, p.line);
        if (results.size() == 2) i.operands[second_result] = predicate(p, results[1]);
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

void decoder::decode_address(instruction& i, const parts& p, const std::string& text) {
    if (text.size() < 2 || text[0] != '[') fail_at(p.line, "not an address", p.text);
    const std::string inner = trimmed(text.substr(1, text.size() - 2));
    const std::size_t sign = std::min(inner.find_first_of("+-", 1), inner.size());
    if (sign < inner.size()) {
        const std::string offset = trimmed(inner.substr(inner[sign] == '+' ? sign + 1 : sign));
        i.offset = static_cast<s64>(number_of(offset, p.line));
    }
    i.operands[address_operand] =
        names_.operand_of_any_width(trimmed(inner.substr(0, sign)), i.widths[address_operand], 8, p.line);
}

space space_of(const parts& p) {
    for (const std::string& word : p.words) {
        if (word == "global" || word == "const") return space::global;
        if (word == "shared" || word.starts_with("shared::")) return space::shared;
        if (word == "param" || word.starts_with("param::")) return space::param;
        if (word == "local") return space::local;
    }
    return space::generic;
}

bool decoder::decode_memory(instruction& i, const parts& p) {
    const bool is_plain = p.kind() == "ld" || p.kind() == "ldu" || p.kind() == "st";
    if (!is_plain && p.kind() != "atom" && p.kind() != "red") return false;
    if (p.has_any({"async", "bulk", "mmio"})) p.unknown();
    i.memory = space_of(p);
    if (is_plain) {
        decode_load_or_store(i, p);
    } else {
        decode_atomic(i, p);
    }
    return true;
}

void decoder::decode_load_or_store(instruction& i, const parts& p) {
    p.need_operands(2, 2);
    const bool is_load = p.kind() != "st";
    const std::vector<std::string> elements = elements_of(p.operands[is_load ? 0 : 1]);
    const auto size = static_cast<u8>(bytes_of(p.type(), p.line));
    i.elements = static_cast<u8>(elements.size());
    if (elements.size() != (p.has("v2") ? 2 : p.has("v4") ? 4 : 1)) fail_at(p.line, "wrong number of elements", p.text);
    decode_address(i, p, p.operands[is_load ? 1 : 0]);
    for (std::size_t k = 0; k < elements.size(); ++k) {
        if (elements[k] == "_") continue;
        i.operands[k] = names_.operand_of_any_width(elements[k], i.widths[k], size, p.line);
        if (i.widths[k] < size) fail_at(p.line, "a register of another width", p.text);
    }
    i.run = is_load ? load_of(p.type(), p.line) : store_of(p.type(), p.line);
}

void decoder::decode_atomic(instruction& i, const parts& p) {
    const std::size_t first = p.kind() == "atom" ? 1 : 0;  // red has no result
    p.need_operands(first + 2, first + 3);
    i.run = atomic_of(p.one_of({"add", "min", "max", "exch", "cas", "and", "or"}), p.type());
    if (i.run == nullptr || p.has_any({"v2", "v4", "noftz"})) p.unknown();
    const auto width = static_cast<u8>(bytes_of(p.type(), p.line));
    if (first == 1 && p.operands[0] != "_") i.operands[0] = operand(p, 0, width);
    decode_address(i, p, p.operands[first]);
    i.operands[2] = operand(p, first + 1, width);
    if (p.operands.size() > first + 2) i.operands[3] = operand(p, first + 2, width);
}

void decoder::decode_vector_move(instruction& i, const parts& p) {
    p.need_operands(2, 2);
    const bool is_unpacking = p.operands[0].starts_with('{');
    const std::vector<std::string> elements = elements_of(p.operands[is_unpacking ? 0 : 1]);
    i.elements = static_cast<u8>(elements.size());
    i.widths[0] = static_cast<u8>(bytes_of(p.type(), p.line));
    i.operands[0] = operand(p, is_unpacking ? 1 : 0, i.widths[0]);
    if (elements.size() != 2 && elements.size() != 4) p.unknown();
    for (std::size_t k = 0; k < elements.size(); ++k) {
        if (elements[k] == "_") continue;
        i.operands[k + 1] = names_.operand(elements[k], static_cast<u8>(i.widths[0] / i.elements), p.line);
    }
    i.run = is_unpacking ? unpack : pack;
}

void decoder::decode_conversion(instruction& i, const parts& p) {
    if (p.words.size() < 3 || p.has_any({"rz", "rm", "rp", "rs", "rna", "relu"})) p.unknown();
    const std::string &to = p.words[p.words.size() - 2], &from = p.type();
    if (const operation* packed = operations().find(to + "." + from)) return decode_operation(i, p, packed);
    i.run = conversion(to, from);
    if (i.run == nullptr) p.unknown();
    p.need_operands(2, 2);
    const std::string rounding = p.one_of({"rni", "rzi", "rmi", "rpi"});
    if (!rounding.empty())
        i.variant = rounding == "rni"   ? to_nearest
                    : rounding == "rzi" ? to_zero
                    : rounding == "rmi" ? downwards
                                        : upwards;
    i.saturates = p.has("sat");
    i.flushes = p.has("ftz");
    i.operands[0] = names_.operand_of_any_width(p.operands[0], i.widths[0], 0, p.line);
    i.operands[1] =
        names_.operand_of_any_width(p.operands[1], i.widths[1], static_cast<u8>(bytes_of(from, p.line)), p.line);
}

void decoder::decode_operation(instruction& i, const parts& p, const operation* o) {
    if (o == nullptr) p.unknown();
    p.need_operands(o->operands.size(), o->operands.size());
    i.run = o->run;
    i.may_contract = !p.has("rn");
    for (std::size_t k = 0; k < p.operands.size(); ++k) {
        if (o->operands[k] == 'p') {
            i.operands[k] = predicate(p, p.operands[k]);
        } else {
            i.operands[k] = operand(p, k, static_cast<u8>(o->operands[k] - '0'));
        }
    }
    if (names_.find_register(p.operands[0]) == nullptr) fail_at(p.line, "the result is no register", p.text);
}

}  // namespace

void decode_body(statement_reader& body, kernel_names& names, kernel_code& out) {
    decoder d(names, out);
    statement s;
    u32 used_bytes = ~0u;  // of the next load, as a pragma says
    for (int depth = 0; body.next(s);) {
        if (s.text == "{") {
            if (depth++ > 0) names.open_scope();
        } else if (s.text == "}") {
            if (--depth == 0) break;
            names.close_scope();
        } else if (s.text.ends_with(':')) {
            d.set_label(s.text.substr(0, s.text.size() - 1));
        } else if (s.text.starts_with(".pragma")) {
            constexpr std::string_view name = "used_bytes_mask ";
            if (const std::size_t at = s.text.find(name); at != s.text.npos) {
                used_bytes = static_cast<u32>(std::strtoul(s.text.c_str() + at + name.size(), nullptr, 0));
            }
        } else if (s.text.starts_with('.')) {
            if (!s.text.starts_with(".loc ") && !s.text.starts_with(".file ")) names.declare(s);
        } else {
            d.add(s, used_bytes);
            used_bytes = ~0u;
        }
    }
    d.end(s.line);
}

}  // namespace cordage_test::ptx
