// SPDX-License-Identifier: MIT
// JSON from files that nobody vouches for: no duplicate keys, no bottomless nesting; serves the host adapters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"

namespace cordage {

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

/// @param who  begins the messages
/// @throws value_error  if text is not JSON (NaN and infinities are not), has a key twice in one object, is nested
///                      deeper than deepest_json or has more than most_json_values
inline nlohmann::json parse_strict_json(const std::string& who, std::string_view text) {
    using event = nlohmann::json::parse_event_t;
    std::vector<std::set<std::string>> keys;  // of the objects that are open; empty sets for arrays
    std::size_t values = 0;
    const auto watch = [&](int, event what, nlohmann::json& parsed) {
        if (what != event::key && what != event::object_end && what != event::array_end &&
            ++values > most_json_values) {
            fail<value_error>({who, ": JSON must have at most ", most_json_values, " values"});
        }
        switch (what) {
            case event::object_start:
            case event::array_start:
                keys.emplace_back();
                if (keys.size() > deepest_json) {
                    fail<value_error>(
                        {who, ": JSON nested ", keys.size(), " deep must be at most ", deepest_json, " deep"});
                }
                break;
            case event::object_end:
            case event::array_end:
                keys.pop_back();
                break;
            case event::key:
                if (const auto& key = parsed.get_ref<const std::string&>(); !keys.back().insert(key).second) {
                    fail<value_error>({who, ": key ", in_quotes(key), " must occur once in its object"});
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
        fail<value_error>({who, ": text must be JSON, and is not at byte ", why.byte});
    } catch (const nlohmann::json::exception&) {
        fail<value_error>({who, ": text must be JSON whose numbers are doubles or 64-bit integers"});
    }
}

}  // namespace cordage
