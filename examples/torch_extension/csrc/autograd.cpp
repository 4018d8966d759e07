// SPDX-License-Identifier: MIT
// The gradients of cordage::rotate, rotate_normalized and rotate_by_table, for tensors on any device. In C++, so that
// the thread of a backward pass does not wait for Python.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

namespace cordage_torch {

namespace {

using at::Tensor;
using at::TensorList;
using tensors = std::vector<Tensor>;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

template <class Signature>
auto operator_named(const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

/// Calls an operator's kernel for a device; with its autograd where second derivatives are asked for.
template <class Operator, class... Arguments>
auto call_below(const Operator& op, const Arguments&... arguments) {
    if (at::GradMode::is_enabled()) return op.call(arguments...);
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.call(arguments...);
}

/// torch takes the forward-mode derivatives of operators without a formula as 0.
void refuse_forward_mode(const char* function, TensorList inputs) {
    for (const Tensor& x : inputs) {
        TORCH_CHECK_NOT_IMPLEMENTED(!x._fw_grad(0).defined(), function,
                                    ": forward-mode derivatives (torch.func.jvp, dual tensors) are not supported; use "
                                    "reverse mode");
    }
}

bool any_requires_grad(TensorList inputs) {
    return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return x.requires_grad(); });
}
bool want_gradients(TensorList inputs) { return at::GradMode::is_enabled() && any_requires_grad(inputs); }

/// The tensors of saved_variables in the order in which they were saved.
class saved_tensors {
 public:
    explicit saved_tensors(AutogradContext* context) : all_(context->get_saved_variables()) {}
    const Tensor& next() { return all_[at_++]; }
    TensorList next(std::size_t count) { return TensorList(all_).slice((at_ += count) - count, count); }
    TensorList rest() { return TensorList(all_).slice(at_); }

 private:
    variable_list all_;
    std::size_t at_ = 0;
};

/// Which of position_ids, inv_freq and attention_factor, inputs from `first` on, are asked for a gradient.
std::array<bool, 3> wanted_from(const AutogradContext* context, std::size_t first) {
    return {context->needs_input_grad(first), context->needs_input_grad(first + 1),
            context->needs_input_grad(first + 2)};
}

/// The gradients of position_ids, inv_freq and attention_factor that were asked for.
variable_list behind_of(const std::array<bool, 3>& wanted, Tensor ids, Tensor inv_freq, Tensor factor) {
    variable_list behind{std::move(ids), std::move(inv_freq), std::move(factor)};
    for (std::size_t i = 0; i < behind.size(); ++i) {
        if (!wanted[i]) behind[i] = Tensor();
    }
    return behind;
}

void append(variable_list& to, variable_list more) {
    for (Tensor& x : more) to.push_back(std::move(x));
}

// rotate ----------------------------------------------------------------------------------------------------------

tensors call_rotate(TensorList x, const Tensor& position_ids, const Tensor& inv_freq, const Tensor& attention_factor,
                    bool interleaved, bool heads_first) {
    static const auto op =
        operator_named<tensors(TensorList, const Tensor&, const Tensor&, const Tensor&, bool, bool)>("cordage::rotate");
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.call(x, position_ids, inv_freq, attention_factor, interleaved, heads_first);
}

struct rotation : Function<rotation> {
    static variable_list forward(AutogradContext* context, TensorList x, const Tensor& position_ids,
                                 const Tensor& inv_freq, const Tensor& attention_factor, bool interleaved,
                                 bool heads_first) {
        tensors y = call_rotate(x, position_ids, inv_freq, attention_factor, interleaved, heads_first);
        variable_list saved{position_ids, inv_freq, attention_factor};
        if (any_requires_grad(saved)) append(saved, y);  // grad_x does not need the values
        context->save_for_backward(std::move(saved));
        context->saved_data["interleaved"] = interleaved;
        context->saved_data["heads_first"] = heads_first;
        return y;
    }

    static variable_list backward(AutogradContext* context, variable_list grad_y) {
        using signature = std::tuple<tensors, Tensor, Tensor, Tensor>(
            TensorList, TensorList, const Tensor&, const Tensor&, const Tensor&, bool, std::array<bool, 3>, bool);
        static const auto op = operator_named<signature>("cordage::rotate_backward");
        saved_tensors saved(context);
        const Tensor &position_ids = saved.next(), &inv_freq = saved.next(), &attention_factor = saved.next();
        const auto wanted = wanted_from(context, grad_y.size());
        auto [grads, ids, frequencies, factor] = call_below(
            op, TensorList(grad_y), saved.rest(), position_ids, inv_freq, attention_factor,
            context->saved_data["interleaved"].toBool(), wanted, context->saved_data["heads_first"].toBool());
        append(grads, behind_of(wanted, std::move(ids), std::move(frequencies), std::move(factor)));
        grads.resize(grads.size() + 2);
        return std::move(grads);
    }
};

tensors rotate(TensorList x, const Tensor& position_ids, const Tensor& inv_freq, const Tensor& attention_factor,
               bool interleaved, bool heads_first) {
    const std::array<Tensor, 3> angles{position_ids, inv_freq, attention_factor};
    for (const TensorList inputs : {x, TensorList(angles)}) refuse_forward_mode("rotate", inputs);
    if (!want_gradients(x) && !want_gradients(angles)) {
        return call_rotate(x, position_ids, inv_freq, attention_factor, interleaved, heads_first);
    }
    return rotation::apply(x, position_ids, inv_freq, attention_factor, interleaved, heads_first);
}

// rotate_normalized -----------------------------------------------------------------------------------------------

struct norm_options {
    double eps;
    bool adds_one, over_all_heads, after_rotation, rounded_between;
};

tensors call_normalized(TensorList x, TensorList weights, const norm_options& norm, const Tensor& position_ids,
                        const Tensor& inv_freq, const Tensor& attention_factor, bool interleaved, bool heads_first) {
    using signature = tensors(TensorList, TensorList, double, bool, bool, bool, bool, const Tensor&, const Tensor&,
                              const Tensor&, bool, bool);
    static const auto op = operator_named<signature>("cordage::rotate_normalized");
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.call(x, weights, norm.eps, norm.adds_one, norm.over_all_heads, norm.after_rotation, norm.rounded_between,
                   position_ids, inv_freq, attention_factor, interleaved, heads_first);
}

struct normalized_rotation : Function<normalized_rotation> {
    static variable_list forward(AutogradContext* context, TensorList x, TensorList weights, const norm_options& norm,
                                 const Tensor& position_ids, const Tensor& inv_freq, const Tensor& attention_factor,
                                 bool interleaved, bool heads_first) {
        variable_list saved{position_ids, inv_freq, attention_factor};
        append(saved, x.vec());
        append(saved, weights.vec());
        context->save_for_backward(std::move(saved));
        context->saved_data["eps"] = norm.eps;
        context->saved_data["switches"] = c10::List<bool>(
            {norm.adds_one, norm.over_all_heads, norm.after_rotation, norm.rounded_between, interleaved, heads_first});
        return call_normalized(x, weights, norm, position_ids, inv_freq, attention_factor, interleaved, heads_first);
    }

    static variable_list backward(AutogradContext* context, variable_list grad_y) {
        using signature = std::tuple<tensors, tensors, Tensor, Tensor, Tensor>(
            TensorList, TensorList, TensorList, double, bool, bool, bool, bool, const Tensor&, const Tensor&,
            const Tensor&, bool, std::array<bool, 3>, bool, bool);
        static const auto op = operator_named<signature>("cordage::rotate_normalized_backward");
        saved_tensors saved(context);
        const Tensor &position_ids = saved.next(), &inv_freq = saved.next(), &attention_factor = saved.next();
        const TensorList x = saved.next(grad_y.size()), weights = saved.rest();
        bool wants_weights = false;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            wants_weights = wants_weights || context->needs_input_grad(x.size() + i);
        }
        const auto wanted = wanted_from(context, x.size() + weights.size());
        const auto is = context->saved_data["switches"].toBoolList();
        auto [grads, of_weights, ids, frequencies, factor] =
            call_below(op, TensorList(grad_y), x, weights, context->saved_data["eps"].toDouble(), is[0], is[1], is[2],
                       is[3], position_ids, inv_freq, attention_factor, is[4], wanted, wants_weights, is[5]);
        of_weights.resize(weights.size());
        append(grads, std::move(of_weights));
        grads.emplace_back();  // of norm_options
        append(grads, behind_of(wanted, std::move(ids), std::move(frequencies), std::move(factor)));
        grads.resize(grads.size() + 2);
        return std::move(grads);
    }
};

tensors rotate_normalized(TensorList x, TensorList weights, double eps, bool adds_one, bool over_all_heads,
                          bool after_rotation, bool rounded_between, const Tensor& position_ids, const Tensor& inv_freq,
                          const Tensor& attention_factor, bool interleaved, bool heads_first) {
    const std::array<Tensor, 3> angles{position_ids, inv_freq, attention_factor};
    const norm_options norm{eps, adds_one, over_all_heads, after_rotation, rounded_between};
    for (const TensorList inputs : {x, weights, TensorList(angles)}) refuse_forward_mode("rotate", inputs);
    if (!want_gradients(x) && !want_gradients(weights) && !want_gradients(angles)) {
        return call_normalized(x, weights, norm, position_ids, inv_freq, attention_factor, interleaved, heads_first);
    }
    return normalized_rotation::apply(x, weights, norm, position_ids, inv_freq, attention_factor, interleaved,
                                      heads_first);
}

// rotate_by_table -------------------------------------------------------------------------------------------------

auto table_operator() {
    return operator_named<tensors(TensorList, const Tensor&, const Tensor&, bool, bool, bool)>(
        "cordage::rotate_by_table");
}

struct rotation_by_table : Function<rotation_by_table> {
    static variable_list forward(AutogradContext* context, TensorList x, const Tensor& cos, const Tensor& sin,
                                 bool interleaved, bool adjoint, bool heads_first) {
        context->save_for_backward({cos, sin});
        context->saved_data["switches"] = c10::List<bool>({interleaved, adjoint, heads_first});
        const at::AutoDispatchBelowADInplaceOrView below;
        return table_operator().call(x, cos, sin, interleaved, adjoint, heads_first);
    }

    static variable_list backward(AutogradContext* context, variable_list grad_y) {
        saved_tensors saved(context);
        const Tensor &cos = saved.next(), &sin = saved.next();
        const auto is = context->saved_data["switches"].toBoolList();
        tensors grads = call_below(table_operator(), TensorList(grad_y), cos, sin, is[0], !is[1], is[2]);
        grads.resize(grads.size() + 5);
        return grads;
    }
};

tensors rotate_by_table(TensorList x, const Tensor& cos, const Tensor& sin, bool interleaved, bool adjoint,
                        bool heads_first) {
    const std::array<Tensor, 2> table{cos, sin};
    for (const TensorList inputs : {x, TensorList(table)}) refuse_forward_mode("rotate_by_table", inputs);
    TORCH_CHECK_VALUE(!want_gradients(table),
                      "rotate_by_table: cos and sin must not require a gradient; rotate computes those of inv_freq and "
                      "positions");
    if (!want_gradients(x)) {
        const at::AutoDispatchBelowADInplaceOrView below;
        return table_operator().call(x, cos, sin, interleaved, adjoint, heads_first);
    }
    return rotation_by_table::apply(x, cos, sin, interleaved, adjoint, heads_first);
}

}  // namespace

TORCH_LIBRARY_IMPL(cordage, Autograd, m) {
    m.impl("rotate", &rotate);
    m.impl("rotate_normalized", &rotate_normalized);
    m.impl("rotate_by_table", &rotate_by_table);
}

}  // namespace cordage_torch
