// SPDX-License-Identifier: MIT
// The text, from a Debian package, in three parts.
#pragma once

#include <string>

namespace demo {

/// What is for training, for choosing settings, and for the tables.
struct split_text {
    std::string train, dev, test;
};

/// The King James Version, verses without their references: Genesis to Acts, Romans to Colossians, 1 Thessalonians to
/// Revelation. Runs `bible` (Debian: bible-kjv, bible-kjv-text).
/// @throws std::runtime_error  if the program is missing, fails, or prints something else
split_text king_james();

/// The text between the first characters of two references, such as "Rom1:1" and "1Th1:1".
split_text split_verses(const std::string& verses);

}  // namespace demo
