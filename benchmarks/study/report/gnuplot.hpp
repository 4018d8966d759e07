// SPDX-License-Identifier: MIT
// Pictures by gnuplot: scripts with the numbers inside.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace demo {

/// The colour of a row in every picture; a light grey for rows without one. With log scaling a row has the colour that
/// it has without, unless it has its own.
std::string colour_of(const std::string& row);

/// The text as a quoted gnuplot string, with its quotes escaped.
std::string quoted(const std::string& text);

/// Writes NAME.gp and runs it for each format: NAME.svg and NAME.png.
/// @throws std::runtime_error
void draw(const std::filesystem::path& folder, const std::string& name, int width, int height,
          const std::string& commands);

/// One line of a plot; its numbers are in a data block.
struct curve {
    std::string data;
    std::string style;
};

/// The plot command. @param block name of the data block, unique in a script
std::string plot(const std::vector<curve>& curves, const std::string& block);

}  // namespace demo
