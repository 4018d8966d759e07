// SPDX-License-Identifier: MIT
// The entry points of the C interface, included by cordage.h in the one unit of a program that defines
// CORDAGE_C_IMPLEMENTATION.
#pragma once

#include <string_view>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/c/calls.hpp"
#include "cordage/models/checkpoint/read_model.hpp"
#include "cordage/models/checkpoint/with_weights.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/version.hpp"

namespace cordage::c {

#if defined(CORDAGE_DISPATCH)
inline const char* name_of_kernels() { return backend::chosen_kernels().load()->name; }
inline void select_kernels(const char* function, std::string_view name) {
    backend::chosen_kernels().store(backend::kernels_named(function, name));
}
#else
inline const char* name_of_kernels() { return "native"; }
inline void select_kernels(const char* function, std::string_view name) {
    if (name == "native" || name == "best") return;
    fail<value_error>(
        {function, ": name ", in_quotes(name), " must be 'native' or 'best': this library has no others"});
}
#endif

/// Makes the handle of the rule of one layer type.
inline void make_rule(const char* function, hf::layer_rope rope, cordage_rule** rule) {
    if (rope.needs_weights) {
        fail<value_error>({function, ": ", rope.clex ? "rope type 'clex'" : "a model with LeRoPE",
                           " needs its weights: use cordage_rule_from_file(..., checkpoint, ...)"});
    }
    handle_table::of_program().add<rule_object>(std::make_shared<rule_object>(rule_object{std::move(rope)}), rule);
}

inline hf::model_ropes model_of_files(const char* path, const char* checkpoint) {
    hf::model_ropes model = hf::read_model(path);
    return checkpoint == nullptr ? model : hf::with_weights(std::move(model), std::filesystem::path(checkpoint));
}

inline void make_basis_handle(basis numbers, cordage_basis** handle) {
    handle_table::of_program().add<basis_object>(std::make_shared<basis_object>(basis_object{std::move(numbers)}),
                                                 handle);
}
inline rope_scaling<> scaling_of(const rule_object& rule) {
    return {rule.rope.config, rule.rope.policy, rule.rope.schedule};
}

inline hf::layer_rope rule_of_numbers(const char* function, const cordage_rule_numbers& n) {
    hf::layer_rope rope;
    rope.config = {n.head_dim, n.rotary_dim, n.theta_base, n.original_length};
    switch (n.policy) {
        case CORDAGE_UNSCALED:
            break;
        case CORDAGE_LINEAR:
            rope.policy = linear{};
            break;
        case CORDAGE_NTK_AWARE:
            rope.policy = ntk_aware{};
            break;
        case CORDAGE_YARN:
            rope.policy = yarn{};
            break;
        case CORDAGE_LLAMA3:
            rope.policy = llama3{};
            break;
        default:
            fail<value_error>(
                {function, ": numbers.policy ", n.policy, " must be CORDAGE_UNSCALED (1) to CORDAGE_LLAMA3 (5)"});
    }
    switch (n.schedule) {
        case CORDAGE_FIXED:
            rope.schedule = fixed{n.factor};
            break;
        case CORDAGE_CONTINUOUS:
            rope.schedule = continuous{n.factor};
            break;
        case CORDAGE_DYNAMIC:
            rope.schedule = dynamic{n.factor};
            break;
        default:
            fail<value_error>({function, ": numbers.schedule ", n.schedule,
                               " must be CORDAGE_FIXED (1), CORDAGE_CONTINUOUS (2) or CORDAGE_DYNAMIC (3)"});
    }
    validate_ratio({function, ": numbers.factor"}, n.factor);
    (void)rope_scaling<>(rope.config, rope.policy, rope.schedule);
    return rope;
}

/// @throws shape_error  unless `given` is the number of pairs
inline void check_pairs(const char* function, std::int64_t given, index_t pairs) {
    if (given != pairs) fail<shape_error>({function, ": pairs ", given, " must be rotary_dim/2 = ", pairs});
}

/// Copies of the positions and bases of angles.
inline std::shared_ptr<const origin_of_angles> origin_of(const char* function, const cordage_basis* const* bases,
                                                         std::int64_t count, const cordage_tensor& position_ids,
                                                         const cordage_angle_options& options) {
    constexpr std::int64_t most_bases = 1 << 20;
    if (count < 1 || count > most_bases)
        fail<value_error>({function, ": count ", count, " of bases must be 1 to ", most_bases});
    if (options.rounds_to_float32 != 0 && options.rounds_to_float32 != 1) {
        fail<value_error>({function, ": options.rounds_to_float32 ", options.rounds_to_float32, " must be 0 or 1"});
    }
    std::vector<std::shared_ptr<const basis_object>> objects;
    std::vector<const basis*> all;
    for (std::int64_t i = 0; i < count; ++i) {
        objects.push_back(
            handle_table::of_program().find<basis_object>(function, message("bases[", i, "]").c_str(), bases[i]));
        all.push_back(&objects.back()->numbers);
    }
    auto made = std::make_shared<origin_of_angles>(basis_list(all));
    const argument ids{function, "position_ids"};
    const bool has_axes = options.axis_of_pair != nullptr;
    const strided s = strided_of(ids, position_ids, has_axes ? 2 : 1, has_axes ? 3 : 2,
                                 {CORDAGE_INT32, CORDAGE_INT64, CORDAGE_FLOAT32, CORDAGE_FLOAT64});
    const bool has_rows = s.axes == (has_axes ? 3 : 2);
    const int row_axis = has_axes ? 1 : 0;
    made->axes = has_axes ? s.shape[0] : 1;
    made->rows = has_rows ? s.shape[row_axis] : 1;
    made->tokens = s.size_from_end(0);
    if (made->axes < 1 || made->axes > most_axes || made->rows < 1) {
        ids.refuse<shape_error>({" [", made->axes, ", ", made->rows, ", ", made->tokens, "] must have 1 to ", most_axes,
                                 " axes and at least one row"});
    }
    if (!is_addressable(view_axis{made->axes, has_axes ? s.strides[0] : 0},
                        view_axis{made->rows, has_rows ? s.strides[row_axis] : 0},
                        view_axis{made->tokens, s.stride_from_end(0)})) {
        ids.refuse<shape_error>(
            {" [", made->axes, ", ", made->rows, ", ", made->tokens, "] must span at most 2^58 entries"});
    }
    const index_t pairs = made->bases.pairs();
    made->axis_of_pair = has_axes ? std::vector<std::uint8_t>(options.axis_of_pair, options.axis_of_pair + pairs)
                                  : std::vector<std::uint8_t>(static_cast<std::size_t>(pairs), 0);
    made->rounds_to_float32 = options.rounds_to_float32 == 1;
    if (made->rounds_to_float32 && has_axes) {
        fail<value_error>({function, ": options.rounds_to_float32 1 must be 0 with axis_of_pair"});
    }
    if (options.basis_of_token != nullptr) {
        const argument of{function, "options.basis_of_token"};
        const strided index = strided_of(of, *options.basis_of_token, 1, 2, {CORDAGE_INT32});
        expect_dense(of, index, 0);
        made->has_basis_of_token = true;
        made->rows_of_basis = index.axes == 2 ? index.shape[0] : 1;
        const index_t entries = saturated_product(made->rows_of_basis, index.size_from_end(0));
        if (made->rows_of_basis < 1 || index.size_from_end(0) != made->tokens) {
            of.refuse<shape_error>({" must be [tokens] or [batch, tokens] of ", made->tokens, " tokens"});
        }
        const auto* const first = static_cast<const std::int32_t*>(index.data);
        if (entries > 0) made->basis_of_token.assign(first, first + entries);
    }
    const auto read = [&]<class P>(const P* from) {
        made->position_ids.reserve(static_cast<std::size_t>(made->axes * made->rows * made->tokens));
        for (index_t axis = 0; axis < made->axes; ++axis) {
            for (index_t row = 0; row < made->rows; ++row) {
                const index_t at = (has_axes ? axis * s.strides[0] : 0) + (has_rows ? row * s.strides[row_axis] : 0);
                for (index_t token = 0; token < made->tokens; ++token) {
                    const P p = from[at + token * s.stride_from_end(0)];
                    made->position_ids.push_back({position_traits<P>::split(p), position_traits<P>::value(p)});
                }
            }
        }
    };
    switch (s.type->dtype) {
        case CORDAGE_INT32:
            read(static_cast<const std::int32_t*>(s.data));
            break;
        case CORDAGE_INT64:
            read(static_cast<const std::int64_t*>(s.data));
            break;
        case CORDAGE_FLOAT32:
            read(static_cast<const float*>(s.data));
            break;
        default:
            read(static_cast<const double*>(s.data));
    }
    if (made->tokens == 0) made->position_ids.reserve(1);  // so that data is not null
    made->rounds_to_float32 ? made->float32().check(function) : made->exact().check(function);
    return made;
}

}  // namespace cordage::c

#ifdef CORDAGE_C_IMPLEMENTATION

#define CORDAGE_C_TEXT_OF(x) #x
#define CORDAGE_C_TEXT(x) CORDAGE_C_TEXT_OF(x)

// NOLINTBEGIN(misc-definitions-in-headers): one unit of a program defines CORDAGE_C_IMPLEMENTATION
extern "C" {

const char* cordage_last_error(void) { return cordage::c::last_error(); }
int32_t cordage_abi(void) { return CORDAGE_ABI; }
const char* cordage_version(void) {
    return CORDAGE_C_TEXT(CORDAGE_VERSION_MAJOR) "." CORDAGE_C_TEXT(CORDAGE_VERSION_MINOR) "." CORDAGE_C_TEXT(
        CORDAGE_VERSION_PATCH);
}

const char* cordage_kernels(void) { return cordage::c::name_of_kernels(); }
cordage_status cordage_select_kernels(const char* name) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "name", name);
        cordage::c::select_kernels(function, name);
    });
}

cordage_status cordage_tensor_from_dlpack(const void* dl_tensor, cordage_tensor* tensor) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "dl_tensor", dl_tensor);
        cordage::c::expect_pointer(function, "tensor", tensor);
        *tensor =
            cordage::c::tensor_from_dlpack(function, *static_cast<const cordage::dlpack::tensor*>(dl_tensor), false);
    });
}
cordage_status cordage_tensor_from_dlpack_managed(const void* dl_managed, cordage_tensor* tensor) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "dl_managed", dl_managed);
        cordage::c::expect_pointer(function, "tensor", tensor);
        const auto& managed = *static_cast<const cordage::dlpack::managed_tensor_versioned*>(dl_managed);
        if (managed.version.major != cordage::dlpack::major_version) {
            cordage::fail<cordage::value_error>({function, ": dl_managed.version ", managed.version.major, ".",
                                                 managed.version.minor, " must be ", cordage::dlpack::major_version,
                                                 ".x"});
        }
        *tensor = cordage::c::tensor_from_dlpack(function, managed.dl_tensor,
                                                 (managed.flags & cordage::dlpack::read_only_flag) != 0);
    });
}

cordage_status cordage_rule_from_config(int32_t abi, const char* config, const char* layer_type, cordage_rule** rule) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::check_abi(function, abi);
        cordage::c::expect_pointer(function, "config", config);
        cordage::c::expect_pointer(function, "rule", rule);
        cordage::c::make_rule(function, cordage::hf::read_config(config).of(layer_type == nullptr ? "" : layer_type),
                              rule);
    });
}
cordage_status cordage_rule_from_file(int32_t abi, const char* path, const char* checkpoint, const char* layer_type,
                                      cordage_rule** rule) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::check_abi(function, abi);
        cordage::c::expect_pointer(function, "path", path);
        cordage::c::expect_pointer(function, "rule", rule);
        cordage::c::make_rule(
            function, cordage::c::model_of_files(path, checkpoint).of(layer_type == nullptr ? "" : layer_type), rule);
    });
}
cordage_status cordage_model_from_file(int32_t abi, const char* path, const char* checkpoint, cordage_model** model) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::check_abi(function, abi);
        cordage::c::expect_pointer(function, "path", path);
        cordage::c::expect_pointer(function, "model", model);
        cordage::c::handle_table::of_program().add<cordage::c::model_object>(
            std::make_shared<cordage::c::model_object>(
                cordage::c::model_object{cordage::c::model_of_files(path, checkpoint)}),
            model);
    });
}
cordage_status cordage_model_get_info(const cordage_model* model, cordage_model_info* info) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "info", info);
        const auto found =
            cordage::c::handle_table::of_program().find<cordage::c::model_object>(function, "model", model);
        *info = {std::ssize(found->ropes.layers), std::ssize(found->ropes.ropes), found->ropes.max_length};
    });
}
cordage_status cordage_rule_of_layer(const cordage_model* model, int64_t layer, cordage_rule** rule) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "rule", rule);
        const auto found =
            cordage::c::handle_table::of_program().find<cordage::c::model_object>(function, "model", model);
        cordage::c::make_rule(function, found->ropes.at(layer), rule);
    });
}
cordage_status cordage_rule_of_indexer(const cordage_model* model, int64_t layer, cordage_rule** rule) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "rule", rule);
        const auto found =
            cordage::c::handle_table::of_program().find<cordage::c::model_object>(function, "model", model);
        const cordage::hf::layer_rope* const indexer = found->ropes.indexer_at(layer);
        *rule = nullptr;
        if (indexer != nullptr) cordage::c::make_rule(function, *indexer, rule);
    });
}
cordage_status cordage_rule_from_numbers(int32_t abi, const cordage_rule_numbers* numbers, cordage_rule** rule) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::check_abi(function, abi);
        cordage::c::expect_pointer(function, "numbers", numbers);
        cordage::c::expect_pointer(function, "rule", rule);
        cordage::c::make_rule(function, cordage::c::rule_of_numbers(function, *numbers), rule);
    });
}
cordage_status cordage_rule_get_info(const cordage_rule* rule, cordage_rule_info* info) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "info", info);
        const auto found = cordage::c::handle_table::of_program().find<cordage::c::rule_object>(function, "rule", rule);
        const cordage::hf::layer_rope& rope = found->rope;
        const auto& axes = rope.axis_of_pair;
        using layout = cordage::hf::pair_layout;
        const int32_t pairing = rope.layout == layout::half_split    ? CORDAGE_HALF_SPLIT
                                : rope.layout == layout::interleaved ? CORDAGE_INTERLEAVED
                                                                     : 0;
        *info = {rope.config.head_dim,
                 rope.config.rotary_dim,
                 rope.first_lane,
                 rope.config.theta_base,
                 rope.config.original_length,
                 pairing,
                 axes.empty() ? 1 : 1 + static_cast<int32_t>(*std::max_element(axes.begin(), axes.end())),
                 rope.is_inverse ? 1 : 0,
                 rope.has_head_temperatures ? 1 : 0,
                 rope.temperature ? rope.temperature->beta : 0.0,
                 rope.temperature ? rope.temperature->block_length : 0.0,
                 rope.temperature ? rope.temperature->counted_from : 0.0,
                 rope.clex && rope.clex->log_scale ? 1 : 0,
                 rope.rotates() ? 0 : 1};
    });
}
cordage_status cordage_rule_get_axes(const cordage_rule* rule, uint8_t* axis_of_pair, int64_t pairs) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "axis_of_pair", axis_of_pair);
        const auto found = cordage::c::handle_table::of_program().find<cordage::c::rule_object>(function, "rule", rule);
        cordage::c::check_pairs(function, pairs, found->rope.config.pairs());
        const auto& axes = found->rope.axis_of_pair;
        if (axes.empty()) std::fill_n(axis_of_pair, pairs, std::uint8_t{0});
        std::copy(axes.begin(), axes.end(), axis_of_pair);
    });
}

cordage_status cordage_basis_at_length(const cordage_rule* rule, double length, cordage_basis** basis) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "basis", basis);
        const auto found = cordage::c::handle_table::of_program().find<cordage::c::rule_object>(function, "rule", rule);
        cordage::c::make_basis_handle(cordage::c::scaling_of(*found).at_length(length), basis);
    });
}
cordage_status cordage_basis_at_ratio(const cordage_rule* rule, double t, cordage_basis** basis) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "basis", basis);
        const auto found = cordage::c::handle_table::of_program().find<cordage::c::rule_object>(function, "rule", rule);
        cordage::c::make_basis_handle(cordage::c::scaling_of(*found).at_ratio(t), basis);
    });
}
cordage_status cordage_basis_from_numbers(int32_t abi, const double* inv_freq, int64_t pairs, double attention_factor,
                                          cordage_basis** basis) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::check_abi(function, abi);
        cordage::c::expect_pointer(function, "inv_freq", inv_freq);
        cordage::c::expect_pointer(function, "basis", basis);
        if (pairs < 1 || pairs > cordage::largest_head_dim / 2) {
            cordage::fail<cordage::value_error>(
                {function, ": pairs ", pairs, " must be 1 to ", cordage::largest_head_dim / 2});
        }
        cordage::c::make_basis_handle(cordage::basis(std::vector<double>(inv_freq, inv_freq + pairs), attention_factor),
                                      basis);
    });
}
cordage_status cordage_basis_get_info(const cordage_basis* basis, cordage_basis_info* info) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "info", info);
        const auto found =
            cordage::c::handle_table::of_program().find<cordage::c::basis_object>(function, "basis", basis);
        const cordage::basis& b = found->numbers;
        *info = {b.pairs(), b.attention_factor(), b.fingerprint()};
    });
}
cordage_status cordage_basis_get_inv_freq(const cordage_basis* basis, double* inv_freq, int64_t pairs) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "inv_freq", inv_freq);
        const auto found =
            cordage::c::handle_table::of_program().find<cordage::c::basis_object>(function, "basis", basis);
        cordage::c::check_pairs(function, pairs, found->numbers.pairs());
        std::ranges::copy(found->numbers.inv_freq(), inv_freq);
    });
}

cordage_status cordage_angles_create(const cordage_basis* const* bases, int64_t count,
                                     const cordage_tensor* position_ids, const cordage_angle_options* options,
                                     cordage_angles** angles) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "bases", bases);
        cordage::c::expect_pointer(function, "position_ids", position_ids);
        cordage::c::expect_pointer(function, "angles", angles);
        const cordage_angle_options none{};
        auto origin =
            cordage::c::origin_of(function, bases, count, *position_ids, options == nullptr ? none : *options);
        cordage::c::handle_table::of_program().add<cordage::c::angles_object>(
            std::make_shared<cordage::c::angles_object>(std::move(origin)), angles);
    });
}
cordage_status cordage_angles_difference(const cordage_angles* to, const cordage_angles* from,
                                         cordage_angles** difference) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::expect_pointer(function, "difference", difference);
        auto& table = cordage::c::handle_table::of_program();
        const auto a = table.find<cordage::c::angles_object>(function, "to", to);
        const auto b = table.find<cordage::c::angles_object>(function, "from", from);
        for (const auto& [name, of] : {std::pair{"to", &a}, std::pair{"from", &b}}) {
            if (!(*of)->is_difference() && !(*of)->to()->rounds_to_float32) continue;
            cordage::fail<cordage::value_error>(
                {function, ": ", name, " must be exact angles of cordage_angles_create, not rounded to float32"});
        }
        (a->to()->exact() - b->to()->exact()).check(function);
        table.add<cordage::c::angles_object>(std::make_shared<cordage::c::angles_object>(a->to(), b->to()), difference);
    });
}

cordage_status cordage_model_destroy(cordage_model* model) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::handle_table::of_program().remove<cordage::c::model_object>(function, model);
    });
}
cordage_status cordage_rule_destroy(cordage_rule* rule) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::handle_table::of_program().remove<cordage::c::rule_object>(function, rule);
    });
}
cordage_status cordage_basis_destroy(cordage_basis* basis) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::handle_table::of_program().remove<cordage::c::basis_object>(function, basis);
    });
}
cordage_status cordage_angles_destroy(cordage_angles* angles) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::handle_table::of_program().remove<cordage::c::angles_object>(function, angles);
    });
}

cordage_status cordage_rotate_forward(const cordage_executor* where, const cordage_angles* angles, int32_t pairing,
                                      const cordage_operand* operands, int64_t count) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::rotate_call(function, where, angles, pairing, operands, count, cordage::c::direction::forward,
                                false);
    });
}
cordage_status cordage_rotate_inverse(const cordage_executor* where, const cordage_angles* angles, int32_t pairing,
                                      const cordage_operand* operands, int64_t count) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::rotate_call(function, where, angles, pairing, operands, count, cordage::c::direction::inverse,
                                false);
    });
}
cordage_status cordage_rebase(const cordage_executor* where, const cordage_angles* difference, int32_t pairing,
                              const cordage_operand* operands, int64_t count) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::rotate_call(function, where, difference, pairing, operands, count, cordage::c::direction::forward,
                                true);
    });
}
cordage_status cordage_rotate_backward(const cordage_executor* where, const cordage_angles* angles, int32_t pairing,
                                       const cordage_gradients* gradients, const cordage_backward_operand* operands,
                                       int64_t count) {
    return cordage::c::guarded(__func__, [&](const char* function) {
        cordage::c::backward_call(function, where, angles, pairing, gradients, operands, count);
    });
}

}  // extern "C"
// NOLINTEND(misc-definitions-in-headers)

#undef CORDAGE_C_TEXT
#undef CORDAGE_C_TEXT_OF

#endif
