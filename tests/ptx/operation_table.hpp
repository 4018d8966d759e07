// SPDX-License-Identifier: MIT
// What each opcode that only computes does: a function of a lane's operands, by the opcode's text without modifiers
// that do not matter here.
#pragma once

#include <bit>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "ptx/warp.hpp"

namespace cordage_test::ptx {

/// `operands` has a character each, the result first: '2', '4' or '8' bytes, or 'p' for a predicate.
struct operation {
    action run = nullptr;
    std::string operands;
};

namespace operations_detail {

template <class T>
constexpr char operand_of = std::same_as<T, predicate> ? 'p' : static_cast<char>('0' + sizeof(T));

template <class T>
inline __attribute__((always_inline)) auto operand(const instruction& i, warp& w, std::size_t which, int lane) {
    if constexpr (std::same_as<T, predicate>) {
        return (w.predicates[i.operands[which]] >> lane & 1) != 0;
    } else if constexpr (std::same_as<T, flushed>) {
        return flushed(get<float>(w.at(i.operands[which]), lane));
    } else {
        return get<T>(w.at(i.operands[which]), lane);
    }
}

/// A result as it is stored: a device's floats have one NaN.
template <class Result, class T>
inline __attribute__((always_inline)) Result result_of(T value) {
    const auto result = static_cast<Result>(value);
    if constexpr (std::same_as<Result, float> || std::same_as<Result, flushed>) {
        return std::isnan(static_cast<float>(result)) ? Result(std::bit_cast<float>(0x7fff'ffffu)) : result;
    } else {
        return result;
    }
}

template <class F, class Result, class... Operands>
struct lanes_of {
    template <std::size_t... Which>
    static void run_with(const instruction& i, warp& w, u32 lanes, std::index_sequence<Which...>) {
        if constexpr (std::same_as<Result, predicate>) {
            u32 result = 0;
            for_each_lane(lanes, [&](int lane) {
                result |= static_cast<u32>(bool(F{}(operand<Operands>(i, w, Which + 1, lane)...))) << lane;
            });
            set_bits(w.predicates[i.operands[0]], lanes, result);
        } else {
            std::byte* const to = w.at(i.operands[0]);
            for_each_lane(lanes, [&](int lane) {
                put<Result>(to, lane, result_of<Result>(F{}(operand<Operands>(i, w, Which + 1, lane)...)));
            });
        }
    }
    static void run(const instruction& i, warp& w, u32 lanes) {
        run_with(i, w, lanes, std::index_sequence_for<Operands...>{});
    }
};

}  // namespace operations_detail

class operation_table {
 public:
    /// f, which has no state, of these operands.
    template <class Result, class... Operands, class F>
    void add(const std::string& name, const F&) {
        using namespace operations_detail;
        all_[name] = {lanes_of<F, Result, Operands...>::run, {operand_of<Result>, operand_of<Operands>...}};
    }
    /// "name.type" of operands that have the type of the result.
    template <class T, class F>
    void add_same(const std::string& name, const F& f) {
        const std::string full = name + "." + name_of<T>();
        if constexpr (std::is_invocable_v<F, T, T, T>) {
            add<T, T, T, T>(full, f);
        } else if constexpr (std::is_invocable_v<F, T, T>) {
            add<T, T, T>(full, f);
        } else {
            add<T, T>(full, f);
        }
    }
    /// setp, alone and with another predicate.
    template <class T, class F>
    void add_comparison(const std::string& name, const F& f) {
        const std::string type = std::string(".") + name_of<T>();
        add<predicate, T, T>("setp." + name + type, f);
        add<predicate, T, T, predicate>("setp." + name + ".and" + type,
                                        [](T a, T b, bool c) { return F{}(a, b) && c; });
        add<predicate, T, T, predicate>("setp." + name + ".or" + type, [](T a, T b, bool c) { return F{}(a, b) || c; });
    }
    void add_alias(const std::string& name, const std::string& of) { all_[name] = all_.at(of); }

    const operation* find(const std::string& name) const {
        const auto found = all_.find(name);
        return found == all_.end() ? nullptr : &found->second;
    }

 private:
    std::unordered_map<std::string, operation> all_;
};

void add_integers(operation_table& to);
void add_bits(operation_table& to);  // after integers
void add_floats(operation_table& to);
void add_packed_conversions(operation_table& to);

/// All of them.
const operation_table& operations();

}  // namespace cordage_test::ptx
