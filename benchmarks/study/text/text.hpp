// SPDX-License-Identifier: MIT
// The texts, from Debian packages, in three parts each.
#pragma once

#include <string>

#include "settings.hpp"

namespace demo {

/// The texts for training, for choosing settings, and for the tables.
struct split_text {
    std::string train, dev, test;
};

/// The King James Version, verses without their references: Genesis to Acts, Romans to Colossians, 1 Thessalonians to
/// Revelation. Runs `bible` (Debian: bible-kjv, bible-kjv-text).
/// @throws std::runtime_error  if the program is missing, fails, or prints something else
split_text king_james();

/// Perl's manuals without their change logs, whole pages each: every twelfth page to dev, the one after it to test.
/// Reads /usr/share/perl (Debian: perl-doc).
/// @throws std::runtime_error  if they are missing
split_text perl_manuals();

/// The text of this kind.
split_text text_of(corpus_kind kind);

/// The text between the first characters of two references, such as "Rom1:1" and "1Th1:1".
split_text split_verses(const std::string& verses);

}  // namespace demo
