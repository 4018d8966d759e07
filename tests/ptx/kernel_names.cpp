// SPDX-License-Identifier: MIT
#include "ptx/kernel_names.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace cordage_test::ptx {

namespace {

u32 rounded_up(u32 n, u32 to) { return (n + to - 1) / to * to; }

}  // namespace

kernel_names::kernel_names(kernel_code& out, symbol_table symbols) : out_(out), symbols_(std::move(symbols)) {
    out_.register_bytes = static_cast<u32>(32 * sizeof(u32) * special_registers.size());
    scopes_.push_back({});
}

void kernel_names::open_scope() { scopes_.push_back({++scopes_so_far_, {}, {}}); }
void kernel_names::close_scope() { scopes_.pop_back(); }

void kernel_names::declare(const statement& s) {
    if (!s.text.starts_with(".reg")) {
        const declaration d = declaration_of(s);
        if (d.space == "shared") return add_shared(d);
        if (d.space != "local") fail_at(s.line, "unknown declaration", s.text);
        const u32 at = rounded_up(out_.local_bytes, d.align);
        symbols_[d.name] = local_window + at;
        out_.local_bytes = at + d.size;
        return;
    }
    std::istringstream words(s.text.substr(4));
    std::string type, names;
    words >> type;
    std::getline(words, names);
    const auto width = static_cast<u8>(type == ".pred" ? 0 : bytes_of(type, s.line));
    for (const std::string& name : split(names, ',')) {  // %r<8> stands for %r0 to %r7
        const std::size_t bracket = name.find('<');
        if (bracket == name.npos) {
            scopes_.back().one[name] = {width, 1};
        } else {
            const auto count = static_cast<u32>(std::strtoul(name.c_str() + bracket + 1, nullptr, 10));
            scopes_.back().numbered[name.substr(0, bracket)] = {width, count};
        }
    }
}

void kernel_names::add_shared(const declaration& d) {
    if (d.size == 0) {
        of_launch_.insert(d.name);
        return;
    }
    if (is_shared_complete_)
        throw error("PTX: shared memory " + d.name + " is declared behind the use of the launch's");
    const u32 at = rounded_up(out_.shared_bytes, d.align);
    symbols_[d.name] = at;
    out_.shared_bytes = at + d.size;
}

const kernel_names::found_register* kernel_names::find_register(const std::string& name) {
    std::size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) --digits;
    for (auto s = scopes_.rbegin(); s != scopes_.rend(); ++s) {
        const declared* found = nullptr;
        if (const auto one = s->one.find(name); one != s->one.end()) {
            found = &one->second;
        } else if (const auto all = s->numbered.find(name.substr(0, digits));
                   digits < name.size() && all != s->numbered.end() &&
                   std::strtoul(name.c_str() + digits, nullptr, 10) < all->second.count) {
            found = &all->second;
        }
        if (found == nullptr) continue;
        const auto [at, is_new] = registers_.try_emplace(name + " " + std::to_string(s->number));
        if (is_new) {
            at->second = {found->width == 0 ? out_.predicates++ : out_.register_bytes, found->width};
            out_.register_bytes += 32 * u32{found->width};
        }
        return &at->second;
    }
    return nullptr;
}

u32 kernel_names::constant_of(u8 width, u64 value) {
    const auto [at, is_new] = constants_.try_emplace({width, value});
    if (is_new) {
        at->second = width == 0 ? out_.predicates++ : out_.register_bytes;
        out_.register_bytes += 32 * u32{width};
        out_.constants.push_back({at->second, width, value});
    }
    return at->second;
}

u32 kernel_names::operand(const std::string& name, u8 width, int line) {
    if (const found_register* r = find_register(name)) {
        if (r->width != width) fail_at(line, "a register of another width", name);
        return r->offset;
    }
    if (const auto special = std::ranges::find(special_registers, name); special != special_registers.end()) {
        if (width != 4) fail_at(line, "a register of another width", name);
        return static_cast<u32>(special - special_registers.begin()) * u32{32 * sizeof(u32)};
    }
    if (name.starts_with('%')) fail_at(line, "unknown register", name);
    if (of_launch_.contains(name)) {
        is_shared_complete_ = true;
        return constant_of(width, rounded_up(out_.shared_bytes, 16));
    }
    const std::size_t plus = std::min(name.find('+'), name.size());  // variable + number
    if (const auto s = symbols_.find(trimmed(name.substr(0, plus))); s != symbols_.end()) {
        const u64 offset = plus < name.size() ? number_of(trimmed(name.substr(plus + 1)), line) : 0;
        return constant_of(width, s->second + offset);
    }
    const u64 number = number_of(name, line);
    return constant_of(width, width == 8 ? number : number & ((u64{1} << 8 * width) - 1));
}

u32 kernel_names::operand_of_any_width(const std::string& name, u8& width, u8 width_of_number, int line) {
    const found_register* const r = find_register(name);
    if (r != nullptr && r->width == 0) fail_at(line, "a predicate", name);
    width = r == nullptr ? width_of_number : r->width;
    return r == nullptr ? operand(name, width, line) : r->offset;
}

u32 kernel_names::predicate(const std::string& name, int line) {
    if (const found_register* r = find_register(name); r != nullptr && r->width == 0) return r->offset;
    if (name != "0" && name != "1" && name != "-1") fail_at(line, "not a predicate", name);
    return constant_of(0, name == "0" ? 0 : 1);
}

}  // namespace cordage_test::ptx
