// SPDX-License-Identifier: MIT
// The operators cordage::*, with their kernels for the CPU. Fake kernels, and the gradient of CLEX, are in
// cordage_torch/.
#include <Python.h>
#include <torch/library.h>

#include "clex_model.hpp"
#include "config_rule.hpp"
#include "rotate.hpp"
#include "rotate_by_table.hpp"

namespace cordage_torch {

namespace {

using at::Tensor;

// CLEX ------------------------------------------------------------------------------------------------------------

std::span<const double> numbers(const Tensor& x) { return {x.data_ptr<double>(), static_cast<std::size_t>(x.numel())}; }

std::shared_ptr<const clex_model> solved(const Tensor& up, const Tensor& down, const clex_settings& settings) {
    if (up.dim() != 2 || down.dim() != 2 || up.size(0) != down.size(1) || up.size(1) != down.size(0)) {
        throw cordage::shape_error("CLEX: W_up and W_down must be [hidden, rotary_dim/2] and [rotary_dim/2, hidden]");
    }
    const Tensor up_here = up.to(at::kCPU, at::kDouble).contiguous(),
                 down_here = down.to(at::kCPU, at::kDouble).contiguous();
    const auto u = numbers(up_here), d = numbers(down_here);
    return solved_clex(settings, {up.size(0), up.size(1), {u.begin(), u.end()}, {d.begin(), d.end()}});
}

Tensor times_here(const Tensor& t) { return t.to(at::kCPU, at::kDouble).contiguous().reshape({-1}); }

clex_settings settings_of(const Tensor& up, double theta_base, double original_length, double t_max, std::string field,
                          std::string activation, std::string prior, std::vector<double> prior_numbers,
                          double tolerance, double step_size) {
    const std::int64_t rotary_dim = up.dim() == 2 ? 2 * up.size(1) : 0;
    return {{rotary_dim, rotary_dim, theta_base, original_length},
            t_max,
            std::move(field),
            std::move(activation),
            std::move(prior),
            std::move(prior_numbers),
            tolerance,
            step_size};
}

std::tuple<Tensor, Tensor> clex(const Tensor& up, const Tensor& down, const Tensor& t, double theta_base,
                                double original_length, double t_max, std::string field, std::string activation,
                                std::string prior, std::vector<double> prior_numbers, double tolerance,
                                double step_size) {
    return guarded([&] {
        const auto model = solved(up, down,
                                  settings_of(up, theta_base, original_length, t_max, field, activation, prior,
                                              prior_numbers, tolerance, step_size));
        const Tensor ts = times_here(t);
        const Tensor inv_freq = at::empty({ts.numel(), up.size(1)}, ts.options()), factor = at::empty_like(ts);
        for (std::int64_t i = 0; i < ts.numel(); ++i) {
            const std::span row(inv_freq.data_ptr<double>() + i * up.size(1), static_cast<std::size_t>(up.size(1)));
            factor.data_ptr<double>()[i] = model->inv_freq(ts.data_ptr<double>()[i], row);
        }
        return std::tuple(inv_freq, factor);
    });
}

std::tuple<Tensor, Tensor> clex_backward(const Tensor& grad_inv_freq, const Tensor& up, const Tensor& down,
                                         const Tensor& t, double theta_base, double original_length, double t_max,
                                         std::string field, std::string activation, std::string prior,
                                         std::vector<double> prior_numbers, double tolerance, double step_size) {
    return guarded([&] {
        const auto model = solved(up, down,
                                  settings_of(up, theta_base, original_length, t_max, field, activation, prior,
                                              prior_numbers, tolerance, step_size));
        const Tensor ts = times_here(t), grad = grad_inv_freq.to(at::kCPU, at::kDouble).contiguous();
        if (grad.numel() != ts.numel() * up.size(1)) {
            throw cordage::shape_error(cordage::message("CLEX: grad_inv_freq has ", grad.numel(),
                                                        " numbers, must have ", ts.numel(), " * rotary_dim/2 ",
                                                        up.size(1)));
        }
        std::vector<double> flat = model->weight_gradient(numbers(ts), numbers(grad));
        const Tensor both = at::from_blob(flat.data(), {2, up.numel()}, at::kDouble);
        return std::tuple(both[0].reshape(up.sizes()).to(up.options(), false, true),
                          both[1].reshape(down.sizes()).to(down.options(), false, true));
    });
}

// Configs ---------------------------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> config_basis(const Tensor& length, std::string config_json, std::string layer_type,
                                        bool is_scaled) {
    return guarded([&] {
        const cordage::basis basis =
            basis_of_config(config_json, layer_type, is_scaled, length.to(at::kDouble).item<double>());
        const Tensor inv_freq = at::empty({basis.pairs()}, at::kDouble);
        std::ranges::copy(basis.inv_freq(), inv_freq.data_ptr<double>());
        return std::tuple(inv_freq, at::scalar_tensor(basis.attention_factor(), at::kDouble));
    });
}

std::string config_rule(std::string config_json, std::string layer_type, bool is_scaled) {
    return guarded([&] { return describe_rule(config_json, layer_type, is_scaled); });
}

constexpr const char* clex_arguments =
    "Tensor up, Tensor down, Tensor t, float theta_base, float original_length, float t_max, str field, "
    "str activation, str prior, float[] prior_numbers, float tolerance, float step_size";

}  // namespace

TORCH_LIBRARY(cordage, m) {
    m.def(
        "rotate(Tensor[] x, Tensor position_ids, Tensor inv_freq, Tensor attention_factor, bool interleaved, "
        "bool heads_first=False) -> Tensor[]");
    m.def(
        "rotate_backward(Tensor[] grad_y, Tensor[] y, Tensor position_ids, Tensor inv_freq, Tensor attention_factor, "
        "bool interleaved, bool[3] wanted, bool heads_first=False) -> (Tensor[], Tensor, Tensor, Tensor)");
    m.def(
        "rotate_by_table(Tensor[] x, Tensor cos, Tensor sin, bool interleaved, bool adjoint, bool heads_first=False) "
        "-> Tensor[]");
    m.def(("clex(" + std::string(clex_arguments) + ") -> (Tensor, Tensor)").c_str());
    m.def(("clex_backward(Tensor grad_inv_freq, " + std::string(clex_arguments) + ") -> (Tensor, Tensor)").c_str());
    m.def("config_basis(Tensor length, str config_json, str layer_type, bool is_scaled=False) -> (Tensor, Tensor)");
    m.def("config_rule(str config_json, str layer_type, bool is_scaled=False) -> str", &config_rule);
}

TORCH_LIBRARY_IMPL(cordage, CPU, m) {
    m.impl("rotate", &rotate<cordage::aten::on_cpu>);
    m.impl("rotate_backward", &rotate_backward<cordage::aten::on_cpu>);
    m.impl("rotate_by_table", &rotate_by_table<table_on_cpu>);
    m.impl("clex", &clex);
    m.impl("clex_backward", &clex_backward);
    m.impl("config_basis", &config_basis);
}

// Bases are computed and returned on the CPU, independent of the device of weights and length.
TORCH_LIBRARY_IMPL(cordage, CUDA, m) {
    m.impl("clex", &clex);
    m.impl("clex_backward", &clex_backward);
    m.impl("config_basis", &config_basis);
}

}  // namespace cordage_torch

/// The module has no functions of its own: importing it registers the operators. Its name is setup.py's.
PyMODINIT_FUNC C10_CONCATENATE(PyInit_, TORCH_EXTENSION_NAME)() {
    static PyModuleDef definition{
        .m_base = PyModuleDef_HEAD_INIT, .m_name = C10_STRINGIZE(TORCH_EXTENSION_NAME), .m_size = -1};
    return PyModule_Create(&definition);
}
