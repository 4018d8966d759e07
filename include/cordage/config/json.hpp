// SPDX-License-Identifier: MIT
// JSON from files that are not trusted, parsed strictly and read by type; serves config/ and checkpoint/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage::json_detail {

/// A name out of a file, fit for a message or a terminal: cut after 80 bytes, what is not printable ASCII as '?'.
inline std::string printable(std::string_view name) {
    constexpr std::size_t longest = 80;
    std::string text;
    for (const char c : name.substr(0, longest)) text += c >= ' ' && c <= '~' ? c : '?';
    return text + (name.size() > longest ? "..." : "");
}

/// The same in quotes.
inline std::string in_quotes(std::string_view name) { return "'" + printable(name) + "'"; }

/// All of a file, or nothing if it is none, cannot be read, is longer than `largest` bytes or changes its length
/// meanwhile.
inline std::optional<std::string> text_of_file(const std::filesystem::path& path, std::uintmax_t largest) {
    std::error_code failure;  // of what is no file: opening a pipe would wait for who writes to it
    const std::uintmax_t size = std::filesystem::file_size(path, failure);
    if (failure || size > largest) return std::nullopt;
    std::ifstream in(path, std::ios::binary);
    std::string text(static_cast<std::size_t>(size) + 1, '\0');  // one more than is there, to see it grow
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    const auto found = static_cast<std::uintmax_t>(in.gcount());
    if (!in.eof() || in.bad() || found != size) return std::nullopt;
    text.pop_back();
    return text;
}

/// The deepest nesting that parse_strict_json takes; what models ship stays below 10.
inline constexpr std::size_t deepest_json = 64;

/// The most values (objects, arrays, numbers, texts) that it takes. Each needs many times the bytes it has in the text;
/// the header of a file of 100 000 tensors has a million.
inline constexpr std::size_t most_json_values = std::size_t{1} << 22;

/// @param subject  begins the messages
/// @throws value_error  if text is not JSON (NaN and infinities are not), has a key twice in one object, is nested
///                      deeper than deepest_json or has more than most_json_values
inline nlohmann::json parse_strict_json(const std::string& subject, std::string_view text) {
    using event = nlohmann::json::parse_event_t;
    std::vector<std::set<std::string>> keys;  // of the objects that are open; empty sets for arrays
    std::size_t values = 0;
    const auto watch = [&](int, event what, nlohmann::json& parsed) {
        if (what != event::key && what != event::object_end && what != event::array_end &&
            ++values > most_json_values) {
            fail<value_error>({subject, ": JSON must have at most ", most_json_values, " values"});
        }
        switch (what) {
            case event::object_start:
            case event::array_start:
                keys.emplace_back();
                if (keys.size() > deepest_json) {
                    fail<value_error>(
                        {subject, ": JSON nested ", keys.size(), " deep must be at most ", deepest_json, " deep"});
                }
                break;
            case event::object_end:
            case event::array_end:
                keys.pop_back();
                break;
            case event::key:
                if (const auto& key = parsed.get_ref<const std::string&>(); !keys.back().insert(key).second) {
                    fail<value_error>({subject, ": key ", in_quotes(key), " must occur once in its object"});
                }
                break;
            default:
                break;
        }
        return true;
    };
    try {
        return nlohmann::json::parse(text, watch);
    } catch (const nlohmann::json::parse_error& why) {
        fail<value_error>({subject, ": text must be JSON, and is not at byte ", why.byte});
    } catch (const nlohmann::json::exception&) {
        fail<value_error>({subject, ": text must be JSON whose numbers are doubles or 64-bit integers"});
    }
}

/// What to do with doubtful settings (unknown, contradictory, without effect): throw at the first, or collect them all.
class doubtful_settings {
 public:
    explicit doubtful_settings(bool lenient) : lenient_(lenient) {}

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
/// Keys of `overrides`, if there are any, come before those of `object`. Views both.
class json_object {
 public:
    json_object(const nlohmann::json& object, std::string where, const nlohmann::json* overrides = nullptr)
        : object_(&object), overrides_(overrides), where_(std::move(where)) {
        if (!object.is_object()) fail<value_error>({where_, ": ", shown(object), " must be an object"});
    }

    const std::string& where() const noexcept { return where_; }
    const nlohmann::json& json() const noexcept { return *object_; }

    const nlohmann::json* find(std::string_view key) const {
        const auto* in = overrides(key) ? overrides_ : object_;
        const auto found = in->find(std::string(key));
        return found == in->end() || found->is_null() ? nullptr : &*found;
    }
    bool has(std::string_view key) const { return find(key) != nullptr; }
    bool overrides(std::string_view key) const { return overrides_ != nullptr && overrides_->contains(key); }

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
    const nlohmann::json* overrides_;
    std::string where_;
};

}  // namespace cordage::json_detail
