// SPDX-License-Identifier: MIT
#include "ptx/contraction.hpp"

#include <array>
#include <string>
#include <unordered_map>

#include "ptx/operation_table.hpp"

namespace cordage_test::ptx {

namespace {

// The actions of one type that may be contracted, and what they become.
struct contractible {
    action mul, add, sub;
    action product_and, product_minus, minus_product;

    explicit contractible(const std::string& type) {
        const auto named = [&](const char* name) { return operations().find(name + type)->run; };
        mul = named("mul.");
        add = named("add.");
        sub = named("sub.");
        product_and = named("fma.rn.");
        product_minus = named("(a * b - c).");
        minus_product = named("(c - a * b).");
    }
};

struct product {
    const contractible* type;
    u32 first;
    u32 second;
};
using products = std::unordered_map<u32, product>;  // by the register that holds it

void contract_sum(instruction& i, const products& known) {
    for (const std::size_t which : {std::size_t{1}, std::size_t{2}}) {
        const auto found = known.find(i.operands[which]);
        if (found == known.end()) continue;
        const product& p = found->second;
        const u32 other = i.operands[3 - which];
        if (i.run == p.type->add) {
            i.run = p.type->product_and;
        } else if (i.run == p.type->sub) {
            i.run = which == 1 ? p.type->product_minus : p.type->minus_product;
        } else {
            continue;
        }
        i.operands[1] = p.first;
        i.operands[2] = p.second;
        i.operands[3] = other;
        return;
    }
}

}  // namespace

void contract(kernel_code& kernel, const std::vector<definitions>& of_code) {
    static const std::array types{contractible("f32"), contractible("ftz.f32"), contractible("f64")};
    products known;
    for (std::size_t n = 0; n < of_code.size(); ++n) {
        instruction& i = kernel.code[n];
        if (of_code[n].begins_block) known.clear();
        if (i.may_contract) contract_sum(i, known);
        for (const u32 written : of_code[n].registers) {
            std::erase_if(known, [&](const auto& p) {
                return p.first == written || p.second.first == written || p.second.second == written;
            });
        }
        for (const contractible& type : types) {
            if (!i.may_contract || i.run != type.mul || i.guard != no_operand) continue;
            if (i.operands[0] == i.operands[1] || i.operands[0] == i.operands[2]) continue;
            known[i.operands[0]] = {&type, i.operands[1], i.operands[2]};
        }
        if (i.kind != flow::plain) known.clear();
    }
}

}  // namespace cordage_test::ptx
