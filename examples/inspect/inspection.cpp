// SPDX-License-Identifier: MIT
// Computes what a rule does at a length, and describes it.
#include "inspection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>

#include "cordage/basis/rope_scaling.hpp"

namespace inspect {
namespace {

template <class... Parts>
std::string formatted(const char* format, Parts... parts) {
    char line[256];
    std::snprintf(line, sizeof line, format, parts...);
    return line;
}

double wavelength(double inv_freq) { return 2.0 * std::numbers::pi / inv_freq; }

/// "pairs 3 ... 7", "pair 3".
std::string named(index_t first, index_t last) {
    return first == last
               ? formatted("pair %lld", static_cast<long long>(first))
               : formatted("pairs %lld ... %lld", static_cast<long long>(first), static_cast<long long>(last));
}

/// One line for each run of pairs treated alike: kept, stretched, compressed, not rotated.
std::string stretched_pairs(const inspection& seen) {
    enum kind { kept, slower, faster, at_rest };
    const auto inv_freq = seen.basis.inv_freq();
    const auto alpha = [&](index_t pair) {
        return inv_freq[static_cast<std::size_t>(pair)] / seen.rope.config.inv_freq(pair);
    };
    const auto kind_of = [&](index_t pair) {
        const double a = alpha(pair);
        return a == 0.0 ? at_rest : a < 1.0 - 1e-9 ? slower : a > 1.0 + 1e-9 ? faster : kept;
    };
    std::string text;
    for (index_t first = 0, pairs = seen.basis.pairs(); first < pairs;) {
        index_t last = first;
        while (last + 1 < pairs && kind_of(last + 1) == kind_of(first)) ++last;
        text += "  " + named(first, last);
        const double begin = 1.0 / alpha(first), end = 1.0 / alpha(last);
        if (kind_of(first) == kept) text += ": frequency kept\n";
        if (kind_of(first) == at_rest) text += ": not rotated\n";
        if (kind_of(first) == slower) text += formatted(": stretched, wavelengths times %.4g ... %.4g\n", begin, end);
        if (kind_of(first) == faster) text += formatted(": compressed, wavelengths times %.4g ... %.4g\n", begin, end);
        first = last + 1;
    }
    return text;
}

std::string wavelengths(const inspection& seen) {
    const auto inv_freq = seen.basis.inv_freq();
    double slowest = 0.0;
    index_t rotated = 0, whole = 0;
    for (const double theta : inv_freq) {
        if (theta == 0.0) continue;
        ++rotated;
        slowest = slowest == 0.0 ? theta : std::min(slowest, theta);
        if (wavelength(theta) <= seen.length) ++whole;
    }
    if (rotated == 0) return "  no pair is rotated: positions have no effect\n";
    return formatted("  longest wavelength %.6g positions, %.4g times the length\n", wavelength(slowest),
                     wavelength(slowest) / seen.length) +
           formatted("  %lld of %lld rotated pairs complete a turn within the length\n", static_cast<long long>(whole),
                     static_cast<long long>(rotated));
}

std::string number(double x) { return formatted("%.17g", x); }
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }
std::string listed(std::span<const double> numbers) {
    std::string text = "[";
    for (const double x : numbers) text += (text.size() > 1 ? ", " : "") + number(x);
    return text + "]";
}

}  // namespace

inspection inspect(const cordage::hf::layer_rope& rope, double length, std::optional<double> t) {
    const cordage::rope_scaling served(rope.config, rope.policy, rope.schedule);
    const double used = t ? *t : served.ratio(length);
    return {rope, length, used, served.at_ratio(used)};
}

index_t positions_examined(const cordage::basis& basis) {
    constexpr index_t last_exact_float = index_t{1} << 24, most_products = index_t{1} << 30;  // about a second
    return std::min(last_exact_float, most_products / std::max<index_t>(basis.pairs(), 1));
}

std::optional<float32_failure> first_float32_failure(const cordage::basis& basis) {
    const auto rates = basis.inv_freq();
    const double fastest = rates.empty() ? 0.0 : *std::ranges::max_element(rates);
    // Two roundings of 2^-24 each: no pair is off by more before.
    const double first = noticeable_angle / std::max(fastest * 0x1p-23, 1e-30);
    const index_t end = positions_examined(basis);
    if (!(first < static_cast<double>(end))) return std::nullopt;
    for (index_t position = std::max<index_t>(static_cast<index_t>(first), 1); position < end; ++position) {
        const auto p = static_cast<double>(position);
        for (index_t pair = 0; pair < basis.pairs(); ++pair) {
            const double theta = rates[static_cast<std::size_t>(pair)];
            const float angle = static_cast<float>(position) * static_cast<float>(theta);
            const double error = std::fabs(static_cast<double>(angle) - p * theta);
            if (error > noticeable_angle) return float32_failure{position, pair, error};
        }
    }
    return std::nullopt;
}

std::string in_words(const inspection& seen) {
    std::string text = cordage::hf::describe(seen.rope);
    text += formatted("at %.17g tokens: t = %.6g, attention factor %.6g\n", seen.length, seen.t,
                      seen.basis.attention_factor());
    text += stretched_pairs(seen) + wavelengths(seen);
    if (const auto failure = first_float32_failure(seen.basis)) {
        text += formatted(
            "  angles made in float32 are first off by %.1e rad at position %lld (pair %lld); here they are exact\n",
            failure->error, static_cast<long long>(failure->position), static_cast<long long>(failure->pair));
    } else {
        text += formatted("  angles made in float32 would stay within 1e-3 rad up to position %lld\n",
                          static_cast<long long>(positions_examined(seen.basis)));
    }
    return text;
}

std::string table_of_layers(const cordage::hf::model_ropes& model) {
    const auto& layers = model.layers;
    if (layers.empty() && model.ropes.size() < 2) return "";
    if (layers.empty()) return "layers: the file does not tell which layer has which rule\n";
    const auto name_of = [&](const cordage::hf::model_layer& layer) {
        std::string name = layer.type.empty() ? "alike" : cordage::printable(layer.type);
        const std::string rule = layer.rule ? model.ropes[*layer.rule].layer_type : "";
        if (!layer.rule) name += " (nothing to rotate)";
        if (layer.rule && rule != layer.type) name += " (as " + cordage::printable(rule) + ")";
        return name + (layer.indexer ? ", with an indexer" : "");
    };
    // Runs of layers, by name in the order of their first layers.
    std::vector<std::pair<std::string, std::string>> lines;
    for (std::size_t first = 0; first < layers.size();) {
        const std::string name = name_of(layers[first]);
        std::size_t last = first;
        while (last + 1 < layers.size() && name_of(layers[last + 1]) == name) ++last;
        auto line = std::ranges::find(lines, name, &std::pair<std::string, std::string>::first);
        if (line == lines.end()) line = lines.insert(lines.end(), {name, ""});
        line->second += (line->second.empty() ? "" : ", ") + std::to_string(first);
        if (last > first) line->second += "-" + std::to_string(last);
        first = last + 1;
    }
    std::string text = "layers: " + std::to_string(layers.size()) + "\n";
    for (const auto& [name, runs] : lines) text.append("  ").append(name).append(": ").append(runs).append("\n");
    return text;
}

std::string as_json(const cordage::hf::model_ropes& model, double length, const std::vector<inspection>& all,
                    const std::optional<cordage::hf::tower_rope>& tower) {
    const auto truth = [](bool holds) { return holds ? "true" : "false"; };
    std::string text =
        "{\n  \"model_type\": " + quoted(model.model_type) + ",\n  \"length\": " + number(length) + ",\n  \"ropes\": [";
    const char* before = "\n";
    for (const inspection& seen : all) {
        const auto& rope = seen.rope;
        const auto& config = rope.config;
        const auto heat = rope.temperature.value_or(cordage::query_temperature{0.0, 0.0, 0.0});
        text += before;
        text += "    {\n      \"layer_type\": " + quoted(rope.layer_type) +
                ",\n      \"rope_type\": " + quoted(rope.rope_type) +
                ",\n      \"head_dim\": " + number(static_cast<double>(config.head_dim)) +
                ",\n      \"rotary_dim\": " + number(static_cast<double>(config.rotary_dim)) +
                ",\n      \"first_lane\": " + number(static_cast<double>(rope.first_lane)) + ",\n      \"layout\": " +
                (rope.layout == cordage::hf::pair_layout::unknown ? "null" : quoted(name_of(rope.layout))) +
                ",\n      \"axis_of_pair\": " + nlohmann::json(rope.axis_of_pair).dump() +
                ",\n      \"is_inverse\": " + truth(rope.is_inverse) +
                ",\n      \"theta_base\": " + number(config.theta_base) +
                ",\n      \"original_length\": " + number(config.original_length) +
                ",\n      \"t\": " + number(seen.t) +
                ",\n      \"attention_factor\": " + number(seen.basis.attention_factor()) +
                ",\n      \"query_beta\": " + number(heat.beta) +
                ",\n      \"query_block_length\": " + number(heat.block_length) +
                ",\n      \"query_counted_from\": " + number(heat.counted_from) +
                ",\n      \"has_head_temperatures\": " + truth(rope.has_head_temperatures) +
                ",\n      \"needs_weights\": " + truth(rope.needs_weights) +
                ",\n      \"log_scale\": " + truth(rope.clex && rope.clex->log_scale) +
                ",\n      \"inv_freq\": " + listed(seen.basis.inv_freq()) + "\n    }";
        before = ",\n";
    }
    text += "\n  ],\n  \"layers\": [";
    before = "\n";
    const auto name_of_rule = [&](const std::optional<std::size_t>& rule) {
        return rule ? quoted(model.ropes[*rule].layer_type) : "null";
    };
    for (const auto& layer : model.layers) {
        text += before;
        text += "    {\"type\": " + quoted(layer.type) + ", \"rule\": " + name_of_rule(layer.rule) +
                ", \"indexer\": " + name_of_rule(layer.indexer) + "}";
        before = ",\n";
    }
    text += "\n  ]";
    if (tower) {
        text += ",\n  \"tower\": {\n    \"model_type\": " + quoted(tower->model_type) +
                ",\n    \"head_dim\": " + number(static_cast<double>(tower->head_dim)) +
                ",\n    \"layout\": " + quoted(cordage::hf::name_of(tower->layout)) +
                ",\n    \"spatial_merge_size\": " + number(static_cast<double>(tower->grid.spatial_merge_size)) +
                ",\n    \"axis_of_pair\": " + nlohmann::json(tower->axis_of_pair).dump() +
                ",\n    \"inv_freq\": " + listed(tower->basis.inv_freq()) + "\n  }";
    }
    return text + "\n}\n";
}

}  // namespace inspect
