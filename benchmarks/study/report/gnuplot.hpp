// SPDX-License-Identifier: MIT
// Pictures by gnuplot: scripts with the numbers inside.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace demo {

/// Distinct without colour too: Okabe and Ito's colours, and a dash pattern for what learns nothing.
std::string line_style(std::size_t i, bool learns);

/// As a string of gnuplot's: in quotes, whose own quotes stay what they are.
std::string quoted(const std::string& text);

/// Writes NAME.gp and runs it once for each kind of picture: NAME.svg and NAME.png.
/// @throws std::runtime_error
void draw(const std::filesystem::path& folder, const std::string& name, int width, int height,
          const std::string& commands);

/// One line of a plot, its numbers in a block of their own.
struct curve {
    std::string data;
    std::string style;
};

/// The command that plots them. @param block  distinct within a script
std::string plot(const std::vector<curve>& curves, const std::string& block);

}  // namespace demo
