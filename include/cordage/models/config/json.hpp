// SPDX-License-Identifier: MIT
// JSON from untrusted files, parsed strictly and read by type; serves config/ and checkpoint/.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage::json_detail {

/// The content of a file; nullopt if it is not a regular file, cannot be read, is longer than `largest` bytes, or
/// changes its length during the read.
inline std::optional<std::string> text_of_file(const std::filesystem::path& path, std::uintmax_t largest) {
    std::error_code failure;  // not for pipes, whose opening would block
    const std::uintmax_t size = std::filesystem::file_size(path, failure);
    if (failure || size > largest) return std::nullopt;
    std::ifstream in(path, std::ios::binary);
    std::string text(static_cast<std::size_t>(size) + 1, '\0');  // one more byte, to detect growth
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    const auto found = static_cast<std::uintmax_t>(in.gcount());
    if (!in.eof() || in.bad() || found != size) return std::nullopt;
    text.pop_back();
    return text;
}

/// The deepest nesting that parse_strict_json accepts; models' files stay below 10.
inline constexpr std::size_t deepest_json = 64;

/// The largest number of values (objects, arrays, numbers, strings) in such a file. A value takes many times the
/// memory of its text; the header of a file with 100 000 tensors has a million values.
inline constexpr std::size_t most_json_values = std::size_t{1} << 22;

/// Upper bound on the doubtful settings of a file that a lenient reader keeps; models' files have a few.
inline constexpr std::size_t most_warnings = 1000;

/// Builds the value of a text from what nlohmann's parser finds in it, in time linear in the text. (Its callback parser
/// searches all values of an object at the end of each inner one.)
class strict_json_builder : public nlohmann::json_sax<nlohmann::json> {
 public:
    strict_json_builder(const std::string& subject, nlohmann::json& to) : subject_(subject), root_(to) {}

    bool null() override { return add(nullptr) != nullptr; }
    bool boolean(bool value) override { return add(value) != nullptr; }
    bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
    bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
    bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
    bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
    bool binary(binary_t&) override { return false; }  // not of a text
    bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
    bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& key) override {
        const auto [at, is_new] = open_.back()->get_ref<nlohmann::json::object_t&>().try_emplace(key);
        if (!is_new) fail<value_error>({subject_, ": key ", in_quotes(key), " must occur once in its object"});
        member_ = &at->second;
        return true;
    }
    bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& why) override {
        if (dynamic_cast<const nlohmann::json::parse_error*>(&why) != nullptr) {
            fail<value_error>({subject_, ": text must be JSON; it is invalid at byte ", byte});
        }
        fail<value_error>({subject_, ": text must be JSON whose numbers are doubles or 64-bit integers"});
    }

 private:
    // The value where it belongs: the whole text, an entry of an array, or the member whose key was read.
    nlohmann::json* add(nlohmann::json value) {
        if (++values_ > most_json_values) {
            fail<value_error>({subject_, ": JSON must have at most ", most_json_values, " values"});
        }
        nlohmann::json* to = &root_;
        if (!open_.empty()) {
            to = open_.back()->is_array() ? &open_.back()->emplace_back() : member_;
        }
        *to = std::move(value);
        return to;
    }
    bool open(nlohmann::json empty) {
        open_.push_back(add(std::move(empty)));
        if (open_.size() > deepest_json) {
            fail<value_error>(
                {subject_, ": JSON nested ", open_.size(), " deep must be at most ", deepest_json, " deep"});
        }
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    const std::string& subject_;
    nlohmann::json& root_;
    nlohmann::json* member_ = nullptr;
    std::vector<nlohmann::json*> open_;  // objects and arrays that are not closed
    std::size_t values_ = 0;
};

/// Parses JSON, in time linear in the text.
/// @param subject  begins the messages
/// @throws value_error  if text is not JSON (NaN and infinity are not allowed), has a duplicate key in an object, is
///                      nested deeper than deepest_json or has more than most_json_values
inline nlohmann::json parse_strict_json(const std::string& subject, std::string_view text) {
    nlohmann::json root;
    strict_json_builder builder(subject, root);
    nlohmann::json::sax_parse(text, &builder);
    return root;
}

/// The edit distance between a and b (Levenshtein) if it is at most `most`, else more. Long keys of a file cost no
/// time: their length is enough; nor do others that differ from the beginning.
inline std::size_t edit_distance_up_to(std::size_t most, std::string_view a, std::string_view b) {
    const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
    if (difference > most) return difference;
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::ranges::min(row) > most) return most + 1;
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

/// "; did you mean 'beta_fast'?", or nothing if no known key is similar.
inline std::string nearest_known(std::string_view key, const auto& known) {
    std::string_view nearest;
    std::size_t least = std::string_view::npos;
    for (const std::string_view name : known) {
        const std::size_t most = std::max<std::size_t>(2, name.size() / 3);
        const std::size_t distance = edit_distance_up_to(most, key, name);
        if (distance <= most && distance < least) least = distance, nearest = name;
    }
    return nearest.empty() ? "" : message("; did you mean '", nearest, "'?");
}

inline bool is_in(const auto& list, std::string_view key) {
    return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

/// A view of a JSON object, with its place in the file, which begins messages. null counts as not given. Wrong types
/// are errors; doubtful settings (unknown, contradictory, without effect) are errors or warnings.
class json_object {
 public:
    /// @param warnings  collects doubtful settings; if null they are thrown
    json_object(const nlohmann::json& object, std::string where, std::vector<std::string>* warnings = nullptr)
        : object_(&object), warnings_(warnings), where_(std::move(where)) {
        if (!object.is_object()) refuse({shown(object), " must be an object"});
    }
    /// Another object of the same file.
    json_object other(const nlohmann::json& object, std::string where) const {
        return {object, std::move(where), warnings_};
    }
    /// An empty object of the same file.
    json_object none(std::string where) const {
        static const nlohmann::json nothing = nlohmann::json::object();
        return other(nothing, std::move(where));
    }
    /// The object of a key; empty if the key is not there.
    /// @throws value_error  for a value that is no object
    json_object part(std::string_view key) const {
        const auto* found = find(key);
        return found != nullptr ? other(*found, std::string(key)) : none(std::string(key));
    }
    /// This object with some values replaced. A view of both objects.
    json_object overridden_by(const nlohmann::json& overrides) const {
        json_object out = *this;
        out.overrides_ = &overrides;
        return out;
    }

    const std::string& where() const noexcept { return where_; }
    const nlohmann::json& json() const noexcept { return *object_; }

    const nlohmann::json* find(std::string_view key) const {
        const auto* in = overrides(key) ? overrides_ : object_;
        const auto found = in->find(std::string(key));
        return found == in->end() || found->is_null() ? nullptr : &*found;
    }
    bool has(std::string_view key) const { return find(key) != nullptr; }
    /// Whether the key is there, with null.
    bool has_null(const char* key) const { return json().contains(key) && !has(key); }
    bool overrides(std::string_view key) const { return overrides_ != nullptr && overrides_->contains(key); }

    std::optional<double> number(std::string_view key) const {
        return value<double>(key, &nlohmann::json::is_number, "a number");
    }
    std::optional<bool> flag(std::string_view key) const {
        return value<bool>(key, &nlohmann::json::is_boolean, "true or false");
    }
    std::optional<std::string> text(std::string_view key) const {
        return value<std::string>(key, &nlohmann::json::is_string, "a string");
    }
    std::optional<std::vector<double>> numbers(std::string_view key) const {
        const auto* list = find(key);
        if (list == nullptr) return std::nullopt;
        if (!list->is_array()) refuse(key, *list, "a list of numbers");
        for (const auto& entry : *list) {
            if (!entry.is_number()) refuse(key, entry, "a list of numbers only");
        }
        return list->get<std::vector<double>>();
    }
    /// A count, an integer in 1 ... 2^31.
    std::optional<index_t> count(std::string_view key) const {
        const auto value = number(key);
        if (!value) return std::nullopt;
        if (!(*value >= 1.0 && *value <= 0x1p31) || *value != std::floor(*value)) {
            refuse(key, *find(key), "an integer in 1 ... 2^31");
        }
        return static_cast<index_t>(*value);
    }

    /// A required number; `by` names what requires it.
    double required(std::string_view key, std::string_view by) const {
        const auto value = number(key);
        if (!value) refuse({key, " must be given for ", by});
        return *value;
    }
    /// Returns `value`, the value or default of a key, if it is at least `least` (at_least) or above 0 (positive);
    /// throws otherwise.
    double at_least(double least, std::string_view key, double value) const {
        if (!(value >= least)) refuse({key, " ", value, " must be >= ", least});
        return value;
    }
    double positive(std::string_view key, double value) const {
        if (!(value > 0.0)) refuse({key, " ", value, " must be > 0"});
        return value;
    }

    [[noreturn]] void refuse(std::initializer_list<message_part> why) const {
        fail<value_error>({where_, ": ", joined(why)});
    }
    [[noreturn]] void refuse(std::string_view key, const nlohmann::json& value, std::string_view expected) const {
        refuse({key, " ", shown(value), " must be ", expected});
    }
    void doubt(std::initializer_list<message_part> why) const {
        if (warnings_ == nullptr) refuse(why);
        if (warnings_->size() >= most_warnings)
            refuse({"the file must have at most ", most_warnings, " doubtful settings"});
        warnings_->push_back(where_ + ": " + joined(why));
    }

    /// A value as written in the file, shortened.
    static std::string shown(const nlohmann::json& value) {
        if (value.is_object()) return "{...}";
        if (value.is_array()) return "[...]";
        const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
        return text.size() > 40 ? text.substr(0, 40) + "..." : text;
    }

 private:
    template <class T>
    std::optional<T> value(std::string_view key, bool (nlohmann::json::*is_expected)() const noexcept,
                           const char* expected) const {
        const auto* found = find(key);
        if (found == nullptr) return std::nullopt;
        if (!(found->*is_expected)()) refuse(key, *found, expected);
        return found->get<T>();
    }

    const nlohmann::json* object_;
    const nlohmann::json* overrides_ = nullptr;
    std::vector<std::string>* warnings_;
    std::string where_;
};

/// The layer index if the whole text is a number, such as "12".
inline std::optional<std::uint32_t> number_in(std::string_view text) {
    std::uint32_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// The words of a space-separated list of keys.
inline std::vector<std::string> words(const std::string& list) {
    std::istringstream in(list);
    return {std::istream_iterator<std::string>(in), {}};
}

/// Keys of an object under which one setting may be given.
struct places {
    const json_object& object;
    std::string keys;  ///< separated by spaces
};

/// A setting that may be given in several places: returns the first value, and reports values that differ from it.
template <auto Read = &json_object::number>
auto agreed(std::initializer_list<places> all) {
    std::invoke_result_t<decltype(Read), const json_object&, std::string_view> found;
    std::string first;
    for (const auto& [object, keys] : all) {
        for (const std::string& key : words(keys)) {
            const auto value = (object.*Read)(key);
            if (found && value && *found != *value) {
                object.doubt({key, " ", *value, " must equal ", first, " ", *found});
            }
            if (!found) found = value, first = key;
        }
    }
    return found;
}

}  // namespace cordage::json_detail
