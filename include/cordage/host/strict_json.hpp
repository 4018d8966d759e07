// SPDX-License-Identifier: MIT
// JSON from strangers: bounded, without duplicate keys, one clear error; serves the readers of host/.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cordage/core/error.hpp"

namespace cordage {

/// How large a text is accepted.
struct json_limits {
    std::size_t bytes = std::size_t{64} << 20;
    int depth = 64;
};

/// Parses a text that may be hostile: truncated, too deep, too long, with a key twice in one object, with NaN, Infinity
/// or numbers beyond double (none of which JSON has). Costs memory in proportion to the text.
///
/// @param who  begins the error: a file's name or a function's
/// @throws value_error  naming the line and column, or the key
inline nlohmann::json strict_json(const char* who, std::string_view text, const json_limits& limits = {}) {
    using event = nlohmann::json::parse_event_t;
    if (text.size() > limits.bytes) {
        throw value_error(message(who, ": ", text.size(), " bytes of JSON must be at most ", limits.bytes));
    }
    std::vector<std::set<std::string>> keys;  // of every object that is open
    const auto look = [&](int depth, event what, nlohmann::json& parsed) {
        if ((what == event::object_start || what == event::array_start) && depth >= limits.depth) {
            throw value_error(message(who, ": JSON must be nested at most ", limits.depth, " deep"));
        }
        if (what == event::object_start) keys.emplace_back();
        if (what == event::object_end) keys.pop_back();
        if (what == event::key && !keys.back().insert(parsed.get<std::string>()).second) {
            throw value_error(message(who, ": key ", parsed.dump(), " must occur once in its object"));
        }
        return true;
    };
    try {
        return nlohmann::json::parse(text.begin(), text.end(), look);
    } catch (const nlohmann::json::exception& why) {
        throw value_error(message(who, ": the text must be JSON; ", why.what()));
    }
}

}  // namespace cordage
