// SPDX-License-Identifier: MIT
// Rotates q by a recipe for an image or video model: tests/golden/diffusers.json, and tests/hosts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cordage/basis/axial.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/kernels.hpp"
#include "cordage/models/positions/latent_positions.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/schedule/schedules.hpp"
#include "golden.hpp"

namespace conformance {

/// x of a case: at index n ((7919 n) mod 97 - 48) / 16.
inline std::vector<double> recipe_input(cordage::heads_shape shape) {
    std::vector<double> x(static_cast<std::size_t>(shape.tokens * shape.heads * shape.head_dim));
    for (std::size_t n = 0; n < x.size(); ++n) x[n] = (static_cast<double>(7919 * n % 97) - 48.0) / 16.0;
    return x;
}

/// The result of a recipe for x, and the largest angle in it.
struct recipe_output {
    std::vector<double> y;
    double largest_angle = 0.0;
};

namespace recipe_detail {

using namespace cordage;

inline latent_positions<> positions_of(const value& recipe) {
    latent_positions<> positions(recipe["axes"].size());
    for (const value& piece : recipe["pieces"].items()) {
        if (piece.has("grid")) {
            std::vector<std::vector<double>> coordinates;
            for (const value& axis : piece["grid"].items()) coordinates.push_back(axis.numbers());
            positions.grid(coordinates);
        } else {
            positions.text(piece["text"].integer(), piece["first"].numbers(), piece["step"].numbers());
        }
    }
    return positions;
}

inline std::vector<index_t> sections_of(const value& rotation) {
    std::vector<index_t> sections;
    for (const value& section : rotation["sections"].items()) sections.push_back(section.integer());
    return sections;
}

inline basis basis_of(const value& rotation) {
    if (rotation.has("inv_freq")) return basis(rotation["inv_freq"].numbers());
    if (rotation.has("longrope")) {
        const value given = rotation["longrope"];
        longrope policy{given["short_factor"].numbers(), given["long_factor"].numbers()};
        const auto lanes = 2 * static_cast<index_t>(policy.short_factor.size());
        const rope_config config{lanes, lanes, given["theta_base"].number(), given["original_length"].number()};
        policy.given_attention_factor =
            longrope_attention_factor(given["longest"].number() / config.original_length, config.original_length);
        return rope_scaling(config, policy, two_regimes{}).at_length(given["length"].number());
    }
    const std::vector<index_t> sections = sections_of(rotation);
    if (rotation.has("inv_freq_of_all")) {
        index_t pairs = 0;
        for (const index_t section : sections) pairs += section;
        return axial_basis({pairs}, rotation["inv_freq_of_all"].number());
    }
    if (!rotation.has("bases")) return axial_basis(sections, rotation["theta_base"].number());
    std::vector<basis> made;
    for (const value& axis : rotation["bases"].items()) {
        const index_t lanes = 2 * axis["pairs"].size();
        const rope_config config{lanes, lanes, axis["theta_base"].number(), 1.0};
        made.push_back(make_basis(config, ntk_aware{}, axis["ntk_aware"].number()));
    }
    std::vector<const basis*> bases;
    for (const basis& b : made) bases.push_back(&b);
    return axial_basis(bases);
}

inline std::vector<std::uint8_t> axes_of(const value& rotation) {
    if (rotation.has("axis_of_pair")) {
        std::vector<std::uint8_t> axes;
        for (const double axis : rotation["axis_of_pair"].numbers()) axes.push_back(static_cast<std::uint8_t>(axis));
        return axes;
    }
    return rotation.has("interleaved") ? interleaved_axes(sections_of(rotation))
                                       : contiguous_axes(sections_of(rotation));
}

template <class Source>
double largest_angle(const Source& angles, const position_view<double>& ids) {
    double fastest = 0.0, farthest = 0.0;
    for (index_t i = 0; i < angles.bases() * angles.pairs(); ++i) {
        fastest = std::max(fastest, std::abs(angles.inv_freq(0)[i]));
    }
    for (index_t axis = 0; axis < ids.axes; ++axis) {
        for (index_t token = 0; token < ids.tokens; ++token) {
            farthest = std::max(farthest, std::abs(ids.at(0, token, axis)));
        }
    }
    return fastest * farthest;
}

/// Rotates y in place; returns the largest angle.
inline double rotate_by(const value& rotation, const position_view<double>& ids, const heads_view<double>& y) {
    const index_t first_lane = rotation.has("first_lane") ? rotation["first_lane"].integer() : 0;
    const auto with = [&](const auto& angles, const auto& x) {
        if (rotation["layout"].text() == "half_split") {
            rotate_forward<half_split>(angles, in_place(x, first_lane));
        } else {
            rotate_forward<interleaved>(angles, in_place(x, first_lane));
        }
        return largest_angle(angles, ids);
    };
    if (rotation.has("inv_freq_of_heads")) {
        const tensor given = rotation["inv_freq_of_heads"].as_tensor();  // [heads, axes, pairs]
        const auto pairs = given.shape.at(2);
        std::vector<basis> made;
        for (auto first = given.data.begin(); first != given.data.end(); first += pairs) {
            made.emplace_back(std::vector<double>(first, first + pairs));
        }
        std::vector<const basis*> bases;
        for (const basis& b : made) bases.push_back(&b);
        const basis_list list(bases);
        return with(summed_axes(list.of_rows(), ids), heads_as_rows(y));
    }
    const basis b = basis_of(rotation);
    if (ids.axes == 1) return with(exact_angles(b, ids), y);
    const auto axes = axes_of(rotation);
    return with(axis_angles(b, axes, ids), y);
}

}  // namespace recipe_detail

/// @param x  [tokens, heads, head_dim]
inline recipe_output rotated_by(const value& recipe, cordage::heads_shape shape, const std::vector<double>& x) {
    const auto positions = recipe_detail::positions_of(recipe);
    const auto rotations = recipe["rotations"].items();
    recipe_output out{x, 0.0};
    const auto rotate_by = [&](const value& rotation, std::vector<double>& y) {
        const double angle =
            recipe_detail::rotate_by(rotation, positions.view(), cordage::token_major(y.data(), shape));
        out.largest_angle = std::max(out.largest_angle, angle);
    };
    if (!recipe.has("second_from_lane")) {
        for (const value& rotation : rotations) rotate_by(rotation, out.y);
        return out;
    }
    std::vector<double> second = x;
    rotate_by(rotations.at(0), out.y);
    rotate_by(rotations.at(1), second);
    for (index_t head = 0; head < shape.tokens * shape.heads; ++head) {
        for (index_t lane = recipe["second_from_lane"].integer(); lane < shape.head_dim; ++lane) {
            const auto i = static_cast<std::size_t>(head * shape.head_dim + lane);
            out.y[i] = second[i];
        }
    }
    return out;
}

}  // namespace conformance
