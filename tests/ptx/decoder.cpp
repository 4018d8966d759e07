// SPDX-License-Identifier: MIT
#include "ptx/decoder.hpp"

#include <algorithm>

#include "ptx/contraction.hpp"
#include "ptx/conversions.hpp"
#include "ptx/operation_table.hpp"

namespace cordage_test::ptx {

namespace {

void nothing(const instruction&, warp&, u32) {}

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
    void decode(instruction& i, const instruction_text& p);
    bool decode_flow(instruction& i, const instruction_text& p);
    void decode_conversion(instruction& i, const instruction_text& p);
    void decode_operation(instruction& i, const instruction_text& p, const operation* o);

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
    instruction_text p{text.substr(0, end), split(text.substr(0, end), '.'), split(text.substr(end), ','), s.text,
                       s.line};
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

void decoder::decode(instruction& i, const instruction_text& p) {
    if (decode_flow(i, p) || decode_between_lanes(i, p, names_) || decode_memory(i, p, names_)) return;
    if (p.kind() == "cvt") return decode_conversion(i, p);
    std::string name;  // denormals of doubles are never flushed, but by rcp
    for (const std::string& word : p.words) {
        if (word == "uni" || (word == "ftz" && p.opcode != "rcp.approx.ftz.f64")) continue;
        if (word == "f32" && p.has("ftz")) name += ".ftz";
        name += (name.empty() ? "" : ".") + word;
    }
    decode_operation(i, p, operations().find(name));
}

bool decoder::decode_flow(instruction& i, const instruction_text& p) {
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

void decoder::decode_conversion(instruction& i, const instruction_text& p) {
    if (p.words.size() < 3 || p.has_any({"rz", "rm", "rp", "rs", "rna", "relu"})) p.unknown();
    const std::string &to = p.words[p.words.size() - 2], &from = p.type();
    if (const operation* packed = operations().find(to + "." + from)) return decode_operation(i, p, packed);
    i.run = conversion(to, from);
    if (i.run == nullptr) p.unknown();
    p.need_operands(2, 2);
    constexpr std::array roundings{std::pair{"rni", to_nearest}, std::pair{"rzi", to_zero}, std::pair{"rmi", downwards},
                                   std::pair{"rpi", upwards}};
    for (const auto& [name, variant] : roundings) {
        if (p.has(name)) i.variant = variant;
    }
    i.saturates = p.has("sat");
    i.flushes = p.has("ftz");
    i.operands[0] = names_.operand_of_any_width(p.operands[0], i.widths[0], 0, p.line);
    i.operands[1] =
        names_.operand_of_any_width(p.operands[1], i.widths[1], static_cast<u8>(bytes_of(from, p.line)), p.line);
}

void decoder::decode_operation(instruction& i, const instruction_text& p, const operation* o) {
    if (o == nullptr) p.unknown();
    p.need_operands(o->operands.size(), o->operands.size());
    i.run = o->run;
    i.may_contract = !p.has("rn");
    for (std::size_t k = 0; k < p.operands.size(); ++k) {
        if (o->operands[k] == 'p') {
            i.operands[k] = names_.predicate(p.operands[k], p.line);
        } else {
            i.operands[k] = names_.operand(p.operands[k], static_cast<u8>(o->operands[k] - '0'), p.line);
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
