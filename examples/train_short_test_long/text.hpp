// SPDX-License-Identifier: MIT
// The King James text, as Debian's package bible-kjv prints it, in three parts.
#pragma once

#include <string>

namespace demo {

/// Whole books each: what is trained on, what settings are chosen on, what the table is made of.
struct split_text {
    std::string train;  ///< Genesis to Acts
    std::string dev;    ///< Romans to Colossians
    std::string test;   ///< 1 Thessalonians to Revelation
};

/// Runs `bible` and splits what it prints, one verse a line, references removed.
/// @throws std::runtime_error  if the program is absent, fails, or prints something else
split_text king_james();

/// The text between the first characters of two references, such as "Rom1:1" and "1Th1:1".
split_text split_verses(const std::string& verses);

}  // namespace demo
