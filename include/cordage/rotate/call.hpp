// SPDX-License-Identifier: MIT
// A rotation as a value: what C++, the C interface and other hosts make of their arguments, and what checks it, cuts it
// into slices and calls kernels; stage rotation.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/backend.hpp"
#include "cordage/core/executor.hpp"
#include "cordage/rotate/operand_checks.hpp"

namespace cordage::rotate_detail {

/// Processes the tokens [begin, end) of operands of one type, forward or backward.
/// @param angles  a source of the type that the kernel was made for
/// @param grads   null for a forward kernel
using range_kernel = void (*)(const void* angles, std::span<const void* const> operands,
                              const backend::angle_gradients* grads, index_t begin, index_t end) noexcept;

// The kernels of a backend.

template <pairing Pairing, class Backend, class Direction, class Source, class O>
void rotate_tokens(const void* angles, std::span<const void* const> operands, const backend::angle_gradients*,
                   index_t begin, index_t end) noexcept {
    using backend::rotate_range;  // or the overload beside a user-defined Backend
    rotate_range<Pairing, Direction>(Backend{}, *static_cast<const Source*>(angles), operand_list<O>(operands), begin,
                                     end);
}
template <pairing Pairing, class Backend, class Source, class O>
void backward_tokens(const void* angles, std::span<const void* const> operands, const backend::angle_gradients* grads,
                     index_t begin, index_t end) noexcept {
    using backend::backward_range;
    backward_range<Pairing>(Backend{}, *static_cast<const Source*>(angles), operand_list<O>(operands), *grads, begin,
                            end);
}

/// One operand, without its type.
struct call_operand {
    const void* operand;
    std::span<checked_tensor> tensors;  ///< those that are read first
    operand_check check;                ///< null if only its tensors need checks
    bool has_scales;                    ///< whether x or y may have
    const void* angles;
    range_kernel kernel;
    std::span<double> grad_weight = {};

    // Set by list_operands, or by a maker whose operands have one kernel.
    std::span<const void* const> list = {};  ///< all operands with this kernel and angles; empty but for the first
    index_t first_weight = -1;               ///< entries of grad_weight of the operands listed before; -1: not listed
};

struct rotation_call;
/// A program without norms and scales does not contain their checks.
using memory_check = void (*)(const rotation_call&, memory where, std::span<const named_sums> sums);

/// A call. It has no memory of its own: spans are of arrays of its maker, which live as long as the call.
struct rotation_call {
    const char* function;
    angle_sizes angles;
    std::span<call_operand> operands;
    std::span<checked_tensor> tensors;            ///< of all operands, in order
    std::span<other_memory> memory;               ///< room, uninitialised, for memory beside tensors, and for sums
    std::span<const void*> lists;                 ///< room for a pointer to each operand
    memory_check check_memory;                    ///< check_memory_of; null for operands that have tensors only
    const char* remedy = "makes_scales = false";  ///< how the caller says that scales are given
};

/// Checks the tensors of a call.
inline call_size check_tensors(const rotation_call& call, memory where) {
    const heads_shape& first = call.tensors[0].view.shape;
    call_size size{0, true};
    for (const call_operand& o : call.operands) {
        for (checked_tensor& tensor : o.tensors) {
            check_view(call.function, tensor);
            check_shape(call.function, call.tensors[0], o.tensors[0], tensor);
            tensor.addresses = address_range(tensor.view);
            for (const checked_tensor* other = call.tensors.data(); other != &tensor; ++other) {
                if (!(other->is_written || tensor.is_written) || !other->addresses.meets(tensor.addresses)) continue;
                const bool is_one = other->operand == tensor.operand && other->view == tensor.view;
                if (!is_one) check_overlap(call.function, where, *other, tensor);
            }
            size.is_empty = size.is_empty && tensors_detail::is_empty(tensor.view.shape);
            const heads_memory& v = tensor.view;
            const index_t elements = v.shape.heads * v.groups * v.head_size;  // at most 2^58
            size.bytes_of_token += std::min(saturated_product(elements, v.element_size), index_t{1} << 40);
        }
        check_angles(call.function, call.angles, o.tensors[0]);
    }
    size.tokens = first.batch * first.tokens;  // fits index_t, since the views were checked
    if (where == memory::device) return size;
    for (const checked_tensor& tensor : call.tensors) {
        if (tensor.view.slots.entries != nullptr) check_slots(call.function, tensor);
    }
    for (const call_operand& o : call.operands) {
        const checked_tensor &x = o.tensors.front(), &y = o.tensors.back();
        if (is_move(x, y)) size.is_in_order = check_moves(call.function, x.view, y.view) || size.is_in_order;
    }
    return size;
}

/// Checks what the operands of a call have beside their tensors.
inline void check_memory_of(const rotation_call& call, memory where, std::span<const named_sums> sums) {
    other_memory* end = call.memory.data();
    for (const named_sums& s : sums) {
        if (!s.sums.empty()) std::construct_at(end++, memory_of(s));
    }
    bool is_listed = !sums.empty();
    for (const call_operand& o : call.operands) is_listed = is_listed || o.has_scales;
    for (const call_operand& o : call.operands) {
        if (o.check != nullptr) end = o.check(call.function, where, o.operand, o.tensors, call.tensors, is_listed, end);
    }
    const auto may_move = [&](index_t operand) {
        const call_operand& o = call.operands[static_cast<std::size_t>(operand)];
        return is_move(o.tensors.front(), o.tensors.back());
    };
    check_other_memory(call.function, call.tensors, {call.memory.data(), end}, may_move, call.remedy);
}

/// All checks of a call but those of its angles.
/// @param sums  of gradients, to which the call adds
inline call_size check_call(const rotation_call& call, memory where, std::span<const named_sums> sums = {}) {
    const call_size size = check_tensors(call, where);
    if (call.check_memory != nullptr) call.check_memory(call, where, sums);
    return size;
}
/// All checks of a call and of its angles. Positions, factors of tables and slots are checked only in host memory.
template <class Source>
call_size check_with_angles(const rotation_call& call, memory where, const Source& angles,
                            std::span<const named_sums> sums = {}) {
    if constexpr (requires { angles.check_fields(call.function); }) angles.check_fields(call.function);
    const call_size size = check_call(call, where, sums);
    if constexpr (requires { angles.check(call.function); }) {
        if (where == memory::host) angles.check(call.function);
    }
    return size;
}

/// Lists the operands that share a kernel, in the order of the call: kernels then compute a token's angles once.
inline void list_operands(const rotation_call& call) {
    if (!call.operands[0].list.empty()) return;  // its maker did
    const void** end = call.lists.data();
    index_t weights = 0;
    for (call_operand& first : call.operands) {
        if (first.first_weight >= 0) continue;
        const void** const begin = end;
        for (call_operand* o = &first; o != call.operands.data() + call.operands.size(); ++o) {
            if (o->kernel != first.kernel || o->angles != first.angles) continue;
            *end++ = o->operand;
            o->first_weight = weights;
            weights += std::ssize(o->grad_weight);
        }
        first.list = {begin, end};
    }
}

/// Runs all kernels of a call over a range of tokens.
/// @param rows  the angles of all kernels; null: each operand's
inline void run_tokens(const rotation_call& call, const void* rows, const backend::angle_gradients* grads,
                       index_t begin, index_t end) noexcept {
    for (const call_operand& o : call.operands) {
        if (o.list.empty()) continue;
        const void* const angles = rows == nullptr ? o.angles : rows;
        if (grads == nullptr) {
            o.kernel(angles, o.list, nullptr, begin, end);
        } else {
            backend::angle_gradients of_list = *grads;
            of_list.weights += o.first_weight;
            o.kernel(angles, o.list, &of_list, begin, end);
        }
    }
}

/// Runs a checked call that computes no gradient but grad_x: run_range(begin, end) on slices of all tokens, or on one
/// slice if tokens must be processed in order.
template <executor Executor, class RunRange>
void run(const Executor& where, const rotation_call& call, const call_size& size, const RunRange& run_range) {
    if (size.is_empty) return;
    list_operands(call);
    const bool is_one = size.is_in_order;  // a single item: for_each_range then makes one slice
    for_each_range(where, is_one ? 1 : size.tokens, size.bytes_of_token,
                   [&](index_t begin, index_t end) noexcept { run_range(begin, is_one ? size.tokens : end); });
}

/// Writes the tensors of an operand, two if it is in place but one, or the three of a gradient; returns their end.
template <operand_type O>
CORDAGE_ALWAYS_INLINE checked_tensor* write_tensors(const O& o, index_t operand, checked_tensor* to) {
    const bool is_one = o.is_in_place();
    ::new (to++) checked_tensor{"x", o.x, is_one, operand, o.first_lane, o.is_rotated()};
    if (is_one) return to;
    ::new (to++) checked_tensor{"y", o.y, true, operand, o.first_lane, o.is_rotated()};
    to[-1].has_format_of_x = is_same_format(o.x.format, o.y.format);
    to[-1].are_slots_free = o.writes_free_slots();
    return to;
}
template <backward_operand_type O>
CORDAGE_ALWAYS_INLINE checked_tensor* write_tensors(const O& o, index_t operand, checked_tensor* to) {
    const bool rotates = o.is_rotated();
    const auto& [grad_y, y, grad_x] = o.views();
    ::new (to++) checked_tensor{"grad_y", grad_y, false, operand, o.first_lane, rotates};
    ::new (to++) checked_tensor{O::is_normalized ? "x" : "y", y, false, operand, o.first_lane, rotates};
    ::new (to++) checked_tensor{"grad_x", grad_x, true, operand, o.first_lane, rotates};
    return to;
}

/// The memory of a call whose operands have these types, on the stack.
template <class First, class... More>
class call_on_stack {
    static constexpr std::size_t count = 1 + sizeof...(More), each = backward_operand_type<First> ? 3 : 2;
    static constexpr std::size_t most_memory =
        (most_other_memory<First> + ... + most_other_memory<More>)+(each == 3 ? most_sums : 0);

 public:
    /// @param kernels  of each operand; may be null if only checks are run
    template <class Source>
    CORDAGE_ALWAYS_INLINE call_on_stack(const char* function, const Source& angles,
                                        const std::array<range_kernel, count>& kernels, const First& first,
                                        const More&... more)
        : function_(function), sizes_{angles.batch(), angles.tokens(), angles.pairs()} {
        end_ = tensors_.data();
        constexpr bool is_one_type = (std::same_as<First, More> && ...);  // known here, it takes no time in the call
        index_t operand = 0;
        [[maybe_unused]] index_t weights = 0;
        const auto add = [&]<class O>(const O& o) CORDAGE_ALWAYS_INLINE_LAMBDA {
            checked_tensor* const begin = end_;
            end_ = write_tensors(o, operand, begin);
            const auto at = static_cast<std::size_t>(operand);
            ::new (&operands_[at]) call_operand{&o,      {begin, end_}, check_of<O>(),    may_have_scales<O>,
                                                &angles, kernels[at],   grad_weight_of(o)};
            if constexpr (is_one_type) {
                lists_[at] = &o, operands_[at].first_weight = weights;
                weights += std::ssize(operands_[at].grad_weight);
            }
            ++operand;
        };
        add(first), (add(more), ...);
        if constexpr (is_one_type) operands_[0].list = lists_;
    }
    call_on_stack(const call_on_stack&) = delete;
    call_on_stack& operator=(const call_on_stack&) = delete;

    CORDAGE_ALWAYS_INLINE rotation_call call() {
        memory_check check_memory = nullptr;
        if constexpr (most_memory > 0) check_memory = check_memory_of;
        return {function_, sizes_, operands_, {tensors_.data(), end_}, memory_, lists_, check_memory};
    }

 private:
    const char* function_;
    angle_sizes sizes_;
    checked_tensor* end_;
    std::array<const void*, count> lists_;  // this and the following: written as far as they are used
    union {
        std::array<call_operand, count> operands_;
    };
    union {
        std::array<checked_tensor, count * each> tensors_;
    };
    union {
        std::array<other_memory, most_memory> memory_;
    };
};

/// check_with_angles for operands that no call of the host rotates.
template <memory Where, angles_of_tokens Source, class... Operands>
call_size check_all(const char* function, const Source& angles, std::span<const named_sums> sums,
                    const Operands&... operands) {
    constexpr std::array<range_kernel, sizeof...(Operands)> no_kernels{};
    call_on_stack<Operands...> made(function, angles, no_kernels, operands...);
    return check_with_angles(made.call(), Where, angles, sums);
}
template <memory Where, angles_of_tokens Source, class... Operands>
call_size check_all(const char* function, const Source& angles, const Operands&... operands) {
    return check_all<Where>(function, angles, std::span<const named_sums>{}, operands...);
}

}  // namespace cordage::rotate_detail
