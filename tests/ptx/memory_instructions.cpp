// SPDX-License-Identifier: MIT
#include "ptx/memory_instructions.hpp"

#include <algorithm>

#include "ptx/accesses.hpp"
#include "ptx/text.hpp"

namespace cordage_test::ptx {

namespace {

u64 address_of(const instruction& i, warp& w, int lane) {
    return get_bits(w.at(i.operands[address_operand]), lane, i.widths[address_operand]) + static_cast<u64>(i.offset);
}

// A register may be wider than an element: a signed one then fills it by its sign.
template <class T>
void load(const instruction& i, warp& w, u32 lanes) {
    for_each_lane(lanes, [&](int lane) {
        const auto bytes = static_cast<u32>(i.elements * sizeof(T));
        const std::byte* const from = accessed(i, w, lane, address_of(i, w, lane), bytes, access_kind::read);
        for (u8 k = 0; k < i.elements; ++k) {
            if (i.operands[k] == no_operand) continue;
            const T element = from == nullptr ? T{} : get<T>(from, k);
            put_bits(w.at(i.operands[k]), lane, i.widths[k], static_cast<u64>(element));
        }
    });
}
template <class T>
void store(const instruction& i, warp& w, u32 lanes) {
    for_each_lane(lanes, [&](int lane) {
        const auto bytes = static_cast<u32>(i.elements * sizeof(T));
        std::array<std::byte, 4 * sizeof(u64)> data;
        for (u8 k = 0; k < i.elements; ++k) {
            put(data.data(), k, static_cast<T>(get_bits(w.at(i.operands[k]), lane, i.widths[k])));
        }
        std::byte* const to = accessed(i, w, lane, address_of(i, w, lane), bytes, access_kind::write, data.data());
        if (to != nullptr) std::memcpy(to, data.data(), bytes);
    });
}

template <class T, class F>
void update(const instruction& i, warp& w, u32 lanes) {
    for_each_lane(lanes, [&](int lane) {
        std::byte* const at = accessed(i, w, lane, address_of(i, w, lane), sizeof(T), access_kind::update);
        if (at == nullptr) return;
        const T old = get<T>(at, 0);
        const auto operand = [&](std::size_t k) {
            return i.operands[k] == no_operand ? T{} : get<T>(w.at(i.operands[k]), lane);
        };
        put(at, 0, static_cast<T>(F{}(old, operand(2), operand(3))));
        if (i.operands[0] != no_operand) put(w.at(i.operands[0]), lane, old);
    });
}
template <class T, class F>
action updating(const F&) {
    return update<T, F>;
}

template <class T>
action atomic_on(const std::string& operation) {
    if (operation == "add") return updating<T>([](T old, T x, T) { return old + x; });
    if (operation == "min") return updating<T>([](T old, T x, T) { return std::min(old, x); });
    if (operation == "max") return updating<T>([](T old, T x, T) { return std::max(old, x); });
    if (operation == "exch") return updating<T>([](T, T x, T) { return x; });
    if (operation == "cas") return updating<T>([](T old, T expected, T x) { return old == expected ? x : old; });
    if constexpr (std::is_integral_v<T>) {
        if (operation == "and") return updating<T>([](T old, T x, T) { return old & x; });
        if (operation == "or") return updating<T>([](T old, T x, T) { return old | x; });
    }
    return nullptr;
}

}  // namespace

action load_of(const std::string& type, int line) {
    const bool is_signed = type[0] == 's';
    switch (bytes_of(type, line)) {
        case 1:
            return is_signed ? load<s8> : load<u8>;
        case 2:
            return is_signed ? load<s16> : load<u16>;
        case 4:
            return is_signed ? load<s32> : load<u32>;
        default:
            return load<u64>;
    }
}
action store_of(const std::string& type, int line) {
    switch (bytes_of(type, line)) {
        case 1:
            return store<u8>;
        case 2:
            return store<u16>;
        case 4:
            return store<u32>;
        default:
            return store<u64>;
    }
}
action atomic_of(const std::string& operation, const std::string& type) {
    if (type == "f32") return atomic_on<float>(operation);
    if (type == "f64") return atomic_on<double>(operation);
    if (type == "s32") return atomic_on<s32>(operation);
    if (type == "s64") return atomic_on<s64>(operation);
    if (type == "u32" || type == "b32") return atomic_on<u32>(operation);
    if (type == "u64" || type == "b64") return atomic_on<u64>(operation);
    return nullptr;
}

void pack(const instruction& i, warp& w, u32 lanes) {
    const auto part = static_cast<u8>(i.widths[0] / i.elements);
    for_each_lane(lanes, [&](int lane) {
        u64 bits = 0;
        for (u8 k = 0; k < i.elements; ++k) bits |= get_bits(w.at(i.operands[k + 1]), lane, part) << 8 * part * k;
        put_bits(w.at(i.operands[0]), lane, i.widths[0], bits);
    });
}
void unpack(const instruction& i, warp& w, u32 lanes) {
    const auto part = static_cast<u8>(i.widths[0] / i.elements);
    for_each_lane(lanes, [&](int lane) {
        const u64 bits = get_bits(w.at(i.operands[0]), lane, i.widths[0]);
        for (u8 k = 0; k < i.elements; ++k) {
            if (i.operands[k + 1] != no_operand) put_bits(w.at(i.operands[k + 1]), lane, part, bits >> 8 * part * k);
        }
    });
}

}  // namespace cordage_test::ptx
