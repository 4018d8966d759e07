// SPDX-License-Identifier: MIT
// Calls of the C interface, made into rotation_call; serves the C interface.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
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
    static const auto& all = *new auto([] {
        std::vector<std::string> names;
        for (index_t i = 0; i < most_operands; ++i) {
            for (const char* each : {".x", ".y", ".grad_y", ".grad_x"})
                names.push_back(message("operands[", i, "]", each));
        }
        return names;
    }());
    return all[static_cast<std::size_t>(4 * operand + static_cast<index_t>(field))].c_str();
}

/// The operands of the forward functions. Those of float16 and bfloat16 compute in float.
using backend::normalized_operand, backend::normalized_gradient;
using forward_operand =
    std::variant<operand<float>, operand<float16>, operand<bfloat16>, any_operand<no_norm>, normalized_operand<float>,
                 normalized_operand<float16>, normalized_operand<bfloat16>, any_operand<rms_norm<float>>,
                 operand<double>, normalized_operand<double>>;

/// A call that is made of operands whose types are known at run time.
template <class Variant>
class call_on_heap {
 public:
    held_weights weights;
    bool has_doubles = false;  ///< an operand computes in double

    call_on_heap(const char* function, const angles_object& angles, std::int64_t count)
        : function_(function), sizes_{angles.batch(), angles.tokens(), angles.pairs()} {
        const auto size = static_cast<std::size_t>(count);
        operands_.reserve(size), made_.reserve(size), tensors_.reserve(3 * size);
    }

    index_t size() const { return std::ssize(operands_); }

    /// Adds an operand whose angles and kernel are of_operand(operand).
    template <class O, class OfOperand>
    void add(const O& given, std::initializer_list<rotate_detail::checked_tensor> tensors,
             const OfOperand& of_operand) {
        const O& o = std::get<O>(operands_.emplace_back(given));
        has_doubles = has_doubles || std::same_as<typename O::compute, double>;
        const auto first = static_cast<std::ptrdiff_t>(tensors_.size());
        tensors_.insert(tensors_.end(), tensors);  // without reallocation
        memory_.resize(memory_.size() + rotate_detail::most_other_memory<O>);
        const auto [angles, kernel] = of_operand(o);
        made_.push_back({&o,
                         {tensors_.begin() + first, tensors_.end()},
                         rotate_detail::check_of<O>(),
                         rotate_detail::may_have_scales<O>,
                         angles,
                         kernel,
                         rotate_detail::grad_weight_of(o)});
    }

    /// @param sums  room for how many
    rotate_detail::rotation_call call(std::size_t sums = 0) {
        memory_.resize(memory_.size() + sums), lists_.resize(made_.size());
        return {function_,
                sizes_,
                made_,
                tensors_,
                memory_,
                lists_,
                rotate_detail::check_memory_of,
                "scales_are_given = 1"};
    }

 private:
    const char* function_;
    rotate_detail::angle_sizes sizes_;
    std::vector<Variant> operands_;
    std::vector<rotate_detail::call_operand> made_;
    std::vector<rotate_detail::checked_tensor> tensors_;
    std::vector<rotate_detail::other_memory> memory_;
    std::vector<const void*> lists_;
};

/// The angles that an operand's kernel reads, and the kernel.
struct angles_and_kernel {
    const void* angles;
    rotate_detail::range_kernel kernel;
};

enum class direction : std::uint8_t { forward, inverse, adjoint };

/// The kernel of a direction for operands of type O, whose angles are a table.
template <class O>
rotate_detail::range_kernel rotation_kernel(bool pairs_are_interleaved, direction d) {
    const auto of = [&]<pairing Pairing>(Pairing) {
        using rotate_detail::rotate_tokens, backend::fastest;
        using table = cos_sin_view<typename O::compute>;
        return d == direction::forward   ? rotate_tokens<Pairing, fastest, backend::forward, table, O>
               : d == direction::inverse ? rotate_tokens<Pairing, fastest, backend::inverse, table, O>
                                         : rotate_tokens<Pairing, fastest, backend::adjoint, table, O>;
    };
    return pairs_are_interleaved ? of(interleaved{}) : of(half_split{});
}

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
                            : heads.scales_round_up != 0   ? ".scales_round_up"
                            : heads.scale_least != 0.0f    ? ".scale_least"
                            : heads.tensor_scale != 0.0f   ? ".tensor_scale"
                                                           : nullptr;
    if (set != nullptr) {
        a.refuse<value_error>({".tensor must be given, as ", a.text, set, " is; all zero: x is overwritten"});
    }
    return true;
}

/// Adds an operand of rotate_forward, rotate_inverse or rebase.
template <class OfOperand>
void add_operand(const char* function, const cordage_operand& given, index_t tokens, bool may_have_norm,
                 const OfOperand& of_operand, call_on_heap<forward_operand>& call) {
    const index_t number = call.size();
    const argument a{function, "operands", number};
    const bool has_y = !is_left_out(a.of(".y"), given.y);
    const bool rotates = !is_set(a, ".is_unrotated", given.is_unrotated);
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
    const index_t lane = rotates ? given.first_lane : 0;
    const auto add = [&](const auto& o) {
        const rotate_detail::checked_tensor to_x{
            name_of_tensor(tensor_field::x, number), x.memory, o.is_in_place(), number, lane, rotates};
        const rotate_detail::checked_tensor to_y{
            name_of_tensor(tensor_field::y, number), y.memory, true, number, lane, rotates,
            is_one_type && x.format == y.format};
        if (o.is_in_place()) {
            call.add(o, {to_x}, of_operand);
        } else {
            call.add(o, {to_x, to_y}, of_operand);
        }
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
}

/// rotate_forward, rotate_inverse and rebase.
inline void rotate_call(const char* function, const cordage_executor* where, const cordage_angles* handle,
                        std::int32_t pairing, const cordage_operand* operands, std::int64_t count, direction d,
                        bool is_rebase) {
    const bool pairs_are_interleaved = is_interleaved(function, pairing);
    const any_executor executor(function, where);
    expect_operands(function, operands, count);
    const auto angles = find<angles_object>(function, handle, is_rebase ? "difference" : "angles");
    if (is_rebase && !angles->is_difference()) {
        fail<value_error>({function, ": difference must be made by cordage_angles_difference"});
    }
    call_on_heap<forward_operand> made(function, *angles, count);
    cos_sin_tables tables;  // which operands point to
    const auto of_operand = [&]<class O>(const O&) -> angles_and_kernel {
        return {&std::get<cos_sin_view<typename O::compute>>(tables), rotation_kernel<O>(pairs_are_interleaved, d)};
    };
    for (std::int64_t i = 0; i < count; ++i) {
        add_operand(function, operands[i], angles->tokens(), d == direction::forward && !is_rebase, of_operand, made);
    }
    const rotate_detail::rotation_call call = made.call();
    const rotate_detail::call_size size = rotate_detail::check_call(call, rotate_detail::memory::host);
    tables = angles->tables(made.has_doubles);
    rotate_detail::run(executor, call, size, [&](index_t begin, index_t end) noexcept {
        rotate_detail::run_tokens(call, nullptr, nullptr, begin, end);
    });
}

/// An operand of the backward pass: all gradients, or, without y, grad_x only.
using any_backward_operand =
    std::variant<backward_operand<float>, backward_operand<float16>, backward_operand<bfloat16>,
                 backward_operand<double>, normalized_gradient<float>, normalized_gradient<float16>,
                 normalized_gradient<bfloat16>, normalized_gradient<double>, operand<float>, operand<float16>,
                 operand<bfloat16>, operand<double>>;

template <class OfOperand>
void add_backward_operand(const char* function, const cordage_backward_operand& given, bool has_gradients,
                          const OfOperand& of_operand, call_on_heap<any_backward_operand>& call) {
    const index_t number = call.size();
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
    const bool rotates = given.is_unrotated == 0;
    const index_t lane = rotates ? given.first_lane : 0;
    const auto tensor = [&](tensor_field field, const described_heads& heads, bool is_written) {
        return rotate_detail::checked_tensor{
            name_of_tensor(field, number), heads.memory, is_written, number, lane, rotates};
    };
    const auto to_grad_y = tensor(tensor_field::grad_y, grad_y, false), to_y = tensor(tensor_field::y, y, false);
    const auto to_grad_x = tensor(tensor_field::grad_x, grad_x, true);
    for_plain_type(*grad_y.tensor.type, [&]<class T>(T) {
        if (!has_y) {
            const operand<T> alone(grad_y.as<const T>(), grad_x.as<T>(), given.first_lane);
            return call.add(alone, {to_grad_y, to_grad_x}, of_operand);
        }
        const auto of = grad_through(grad_y.as<const T>(), y.as<const T>(), grad_x.as<T>(), given.first_lane);
        if (given.norm == nullptr) return call.add(of, {to_grad_y, to_y, to_grad_x}, of_operand);
        const auto norm = norm_from<compute_of<T>>(a.of(".norm"), *given.norm, grad_y.memory.shape, call.weights);
        const auto normalized =
            of.normalized(norm, {given.grad_weight, static_cast<std::size_t>(given.grad_weight_count)});
        call.add(rotates ? normalized : normalized.unrotated(), {to_grad_y, to_y, to_grad_x}, of_operand);
    });
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
    const auto angles = find<angles_object>(function, handle);
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
    cos_sin_tables tables;  // which operands point to, as to these
    const exact_source source = angles->to()->exact();
    std::tuple<gradient_source<float>, gradient_source<double>> sources{source, source};
    const auto of_operand = [&]<class O>(const O&) -> angles_and_kernel {
        using real = typename O::compute;
        if constexpr (operand_type<O>) {
            return {&std::get<cos_sin_view<real>>(tables),
                    rotation_kernel<O>(pairs_are_interleaved, direction::adjoint)};
        } else {
            using rotate_detail::backward_tokens, backend::fastest;
            using from = gradient_source<real>;
            return {&std::get<from>(sources), pairs_are_interleaved ? backward_tokens<interleaved, fastest, from, O>
                                                                    : backward_tokens<half_split, fastest, from, O>};
        }
    };
    call_on_heap<any_backward_operand> made(function, *angles, count);
    for (std::int64_t i = 0; i < count; ++i) {
        add_backward_operand(function, operands[i], has_gradients, of_operand, made);
    }
    const rotate_detail::rotation_call call = made.call(rotate_detail::most_sums);
    const rotate_detail::call_size size =
        rotate_detail::check_call(call, rotate_detail::memory::host, rotate_detail::sums_of(grads));
    tables = angles->tables(made.has_doubles);
    std::get<0>(sources).table = std::get<0>(tables), std::get<1>(sources).table = std::get<1>(tables);
    const auto sizes = rotate_detail::gradient_sizes::of(source);
    rotate_detail::check_gradients(grads, sizes, size.tokens);
    rotate_detail::run_backward(executor, call, size, grads, sizes);
}

}  // namespace cordage::c
