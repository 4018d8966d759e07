// SPDX-License-Identifier: MIT
// JSON from files that nobody vouches for: no duplicate keys, no bottomless nesting; serves the host adapters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// A name out of a file, fit for a message: in quotes, cut after 80 bytes, what is not printable ASCII as '?'.
inline std::string in_quotes(std::string_view name) {
    constexpr std::size_t longest = 80;
    std::string text = "'";
    for (const char c : name.substr(0, longest)) text += c >= ' ' && c <= '~' ? c : '?';
    return text + (name.size() > longest ? "...'" : "'");
}

/// All of a file, or nothing if it cannot be read or is longer than `largest` bytes.
inline std::optional<std::string> text_of_file(const std::filesystem::path& path, std::uintmax_t largest) {
    std::error_code failure;
    const std::uintmax_t size = std::filesystem::file_size(path, failure);
    std::ifstream in(path, std::ios::binary);
    if (failure || !in || size > largest) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(in), {});
}

/// The deepest nesting that parse_strict_json takes; what models ship stays below 10.
inline constexpr std::size_t deepest_json = 64;

/// @param who  begins the messages
/// @throws value_error  if text is not JSON (NaN and infinities are not), has a key twice in one object, or is nested
///                      deeper than deepest_json
inline nlohmann::json parse_strict_json(const std::string& who, std::string_view text) {
    using event = nlohmann::json::parse_event_t;
    std::vector<std::set<std::string>> keys;  // of the objects that are open; empty sets for arrays
    const auto watch = [&](int, event what, nlohmann::json& parsed) {
        switch (what) {
            case event::object_start:
            case event::array_start:
                keys.emplace_back();
                if (keys.size() > deepest_json) {
                    throw value_error(
                        message(who, ": JSON nested ", keys.size(), " deep must be at most ", deepest_json, " deep"));
                }
                break;
            case event::object_end:
            case event::array_end:
                keys.pop_back();
                break;
            case event::key:
                if (const auto& key = parsed.get_ref<const std::string&>(); !keys.back().insert(key).second) {
                    throw value_error(message(who, ": key ", in_quotes(key), " must occur once in its object"));
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
        throw value_error(message(who, ": text must be JSON, and is not at byte ", why.byte));
    } catch (const nlohmann::json::exception&) {
        throw value_error(message(who, ": text must be JSON whose numbers are doubles or 64-bit integers"));
    }
}

}  // namespace cordage
