// SPDX-License-Identifier: MIT
// Operands of the C interface: checked together, then rotated slice by slice, one after the other in each; serves the C
// interface.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cordage/c/angles.hpp"
#include "cordage/c/handles.hpp"
#include "cordage/c/tensors.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"

namespace cordage::c {

/// The library's pool with this many threads, created when first used; never destroyed, as threads may outlive main.
inline const threads& pool_of(index_t count) {
    static std::mutex mutex;
    static auto& pools = *new std::map<index_t, threads>;
    const std::lock_guard lock(mutex);
    return pools.try_emplace(count, count).first->second;
}

/// The caller's executor.
class any_executor {
 public:
    /// @throws value_error
    any_executor(const char* function, const cordage_executor* given)
        : executor_(given == nullptr ? cordage_executor{nullptr, nullptr, 1} : *given) {
        constexpr std::int64_t most = 1024;
        if (executor_.concurrency < 1 || (executor_.run == nullptr && executor_.concurrency > most)) {
            fail<value_error>({function, ": where.concurrency ", executor_.concurrency, " must be >= 1",
                               executor_.run == nullptr ? ", and at most 1024 threads of the library" : ""});
        }
        if (executor_.run == nullptr && executor_.concurrency > 1) pool_ = &pool_of(executor_.concurrency);
    }
    index_t concurrency() const noexcept { return pool_ == nullptr ? executor_.concurrency : pool_->concurrency(); }
    template <class Slice>
    void run(index_t slices, const Slice& slice) const {
        if (pool_ != nullptr) return pool_->run(slices, slice);
        if (executor_.run == nullptr) return serial{}.run(slices, slice);
        executor_.run(
            executor_.pool, slices, [](void* body, std::int64_t i) { (*static_cast<const Slice*>(body))(i); },
            const_cast<void*>(static_cast<const void*>(&slice)));
    }

 private:
    cordage_executor executor_;
    const threads* pool_ = nullptr;
};

/// Upper bound on the operands of a call.
inline constexpr std::int64_t most_operands = 64;

/// Names of an operand's tensors, such as "operands[1].y", built once.
enum class tensor_field : std::uint8_t { x, y, grad_y, grad_x };
inline const char* name_of_tensor(tensor_field field, index_t operand) {
    struct names {
        std::array<std::vector<std::string>, 4> of;
        names() {
            std::size_t at = 0;
            for (const char* each : {".x", ".y", ".grad_y", ".grad_x"}) {
                for (index_t i = 0; i < most_operands; ++i) of[at].push_back(message("operands[", i, "]", each));
                ++at;
            }
        }
    };
    static const names& all = *new names;
    return all.of[static_cast<std::size_t>(field)][static_cast<std::size_t>(operand)].c_str();
}

/// The operands of the forward functions. Those of float16 and bfloat16 compute in float.
using backend::normalized_operand, backend::normalized_gradient;
using forward_operand =
    std::variant<operand<float>, operand<float16>, operand<bfloat16>, any_operand<no_norm>, normalized_operand<float>,
                 normalized_operand<float16>, normalized_operand<bfloat16>, any_operand<rms_norm<float>>,
                 operand<double>, normalized_operand<double>>;

/// The operands of a call, and Each tensors per operand in the form of the checks.
template <class Variant, std::size_t Each>
struct call_operands {
    std::vector<Variant> operands;
    std::vector<std::array<rotate_detail::checked_tensor, Each>> tensors;
    held_weights weights;

    explicit call_operands(std::int64_t count) {
        const auto size = static_cast<std::size_t>(count);
        operands.reserve(size), tensors.reserve(size);
    }
};

inline bool is_interleaved(const char* function, std::int32_t pairing) {
    if (pairing == CORDAGE_INTERLEAVED || pairing == CORDAGE_HALF_SPLIT) return pairing == CORDAGE_INTERLEAVED;
    fail<value_error>({function, ": pairing ", pairing, " must be CORDAGE_HALF_SPLIT (1) or CORDAGE_INTERLEAVED (2)"});
}
inline void expect_operands(const char* function, const void* operands, std::int64_t count) {
    expect_pointer(function, "operands", operands);
    if (count < 1 || count > most_operands) {
        fail<value_error>({function, ": count ", count, " of operands must be 1 to ", most_operands});
    }
}

/// Whether heads are left out. @throws value_error  if they have other fields but no tensor
inline bool is_left_out(const argument& a, const cordage_heads& heads) {
    if (!is_left_out(heads.tensor)) return false;
    const char* const set = heads.slot_mapping != nullptr  ? ".slot_mapping"
                            : heads.block_table != nullptr ? ".block_table"
                            : heads.scales != nullptr      ? ".scales"
                            : heads.scales_are_given != 0  ? ".scales_are_given"
                            : heads.hadamard_size != 0     ? ".hadamard_size"
                                                           : nullptr;
    if (set != nullptr) {
        a.refuse<value_error>({".tensor must be given, as ", a.text, set, " is; all zero: x is overwritten"});
    }
    return true;
}

/// Adds an operand of rotate_forward, rotate_inverse or rebase.
inline void add_operand(const char* function, const cordage_operand& given, index_t tokens, bool may_have_norm,
                        call_operands<forward_operand, 2>& call) {
    const auto number = static_cast<index_t>(call.operands.size());
    const argument a{function, "operands", number};
    const bool has_y = !is_left_out(a.of(".y"), given.y);
    if (given.is_unrotated != 0 && given.is_unrotated != 1) {
        a.refuse<value_error>({".is_unrotated ", given.is_unrotated, " must be 0 or 1"});
    }
    if (given.norm != nullptr && !may_have_norm) {
        a.refuse<value_error>({".norm must be NULL: only cordage_rotate_forward normalizes heads"});
    }
    const described_heads x = describe_heads(a.of(".x"), given.x, tokens, !has_y);
    const described_heads y = has_y ? describe_heads(a.of(".y"), given.y, tokens, true) : x;
    const element_type &x_type = *x.tensor.type, &y_type = *y.tensor.type;
    const bool is_one_type = x_type.dtype == y_type.dtype, is_plain = is_one_type && x.is_plain && y.is_plain;
    if (!is_plain && (x_type.dtype == CORDAGE_FLOAT64 || y_type.dtype == CORDAGE_FLOAT64)) {
        a.refuse<value_error>({" converts ", x_type.name, " to ", y_type.name,
                               "; float64 must stay float64, in contiguous heads, without a transform"});
    }
    if (!is_plain && given.norm != nullptr && given.norm->is_rounded_between == 1 && x_type.dtype != CORDAGE_FLOAT32) {
        a.refuse<value_error>({".norm.is_rounded_between 1 must be 0 where ", x_type.name,
                               " is converted to another format: normalize and rotate in a separate call first"});
    }
    const bool rotates = given.is_unrotated == 0;
    bool is_in_place = false;
    const auto add = [&](const auto& of) {
        is_in_place = of.is_in_place();
        call.operands.emplace_back(of);
    };
    const auto made = [&](const auto& plain, auto norm) {
        const auto rotated = rotates ? plain : plain.unrotated();
        if (given.norm == nullptr) {
            add(rotated);
        } else {
            add(rotated.normalized(norm()));
        }
    };
    if (is_plain) {
        for_plain_type(x_type, [&]<class T>(T) {
            made(operand<T>(x.as<const T>(), y.as<T>(), given.first_lane),
                 [&] { return norm_from<compute_of<T>>(a.of(".norm"), *given.norm, x.memory.shape, call.weights); });
        });
    } else {
        made(any_operand<no_norm>(x.as_bytes(), y.as_bytes(), given.first_lane),
             [&] { return norm_from<float>(a.of(".norm"), *given.norm, x.memory.shape, call.weights); });
    }
    const index_t lane = rotates ? given.first_lane : 0;
    call.tensors.push_back(
        {{{name_of_tensor(tensor_field::x, number), x.memory, is_in_place, false, number, lane, rotates},
          {name_of_tensor(tensor_field::y, number), is_in_place ? heads_memory() : y.memory, true, is_in_place, number,
           lane, rotates, is_one_type && x.format == y.format}}});
}

/// All checks of a call: those of rotate_detail::check_all, for operands whose types are known at run time.
template <class Variant, std::size_t Each>
rotate_detail::call_size check_call(const char* function, const angles_object& angles,
                                    call_operands<Variant, Each>& call,
                                    std::span<const rotate_detail::other_memory> sums = {}) {
    using namespace rotate_detail;
    const std::span<std::array<checked_tensor, Each>> all(call.tensors);
    const call_size size =
        check_tensors<memory::host, Each>(function, {angles.batch(), angles.tokens(), angles.pairs()}, all);
    std::vector<other_memory> others(sums.begin(), sums.end());
    const auto add = [&](const other_memory& one) { others.push_back(one); };
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
        const char *const x = all[i].front().name, *const y = all[i].back().name;
        std::visit(
            [&]<class O>(const O& o) {
                if constexpr (O::is_normalized) check_norm(function, o);
                if constexpr (operand_type<O>) {
                    check_format<memory::host>(function, x, o.x);
                    check_format<memory::host>(function, y, o.y);
                }
                for_each_other_memory(o, static_cast<index_t>(i), x, all[i].back().is_same_as_x ? x : y, add);
            },
            call.operands[i]);
    }
    check_other_memory<Each>(function, all, others, "scales_are_given = 1");
    return size;
}

/// Rotates one operand over a range of tokens. Quantised keys that are not rotated keep their bytes.
inline void rotate_range_of(bool pairs_are_interleaved, const cos_sin_tables& tables, const angles_object& angles,
                            const forward_operand& operand, index_t begin, index_t end) noexcept {
    using backend::rotate_range, backend::fastest;
    const auto run = [&](const forward_operand& o, index_t first, index_t last) {
        std::visit(
            [&]<class O>(const O& of) {
                const auto& table = tables.of<typename O::compute>();
                const auto rotate = [&](const auto& one) {
                    pairs_are_interleaved
                        ? rotate_range<interleaved, backend::forward>(fastest{}, table, one, first, last)
                        : rotate_range<half_split, backend::forward>(fastest{}, table, one, first, last);
                };
                with_operands(rotate, of);
            },
            o);
    };
    const auto* const stored = std::get_if<any_operand<no_norm>>(&operand);
    if (stored == nullptr || !stored->is_rotated() || !angles.is_difference()) return run(operand, begin, end);
    const forward_operand copied = stored->unrotated();
    const index_t tokens = angles.tokens();
    while (begin < end) {
        const auto is_still = [&](index_t i) { return angles.is_identity(i / tokens, i % tokens); };
        const bool stays = is_still(begin);
        index_t next = begin + 1;
        while (next < end && is_still(next) == stays) ++next;
        run(stays ? copied : operand, begin, next);
        begin = next;
    }
}

/// rotate_forward, rotate_inverse and rebase.
inline void rotate_call(const char* function, const cordage_executor* where, const cordage_angles* handle,
                        std::int32_t pairing, const cordage_operand* operands, std::int64_t count, direction d,
                        bool is_rebase) {
    const bool pairs_are_interleaved = is_interleaved(function, pairing);
    const any_executor executor(function, where);
    expect_operands(function, operands, count);
    const auto angles =
        handle_table::of_program().find<angles_object>(function, is_rebase ? "difference" : "angles", handle);
    if (is_rebase && !angles->is_difference()) {
        fail<value_error>({function, ": difference must be made by cordage_angles_difference"});
    }
    call_operands<forward_operand, 2> call(count);
    bool has_doubles = false;
    for (std::int64_t i = 0; i < count; ++i) {
        add_operand(function, operands[i], angles->tokens(), d == direction::forward && !is_rebase, call);
        has_doubles = has_doubles || operands[i].x.tensor.dtype == CORDAGE_FLOAT64;
    }
    const rotate_detail::call_size size = check_call(function, *angles, call);
    if (size.is_empty) return;
    const cos_sin_tables tables = angles->tables(d, has_doubles);
    rotate_detail::for_each_slice(executor, size, [&](index_t begin, index_t end) noexcept {
        for (const forward_operand& operand : call.operands) {
            rotate_range_of(pairs_are_interleaved, tables, *angles, operand, begin, end);
        }
    });
}

/// An operand of the backward pass: all gradients, or, without y, grad_x only.
using any_backward_operand =
    std::variant<backward_operand<float>, backward_operand<float16>, backward_operand<bfloat16>,
                 backward_operand<double>, normalized_gradient<float>, normalized_gradient<float16>,
                 normalized_gradient<bfloat16>, normalized_gradient<double>, operand<float>, operand<float16>,
                 operand<bfloat16>, operand<double>>;

inline void add_backward_operand(const char* function, const cordage_backward_operand& given, bool has_gradients,
                                 call_operands<any_backward_operand, 3>& call) {
    const auto number = static_cast<index_t>(call.operands.size());
    const argument a{function, "operands", number};
    const described_heads grad_y = heads_in_order(
        a.of(".grad_y"), given.grad_y, false, {CORDAGE_FLOAT32, CORDAGE_FLOAT64, CORDAGE_FLOAT16, CORDAGE_BFLOAT16});
    const std::int32_t dtype = grad_y.tensor.type->dtype;
    const bool has_y = !is_left_out(given.y);
    const described_heads y = has_y ? heads_in_order(a.of(".y"), given.y, false, {dtype}) : grad_y;
    const described_heads grad_x = heads_in_order(a.of(".grad_x"), given.grad_x, true, {dtype});
    if (!has_y && (has_gradients || given.norm != nullptr)) {
        a.refuse<value_error>({".y must be given if gradients are wanted or heads were normalized"});
    }
    if (given.is_unrotated != 0 && (given.is_unrotated != 1 || given.norm == nullptr)) {
        a.refuse<value_error>({".is_unrotated ", given.is_unrotated, " must be 0, or 1 with a norm"});
    }
    if (given.grad_weight_count < 0 || (given.grad_weight == nullptr) != (given.grad_weight_count == 0)) {
        a.refuse<value_error>({".grad_weight_count ", given.grad_weight_count,
                               " must be the number of entries of grad_weight, 0 for NULL"});
    }
    if (given.grad_weight != nullptr && given.norm == nullptr) {
        a.refuse<value_error>({".grad_weight must be NULL without a norm"});
    }
    for_plain_type(*grad_y.tensor.type, [&]<class T>(T) {
        if (!has_y) {
            call.operands.emplace_back(operand<T>(grad_y.as<const T>(), grad_x.as<T>(), given.first_lane));
            return;
        }
        const auto of = grad_through(grad_y.as<const T>(), y.as<const T>(), grad_x.as<T>(), given.first_lane);
        if (given.norm == nullptr) {
            call.operands.emplace_back(of);
            return;
        }
        const auto norm = norm_from<compute_of<T>>(a.of(".norm"), *given.norm, grad_y.memory.shape, call.weights);
        const auto normalized =
            of.normalized(norm, {given.grad_weight, static_cast<std::size_t>(given.grad_weight_count)});
        call.operands.emplace_back(given.is_unrotated == 1 ? normalized.unrotated() : normalized);
    });
    const index_t lane = given.is_unrotated == 1 ? 0 : given.first_lane;
    const bool rotates = given.is_unrotated == 0;
    call.tensors.push_back(
        {{{name_of_tensor(tensor_field::grad_y, number), grad_y.memory, false, false, number, lane, rotates},
          {name_of_tensor(tensor_field::y, number), y.memory, false, !has_y, number, lane, rotates},
          {name_of_tensor(tensor_field::grad_x, number), grad_x.memory, true, false, number, lane, rotates}}});
}

/// The span of one of the caller's gradients.
/// @param may_be_empty  there are no entries, and data may be any pointer
inline std::span<double> gradients_of(const char* function, const char* name, double* data, std::int64_t count,
                                      bool may_be_empty = false) {
    if (may_be_empty && count == 0) return {};
    if (count < 0 || (data == nullptr) != (count == 0)) {
        fail<value_error>({function, ": gradients.", name, "_count ", count, " must be the number of entries of ", name,
                           ", 0 for NULL"});
    }
    return {data, static_cast<std::size_t>(count)};
}

inline void backward_call(const char* function, const cordage_executor* where, const cordage_angles* handle,
                          std::int32_t pairing, const cordage_gradients* gradients,
                          const cordage_backward_operand* operands, std::int64_t count) {
    const bool pairs_are_interleaved = is_interleaved(function, pairing);
    const any_executor executor(function, where);
    expect_operands(function, operands, count);
    const auto angles = handle_table::of_program().find<angles_object>(function, "angles", handle);
    const cordage_gradients none{};
    const cordage_gradients& g = gradients == nullptr ? none : *gradients;
    const bool has_no_tokens =
        angles->tokens() == 0 || (operands[0].grad_y.ndim == 4 && operands[0].grad_y.shape[0] == 0);
    const rotation_gradients grads{
        .inv_freq = gradients_of(function, "inv_freq", g.inv_freq, g.inv_freq_count),
        .position_ids = gradients_of(function, "position_ids", g.position_ids, g.position_ids_count, has_no_tokens),
        .attention_factor = gradients_of(function, "attention_factor", g.attention_factor, g.attention_factor_count)};
    const bool has_gradients =
        !grads.inv_freq.empty() || !grads.position_ids.empty() || !grads.attention_factor.empty();
    if (has_gradients && angles->is_difference()) {
        fail<value_error>({function, ": gradients must be NULL for a difference of angles"});
    }
    call_operands<any_backward_operand, 3> call(count);
    bool has_doubles = false;
    for (std::int64_t i = 0; i < count; ++i) {
        add_backward_operand(function, operands[i], has_gradients, call);
        has_doubles = has_doubles || operands[i].grad_y.dtype == CORDAGE_FLOAT64;
    }
    const auto sums = rotate_detail::sums_of(grads);
    const rotate_detail::call_size size =
        check_call(function, *angles, call, std::span<const rotate_detail::other_memory>(sums));
    const cos_sin_tables tables = angles->tables(direction::forward, has_doubles);
    const angles_object::origin& origin = *angles->to();
    const auto source = [&]<class Real>(Real) {
        const cos_sin_view<Real>& table = tables.of<Real>();
        return gradient_source<Real>{table,       origin.position_ids.data(), origin.rows,
                                     origin.axes, origin.axis_of_pair.data(), origin.view_of_bases()};
    };
    rotate_detail::check_gradients(grads, source(float{}), size.tokens);
    if (size.is_empty) return;
    for (const any_backward_operand& operand : call.operands) {
        std::visit(
            [&]<class O>(const O& o) {
                if constexpr (operand_type<O>) {
                    const forward_operand alone = o;
                    const cos_sin_tables back =
                        angles->tables(direction::adjoint, std::same_as<typename O::compute, double>);
                    rotate_detail::for_each_slice(executor, size, [&](index_t begin, index_t end) noexcept {
                        rotate_range_of(pairs_are_interleaved, back, *angles, alone, begin, end);
                    });
                } else if (pairs_are_interleaved) {
                    rotate_backward<interleaved>(executor, source(typename O::compute{}), grads, o);
                } else {
                    rotate_backward<half_split>(executor, source(typename O::compute{}), grads, o);
                }
            },
            operand);
    }
}

}  // namespace cordage::c
