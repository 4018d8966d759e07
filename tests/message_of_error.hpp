// SPDX-License-Identifier: MIT
// The text of an error, for tests that look for a part of it.
#pragma once

#include <string>

#include "cordage/core/error.hpp"

namespace cordage_test {

/// What call() throws as an Error, or "" if it throws nothing.
template <class Error = cordage::error>
std::string message_of_error(const auto& call) {
    try {
        call();
    } catch (const Error& why) {
        return why.what();
    }
    return "";
}

}  // namespace cordage_test
