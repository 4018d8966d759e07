// SPDX-License-Identifier: MIT
// What the front doors throw; serves all stages.
#pragma once

#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace cordage {

/// Parent of everything the library throws. The text reads "function: field value must be what was expected".
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A number, name or setting outside its domain.
struct value_error : error {
    using error::error;
};

/// Sizes, strides or views that do not fit each other.
struct shape_error : error {
    using error::error;
};

/// Joins its arguments into one message, numbers with 17 significant digits.
///
///   throw value_error(message("linear: t ", t, " must be finite and >= 1"));
template <class... Parts>
std::string message(const Parts&... parts) {
    std::ostringstream text;
    text.imbue(std::locale::classic());  // 4096 is "4096" whatever the host's locale
    text.precision(17);
    (text << ... << parts);
    return text.str();
}

}  // namespace cordage
