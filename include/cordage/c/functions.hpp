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
                           " needs its weights: give the checkpoint to cordage_rule_from_file or "
                           "cordage_model_from_file"});
    }
    create<hf::layer_rope>(rule, std::move(rope));
}

inline hf::model_ropes model_of_files(const char* path, const char* checkpoint) {
    hf::model_ropes model = hf::read_model(path);
    if (checkpoint == nullptr) return model;
    return hf::with_weights(std::move(model), cordage::checkpoint(std::filesystem::path(checkpoint)));
}

inline rope_scaling<> scaling_of(const hf::layer_rope& rope) { return {rope.config, rope.policy, rope.schedule}; }

inline hf::layer_rope rule_of_numbers(const char* function, const cordage_rule_numbers& n) {
    if (n.policy < CORDAGE_UNSCALED || n.policy > CORDAGE_LLAMA3) {
        fail<value_error>(
            {function, ": numbers.policy ", n.policy, " must be CORDAGE_UNSCALED (1) to CORDAGE_LLAMA3 (5)"});
    }
    if (n.schedule < CORDAGE_FIXED || n.schedule > CORDAGE_DYNAMIC) {
        fail<value_error>({function, ": numbers.schedule ", n.schedule,
                           " must be CORDAGE_FIXED (1), CORDAGE_CONTINUOUS (2) or CORDAGE_DYNAMIC (3)"});
    }
    hf::layer_rope rope;
    rope.config = {n.head_dim, n.rotary_dim, n.theta_base, n.original_length};
    rope.policy = n.policy == CORDAGE_UNSCALED    ? any_policy(unscaled{})
                  : n.policy == CORDAGE_LINEAR    ? any_policy(linear{})
                  : n.policy == CORDAGE_NTK_AWARE ? any_policy(ntk_aware{})
                  : n.policy == CORDAGE_YARN      ? any_policy(yarn{})
                                                  : any_policy(llama3{});
    rope.schedule = n.schedule == CORDAGE_FIXED        ? any_schedule(fixed{n.factor})
                    : n.schedule == CORDAGE_CONTINUOUS ? any_schedule(continuous{n.factor})
                                                       : any_schedule(dynamic{n.factor});
    validate_ratio({function, ": numbers.factor"}, n.factor);
    (void)scaling_of(rope);
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
    const bool rounds = is_set({function, "options"}, ".rounds_to_float32", options.rounds_to_float32);
    std::vector<std::shared_ptr<const basis>> objects;
    std::vector<const basis*> all;
    for (std::int64_t i = 0; i < count; ++i) {
        objects.push_back(find<basis>(function, bases[i], message("bases[", i, "]").c_str()));
        all.push_back(objects.back().get());
    }
    auto made = std::make_shared<origin_of_angles>(basis_list(all));
    const argument ids{function, "position_ids"};
    const bool has_axes = options.axis_of_pair != nullptr;
    const strided s = strided_of(ids, position_ids, has_axes ? 2 : 1, has_axes ? 3 : 2,
                                 {CORDAGE_INT32, CORDAGE_INT64, CORDAGE_FLOAT32, CORDAGE_FLOAT64});
    const view_axis axes = s.from_end(has_axes ? s.axes - 1 : s.axes), tokens = s.from_end(0);
    const view_axis rows = s.from_end(has_axes && s.axes == 2 ? 2 : 1);
    if (axes.size < 1 || axes.size > most_axes || rows.size < 1) {
        ids.refuse<shape_error>({" [", axes.size, ", ", rows.size, ", ", tokens.size, "] must have 1 to ", most_axes,
                                 " axes and at least one row"});
    }
    constexpr index_t most_copied = index_t{1} << 48;
    if (!is_addressable(axes, rows, tokens) || axes.size * rows.size * tokens.size > most_copied) {
        ids.refuse<shape_error>({" [", axes.size, ", ", rows.size, ", ", tokens.size,
                                 "] must span at most 2^58 entries and have at most 2^48, since they are copied"});
    }
    made->axes = axes.size, made->rows = rows.size, made->tokens = tokens.size;
    const index_t pairs = made->bases.pairs();
    made->axis_of_pair = has_axes ? std::vector<std::uint8_t>(options.axis_of_pair, options.axis_of_pair + pairs)
                                  : std::vector<std::uint8_t>(static_cast<std::size_t>(pairs), 0);
    made->rounds_to_float32 = rounds;
    if (rounds && has_axes) {
        fail<value_error>({function, ": options.rounds_to_float32 1 must be 0 with axis_of_pair"});
    }
    if (options.basis_of_token != nullptr) {
        const argument of{function, "options.basis_of_token"};
        const strided index = strided_of(of, *options.basis_of_token, 1, 2, {CORDAGE_INT32});
        expect_dense(of, index, 0);
        made->has_basis_of_token = true;
        made->rows_of_basis = index.from_end(1).size;
        const index_t entries = saturated_product(made->rows_of_basis, index.from_end(0).size);
        if (made->rows_of_basis < 1 || index.from_end(0).size != made->tokens) {
            of.refuse<shape_error>({" must be [tokens] or [batch, tokens] of ", made->tokens, " tokens"});
        }
        const auto* const first = static_cast<const std::int32_t*>(index.data);
        if (entries > 0) made->basis_of_token.assign(first, first + entries);
    }
    made->position_ids.reserve(static_cast<std::size_t>(axes.size * rows.size * tokens.size));
    dlpack::detail::for_type<std::int32_t, std::int64_t, float, double>(s.type->in_dlpack, [&]<class P>(P) {
        for (index_t axis = 0; axis < axes.size; ++axis) {
            for (index_t row = 0; tokens.size > 0 && row < rows.size; ++row) {
                for (index_t token = 0; token < tokens.size; ++token) {
                    const index_t at = axis * axes.stride + row * rows.stride + token * tokens.stride;
                    const P p = static_cast<const P*>(s.data)[at];
                    made->position_ids.push_back({position_traits<P>::split(p), position_traits<P>::value(p)});
                }
            }
        }
    });
    rounds ? made->float32().check(function) : made->exact().check(function);
    return made;
}

#ifdef CORDAGE_C_IMPLEMENTATION

#define CORDAGE_C_TEXT_OF(x) #x
#define CORDAGE_C_TEXT(x) CORDAGE_C_TEXT_OF(x)

// NOLINTBEGIN(misc-definitions-in-headers): one unit of a program defines CORDAGE_C_IMPLEMENTATION
extern "C" {

CORDAGE_C_API const char* cordage_last_error(void) { return last_error(); }
CORDAGE_C_API int32_t cordage_abi(void) { return CORDAGE_ABI; }
CORDAGE_C_API const char* cordage_version(void) {
    return CORDAGE_C_TEXT(CORDAGE_VERSION_MAJOR) "." CORDAGE_C_TEXT(CORDAGE_VERSION_MINOR) "." CORDAGE_C_TEXT(
        CORDAGE_VERSION_PATCH);
}

CORDAGE_C_API const char* cordage_kernels(void) { return name_of_kernels(); }
CORDAGE_C_API cordage_status cordage_select_kernels(const char* name) {
    return guarded(__func__, {{"name", name}}, [&](const char* function) { select_kernels(function, name); });
}

CORDAGE_C_API cordage_status cordage_tensor_from_dlpack(const void* dl_tensor, cordage_tensor* tensor) {
    return guarded(__func__, {{"dl_tensor", dl_tensor}, {"tensor", tensor}}, [&](const char* function) {
        *tensor = tensor_from_dlpack(function, *static_cast<const dlpack::tensor*>(dl_tensor), false);
    });
}
CORDAGE_C_API cordage_status cordage_tensor_from_dlpack_managed(const void* dl_managed, cordage_tensor* tensor) {
    return guarded(__func__, {{"dl_managed", dl_managed}, {"tensor", tensor}}, [&](const char* function) {
        const auto& managed = *static_cast<const dlpack::managed_tensor_versioned*>(dl_managed);
        if (managed.version.major != dlpack::major_version) {
            fail<value_error>({function, ": dl_managed.version ", managed.version.major, ".", managed.version.minor,
                               " must be ", dlpack::major_version, ".x"});
        }
        *tensor = tensor_from_dlpack(function, managed.dl_tensor, (managed.flags & dlpack::read_only_flag) != 0);
    });
}

CORDAGE_C_API cordage_status cordage_rule_from_config(int32_t abi, const char* config, const char* layer_type,
                                                      cordage_rule** rule) {
    return guarded(__func__, abi, {{"config", config}, {"rule", rule}}, [&](const char* function) {
        make_rule(function, hf::read_config(config).of(layer_type == nullptr ? "" : layer_type), rule);
    });
}
CORDAGE_C_API cordage_status cordage_rule_from_file(int32_t abi, const char* path, const char* checkpoint,
                                                    const char* layer_type, cordage_rule** rule) {
    return guarded(__func__, abi, {{"path", path}, {"rule", rule}}, [&](const char* function) {
        make_rule(function, model_of_files(path, checkpoint).of(layer_type == nullptr ? "" : layer_type), rule);
    });
}
CORDAGE_C_API cordage_status cordage_model_from_file(int32_t abi, const char* path, const char* checkpoint,
                                                     cordage_model** model) {
    return guarded(__func__, abi, {{"path", path}, {"model", model}},
                   [&](const char*) { create<hf::model_ropes>(model, model_of_files(path, checkpoint)); });
}
CORDAGE_C_API cordage_status cordage_model_get_info(const cordage_model* model, cordage_model_info* info) {
    return guarded(__func__, {{"info", info}}, [&](const char* function) {
        const auto found = find<hf::model_ropes>(function, model);
        *info = {std::ssize(found->layers), std::ssize(found->ropes), found->max_length};
    });
}
CORDAGE_C_API cordage_status cordage_rule_of_layer(const cordage_model* model, int64_t layer, cordage_rule** rule) {
    return guarded(__func__, {{"rule", rule}}, [&](const char* function) {
        make_rule(function, find<hf::model_ropes>(function, model)->at(layer), rule);
    });
}
CORDAGE_C_API cordage_status cordage_rule_of_indexer(const cordage_model* model, int64_t layer, cordage_rule** rule) {
    return guarded(__func__, {{"rule", rule}}, [&](const char* function) {
        const auto found = find<hf::model_ropes>(function, model);
        const hf::layer_rope* const indexer = found->indexer_at(layer);
        if (indexer == nullptr)
            *rule = nullptr;
        else
            make_rule(function, *indexer, rule);
    });
}
CORDAGE_C_API cordage_status cordage_rule_from_numbers(int32_t abi, const cordage_rule_numbers* numbers,
                                                       cordage_rule** rule) {
    return guarded(__func__, abi, {{"numbers", numbers}, {"rule", rule}},
                   [&](const char* function) { make_rule(function, rule_of_numbers(function, *numbers), rule); });
}
CORDAGE_C_API cordage_status cordage_rule_get_info(const cordage_rule* rule, cordage_rule_info* info) {
    return guarded(__func__, {{"info", info}}, [&](const char* function) {
        const auto found = find<hf::layer_rope>(function, rule);
        const hf::layer_rope& rope = *found;
        const auto& axes = rope.axis_of_pair;
        using layout = hf::pair_layout;
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
CORDAGE_C_API cordage_status cordage_rule_get_axes(const cordage_rule* rule, uint8_t* axis_of_pair, int64_t pairs) {
    return guarded(__func__, {{"axis_of_pair", axis_of_pair}}, [&](const char* function) {
        const auto found = find<hf::layer_rope>(function, rule);
        check_pairs(function, pairs, found->config.pairs());
        const auto& axes = found->axis_of_pair;
        if (axes.empty()) std::fill_n(axis_of_pair, pairs, std::uint8_t{0});
        std::copy(axes.begin(), axes.end(), axis_of_pair);
    });
}

CORDAGE_C_API cordage_status cordage_basis_at_length(const cordage_rule* rule, double length, cordage_basis** basis) {
    return guarded(__func__, {{"basis", basis}}, [&](const char* function) {
        create<cordage::basis>(basis, scaling_of(*find<hf::layer_rope>(function, rule)).at_length(length));
    });
}
CORDAGE_C_API cordage_status cordage_basis_at_ratio(const cordage_rule* rule, double t, cordage_basis** basis) {
    return guarded(__func__, {{"basis", basis}}, [&](const char* function) {
        create<cordage::basis>(basis, scaling_of(*find<hf::layer_rope>(function, rule)).at_ratio(t));
    });
}
CORDAGE_C_API cordage_status cordage_basis_from_numbers(int32_t abi, const double* inv_freq, int64_t pairs,
                                                        double attention_factor, cordage_basis** basis) {
    return guarded(__func__, abi, {{"inv_freq", inv_freq}, {"basis", basis}}, [&](const char* function) {
        if (pairs < 1 || pairs > largest_head_dim / 2) {
            fail<value_error>({function, ": pairs ", pairs, " must be 1 to ", largest_head_dim / 2});
        }
        create<cordage::basis>(basis, std::vector<double>(inv_freq, inv_freq + pairs), attention_factor);
    });
}
CORDAGE_C_API cordage_status cordage_basis_get_info(const cordage_basis* basis, cordage_basis_info* info) {
    return guarded(__func__, {{"info", info}}, [&](const char* function) {
        const auto found = find<cordage::basis>(function, basis);
        *info = {found->pairs(), found->attention_factor(), found->fingerprint()};
    });
}
CORDAGE_C_API cordage_status cordage_basis_get_inv_freq(const cordage_basis* basis, double* inv_freq, int64_t pairs) {
    return guarded(__func__, {{"inv_freq", inv_freq}}, [&](const char* function) {
        const auto found = find<cordage::basis>(function, basis);
        check_pairs(function, pairs, found->pairs());
        std::ranges::copy(found->inv_freq(), inv_freq);
    });
}

CORDAGE_C_API cordage_status cordage_angles_create(const cordage_basis* const* bases, int64_t count,
                                                   const cordage_tensor* position_ids,
                                                   const cordage_angle_options* options, cordage_angles** angles) {
    const auto body = [&](const char* function) {
        const cordage_angle_options none{};
        create<angles_object>(angles,
                              origin_of(function, bases, count, *position_ids, options == nullptr ? none : *options));
    };
    return guarded(__func__, {{"bases", bases}, {"position_ids", position_ids}, {"angles", angles}}, body);
}
CORDAGE_C_API cordage_status cordage_angles_difference(const cordage_angles* to, const cordage_angles* from,
                                                       cordage_angles** difference) {
    return guarded(__func__, {{"difference", difference}}, [&](const char* function) {
        const auto a = find<angles_object>(function, to, "to"), b = find<angles_object>(function, from, "from");
        for (const auto& [name, of] : {std::pair{"to", &a}, std::pair{"from", &b}}) {
            if (!(*of)->is_difference() && !(*of)->to()->rounds_to_float32) continue;
            fail<value_error>(
                {function, ": ", name, " must be exact angles of cordage_angles_create, not rounded to float32"});
        }
        (a->to()->exact() - b->to()->exact()).check(function);
        create<angles_object>(difference, a->to(), b->to());
    });
}

CORDAGE_C_API cordage_status cordage_model_destroy(cordage_model* model) {
    return guarded(__func__, {}, [&](const char* function) { destroy<hf::model_ropes>(function, model); });
}
CORDAGE_C_API cordage_status cordage_rule_destroy(cordage_rule* rule) {
    return guarded(__func__, {}, [&](const char* function) { destroy<hf::layer_rope>(function, rule); });
}
CORDAGE_C_API cordage_status cordage_basis_destroy(cordage_basis* basis) {
    return guarded(__func__, {}, [&](const char* function) { destroy<cordage::basis>(function, basis); });
}
CORDAGE_C_API cordage_status cordage_angles_destroy(cordage_angles* angles) {
    return guarded(__func__, {}, [&](const char* function) { destroy<angles_object>(function, angles); });
}

CORDAGE_C_API cordage_status cordage_rotate_forward(const cordage_executor* where, const cordage_angles* angles,
                                                    int32_t pairing, const cordage_operand* operands, int64_t count) {
    return guarded(__func__, {}, [&](const char* function) {
        rotate_call(function, where, angles, pairing, operands, count, direction::forward, false);
    });
}
CORDAGE_C_API cordage_status cordage_rotate_inverse(const cordage_executor* where, const cordage_angles* angles,
                                                    int32_t pairing, const cordage_operand* operands, int64_t count) {
    return guarded(__func__, {}, [&](const char* function) {
        rotate_call(function, where, angles, pairing, operands, count, direction::inverse, false);
    });
}
CORDAGE_C_API cordage_status cordage_rebase(const cordage_executor* where, const cordage_angles* difference,
                                            int32_t pairing, const cordage_operand* operands, int64_t count) {
    return guarded(__func__, {}, [&](const char* function) {
        rotate_call(function, where, difference, pairing, operands, count, direction::forward, true);
    });
}
CORDAGE_C_API cordage_status cordage_rotate_backward(const cordage_executor* where, const cordage_angles* angles,
                                                     int32_t pairing, const cordage_gradients* gradients,
                                                     const cordage_backward_operand* operands, int64_t count) {
    return guarded(__func__, {}, [&](const char* function) {
        backward_call(function, where, angles, pairing, gradients, operands, count);
    });
}

}  // extern "C"
// NOLINTEND(misc-definitions-in-headers)

#undef CORDAGE_C_TEXT
#undef CORDAGE_C_TEXT_OF

#endif

}  // namespace cordage::c
