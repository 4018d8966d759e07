// SPDX-License-Identifier: MIT
#include "ptx/module.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "ptx/decoder.hpp"

namespace cordage_test::ptx {

namespace {

// Numbers of a list, {1, 2}, or one alone.
std::vector<std::string> initial_values(const declaration& d) {
    if (!d.values.starts_with('{')) return split(d.values, ',');
    return split(std::string_view(d.values).substr(1, d.values.size() - 2), ',');
}

// ".maxntid 256, 1, 1" of a header, or what every device allows.
u64 most_threads_of(const std::string& header) {
    constexpr std::string_view name = ".maxntid";
    std::size_t at = header.find(name);
    if (at == header.npos) return 1024;
    at += name.size();
    const std::size_t end = std::min(header.find('.', at), header.size());
    u64 product = 1;
    for (const std::string& size : split(std::string_view(header).substr(at, end - at), ',')) {
        product *= std::strtoull(size.c_str(), nullptr, 10);
    }
    return product;
}

}  // namespace

std::string demangled(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    return status == 0 ? text.get() : name;
}

module::module(std::string text) :text_(std::move(text)) {
    statement_reader reader(text_);
    for (statement s; reader.next(s);) {
        if (s.text.find(".entry") != s.text.npos) {
            add_entry(s, reader);
            reader.skip_block();
        } else if (s.text.find(".func") != s.text.npos) {
            reader.skip_block();
        } else if (s.text.find(".shared ") != s.text.npos) {
            shared_.push_back(declaration_of(s));
        } else if (s.text.find(".global ") != s.text.npos || s.text.find(".const ") != s.text.npos) {
            add_variable(s);
        }
    }
}

module module::of_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw error("PTX: cannot read " + path);
    return module(std::string(std::istreambuf_iterator<char>(in), {}));
}

void module::add_entry(const statement& header, const statement_reader& reader) {
    const std::size_t after = header.text.find(".entry") + std::strlen(".entry");
    const std::size_t open = std::min(header.text.find('(', after), header.text.size());
    const std::size_t close = std::min(header.text.find(')', open), header.text.size());
    const std::string name = trimmed(header.text.substr(after, open - after));
    entry e{demangled(name), {}, most_threads_of(header.text), reader.at(), reader.line()};
    if (open < close) {
        for (const std::string& p : split(std::string_view(header.text).substr(open + 1, close - open - 1), ',')) {
            if (!p.empty()) e.parameters.push_back({p, header.line});
        }
    }
    entries_[name] = std::move(e);
}

void module::add_variable(const statement& s) {
    const declaration d = declaration_of(s);
    const u32 align = std::max(d.align, u32{sizeof(void*)}), bytes = (d.size + align - 1) / align * align;
    std::unique_ptr<std::byte, void (*)(void*)> memory(static_cast<std::byte*>(std::aligned_alloc(align, bytes)),
                                                       std::free);
    std::memset(memory.get(), 0, bytes);
    const u32 size = bytes_of(d.type, s.line);
    u32 at = 0;
    for (const std::string& value : initial_values(d)) {
        const u64 number = number_of(value, s.line);
        if (at + size > d.size) fail_at(s.line, "too many values", s.text);
        std::memcpy(memory.get() + at, &number, size);
        at += size;
    }
    memory_block block = memory_block::of(memory.get(), d.size);
    block.is_constant = d.space == "const";
    block.name = d.name;
    globals_[d.name] = block.first;
    variables_.push_back(block);
    owned_.push_back(std::move(memory));
}

void module::set(const std::string& variable, u32 value) {
    for (std::size_t i = 0; i < variables_.size(); ++i) {
        if (variables_[i].name == variable && variables_[i].size == sizeof(value)) {
            std::memcpy(owned_[i].get(), &value, sizeof(value));
        }
    }
}

std::string module::find(const std::string& name) const {
    std::string found;
    for (const auto& [full_name, e] : entries_) {
        if (!e.demangled.starts_with(name)) continue;
        if (!found.empty()) throw error("PTX: several kernels have names that begin with " + name);
        found = full_name;
    }
    return found;
}

const kernel_code& module::kernel(const std::string& name) {
    const std::string full_name = entries_.contains(name) || name.empty() ? name : find(name);
    if (const auto at = decoded_.find(full_name); at != decoded_.end()) return at->second;
    const auto at = entries_.find(full_name);
    if (at == entries_.end()) {
        std::string all;
        for (const auto& [other, e] : entries_) all += (all.empty() ? "" : ", ") + e.demangled;
        throw error("PTX: no kernel '" + name + "'; there are: " + (all.empty() ? "none" : all));
    }
    const entry& e = at->second;
    kernel_code out;
    out.name = e.demangled;
    out.most_threads = e.most_threads;
    symbol_table symbols = globals_;
    for (const statement& s : e.parameters) {
        const declaration d = declaration_of(s);
        const u32 offset = (out.parameter_bytes + d.align - 1) / d.align * d.align;
        symbols[d.name] = param_window + offset;
        out.parameters.push_back({offset, d.size});
        out.parameter_bytes = offset + d.size;
    }
    kernel_names names(out, std::move(symbols));
    for (const declaration& d : shared_) names.add_shared(d);
    statement_reader body(text_, e.at, e.line);
    decode_body(body, names, out);
    return decoded_[full_name] = std::move(out);
}

}  // namespace cordage_test::ptx
