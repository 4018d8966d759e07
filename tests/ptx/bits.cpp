// SPDX-License-Identifier: MIT
// Bits, moves and choices, which know a register's width and not its type.
#include <algorithm>
#include <bit>

#include "ptx/operation_table.hpp"

namespace cordage_test::ptx {

namespace {

template <class T>
void add_logic(operation_table& to) {
    constexpr u32 bits = 8 * sizeof(T);
    const std::string type = ".b" + std::to_string(bits), of_integers = std::string(".") + name_of<T>();
    to.add<T, T, T>("and" + type, [](T a, T b) { return static_cast<T>(a & b); });
    to.add<T, T, T>("or" + type, [](T a, T b) { return static_cast<T>(a | b); });
    to.add<T, T, T>("xor" + type, [](T a, T b) { return static_cast<T>(a ^ b); });
    to.add<T, T>("not" + type, [](T a) { return static_cast<T>(~a); });
    to.add<T, T, u32>("shl" + type, [](T a, u32 by) { return static_cast<T>(by >= bits ? 0 : u64(a) << by); });
    to.add_alias("shr" + type, "shr" + of_integers);
    for (const char* comparison : {"setp.eq", "setp.ne", "setp.eq.and", "setp.ne.and", "setp.eq.or", "setp.ne.or"}) {
        to.add_alias(comparison + type, comparison + of_integers);
    }
    for (const char* kind : {".b", ".u", ".s", ".f"}) {
        const std::string name = kind + std::to_string(bits);
        to.add<T, T>("mov" + name, [](T a) { return a; });
        to.add<T, T, T, predicate>("selp" + name, [](T a, T b, bool c) { return c ? a : b; });
    }
}

template <class T>
void add_counts_and_fields(operation_table& to) {
    constexpr u32 bits = 8 * sizeof(T);
    const std::string type = ".b" + std::to_string(bits);
    to.add<u32, T>("popc" + type, [](T a) { return std::popcount(a); });
    to.add<u32, T>("clz" + type, [](T a) { return std::countl_zero(a); });
    to.add<T, T>("brev" + type, [](T a) {
        T reversed = 0;
        for (u32 bit = 0; bit < bits; ++bit) reversed |= (a >> bit & 1) << (bits - 1 - bit);
        return reversed;
    });
    // b with the lowest `count` bits of a from bit `first` on.
    to.add<T, T, T, u32, u32>("bfi" + type, [](T a, T b, u32 first, u32 count) {
        first &= 255, count &= 255;
        if (first >= bits || count == 0) return b;
        const T field = (count >= bits ? ~T{} : (T{1} << count) - 1) << first;
        return (b & ~field) | (a << first & field);
    });
}

// Bytes of {b, a} by the numbers in c; bit 3 of a number asks for its byte's sign instead.
u32 permuted(u32 a, u32 b, u32 c) {
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) {
        const u32 which = c >> 4 * i & 15;
        u32 byte = static_cast<u32>((u64{b} << 32 | a) >> 8 * (which & 7)) & 255;
        if (which >= 8) byte = byte >= 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

// Any function of three bits: `function` has its value at the bits' number.
u32 looked_up(u32 a, u32 b, u32 c, u32 function) {
    u32 result = 0;
    for (u32 i = 0; i < 8; ++i) {
        const u32 is_here = ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
        if ((function >> i & 1) != 0) result |= is_here;
    }
    return result;
}

void add_words(operation_table& to) {
    to.add<u32, u32, u32, u32>("prmt.b32", [](u32 a, u32 b, u32 c) { return permuted(a, b, c); });
    to.add<u32, u32, u32, u32, u32>("lop3.b32", [](u32 a, u32 b, u32 c, u32 f) { return looked_up(a, b, c, f); });
    // Of {b, a}: the high word shifted to the left, or the low one to the right.
    to.add<u32, u32, u32, u32>(
        "shf.l.wrap.b32", [](u32 a, u32 b, u32 by) { return static_cast<u32>((u64{b} << 32 | a) << (by & 31) >> 32); });
    to.add<u32, u32, u32, u32>("shf.r.wrap.b32",
                               [](u32 a, u32 b, u32 by) { return static_cast<u32>((u64{b} << 32 | a) >> (by & 31)); });
    to.add<u32, u32, u32, u32>("shf.l.clamp.b32", [](u32 a, u32 b, u32 by) {
        return static_cast<u32>((u64{b} << 32 | a) << std::min(by, 32u) >> 32);
    });
    to.add<u32, u32, u32, u32>("shf.r.clamp.b32", [](u32 a, u32 b, u32 by) {
        return static_cast<u32>((u64{b} << 32 | a) >> std::min(by, 32u));
    });
}

void add_predicates(operation_table& to) {
    to.add<predicate, predicate>("mov.pred", [](bool a) { return a; });
    to.add<predicate, predicate>("not.pred", [](bool a) { return !a; });
    to.add<predicate, predicate, predicate>("and.pred", [](bool a, bool b) { return a && b; });
    to.add<predicate, predicate, predicate>("or.pred", [](bool a, bool b) { return a || b; });
    to.add<predicate, predicate, predicate>("xor.pred", [](bool a, bool b) { return a != b; });
}

// Generic addresses are those of the host and of the windows; only those of shared memory have none of their own.
void add_addresses(operation_table& to) {
    for (const char* memory : {"global", "param", "local", "const"}) {
        for (const char* direction : {"cvta.", "cvta.to."}) {
            to.add<u64, u64>(std::string(direction) + memory + ".u64", [](u64 a) { return a; });
        }
    }
    to.add<u64, u64>("cvta.shared.u64", [](u64 a) { return a | shared_window; });
    to.add<u64, u64>("cvta.to.shared.u64", [](u64 a) { return a & ~shared_window; });
}

}  // namespace

void add_bits(operation_table& to) {
    add_logic<u16>(to);
    add_logic<u32>(to);
    add_logic<u64>(to);
    add_counts_and_fields<u32>(to);
    add_counts_and_fields<u64>(to);
    add_words(to);
    add_predicates(to);
    add_addresses(to);
}

}  // namespace cordage_test::ptx
