// SPDX-License-Identifier: MIT
// One object of a settings file, read by type, with errors that name the key and the nearest known one; serves host/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

/// What to do with doubtful settings (unknown, contradictory, without effect): throw at the first, or collect them all.
class complaints {
 public:
    explicit complaints(bool lenient) : lenient_(lenient) {}

    void add(std::string text) {
        if (!lenient_) fail<value_error>({text});
        warnings_.push_back(std::move(text));
    }
    const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
    bool lenient_;
    std::vector<std::string> warnings_;
};

/// How many single-character changes lead from a to b.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

/// "; did you mean 'beta_fast'?", or nothing where no known key is near.
inline std::string nearest_known(std::string_view key, std::span<const std::string_view> known) {
    if (known.empty() || key.size() > 64) return "";
    const auto nearest = std::ranges::min_element(known, {}, [&](auto name) { return edit_distance(key, name); });
    const bool is_near = edit_distance(key, *nearest) <= std::max<std::size_t>(2, nearest->size() / 3);
    return is_near ? message("; did you mean '", *nearest, "'?") : "";
}

/// A view of a JSON object and its place in the file. A null is "not given". Wrong types are errors in every mode.
class json_object {
 public:
    json_object(const nlohmann::json& object, std::string where) : object_(&object), where_(std::move(where)) {
        if (!object.is_object()) fail<value_error>({where_, ": ", shown(object), " must be an object"});
    }

    const std::string& where() const noexcept { return where_; }
    const nlohmann::json& json() const noexcept { return *object_; }

    const nlohmann::json* find(std::string_view key) const {
        const auto found = object_->find(std::string(key));
        return found == object_->end() || found->is_null() ? nullptr : &*found;
    }
    bool has(std::string_view key) const { return find(key) != nullptr; }

    std::optional<double> number(std::string_view key) const {
        const auto* found = find(key);
        if (found == nullptr) return std::nullopt;
        if (!found->is_number()) refuse(key, *found, "a number");
        return found->get<double>();
    }
    /// A whole number of things, 1 ... 2^31.
    std::optional<index_t> count(std::string_view key) const {
        const auto value = number(key);
        if (!value) return std::nullopt;
        if (!(*value >= 1.0 && *value <= 0x1p31) || *value != std::floor(*value)) {
            refuse(key, *find(key), "a whole number of 1 ... 2^31");
        }
        return static_cast<index_t>(*value);
    }
    std::optional<bool> flag(std::string_view key) const {
        const auto* found = find(key);
        if (found == nullptr) return std::nullopt;
        if (!found->is_boolean()) refuse(key, *found, "true or false");
        return found->get<bool>();
    }
    std::optional<std::string> text(std::string_view key) const {
        const auto* found = find(key);
        if (found == nullptr) return std::nullopt;
        if (!found->is_string()) refuse(key, *found, "a text");
        return found->get<std::string>();
    }
    std::optional<std::vector<double>> numbers(std::string_view key) const {
        const auto* found = find(key);
        if (found == nullptr) return std::nullopt;
        if (!found->is_array()) refuse(key, *found, "a list of numbers");
        std::vector<double> all;
        for (const auto& entry : *found) {
            if (!entry.is_number()) refuse(key, entry, "a list of numbers only");
            all.push_back(entry.get<double>());
        }
        return all;
    }

    /// A key that a caller cannot do without.
    double required(std::string_view key, std::string_view by) const {
        const auto value = number(key);
        if (!value) fail<value_error>({where_, ": ", key, " must be given for ", by});
        return *value;
    }

    [[noreturn]] void refuse(std::string_view key, const nlohmann::json& value, std::string_view expected) const {
        fail<value_error>({where_, ": ", key, " ", shown(value), " must be ", expected});
    }

    /// A value as it is written, shortened.
    static std::string shown(const nlohmann::json& value) {
        if (value.is_object()) return "{...}";
        if (value.is_array()) return "[...]";
        const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
        return text.size() > 40 ? text.substr(0, 40) + "..." : text;
    }

 private:
    const nlohmann::json* object_;
    std::string where_;
};

}  // namespace cordage
