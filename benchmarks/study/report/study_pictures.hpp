// SPDX-License-Identifier: MIT
// The study's pictures, from observations and learned numbers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/study_report.hpp"

namespace demo {

struct picture {
    std::string name;  ///< name of its files
    std::string says;  ///< alternative text
    bool is_drawn;     ///< false: none of its rows has been run
};

/// match_over_distance, loss_over_length, bases and reach, none drawn.
std::vector<picture> study_pictures();

/// Writes NAME.gp, NAME.svg and NAME.png for each picture with data.
/// @throws std::runtime_error  if gnuplot fails or a file cannot be written
std::vector<picture> draw_study(const study& what, const std::filesystem::path& folder);

/// Blocks of a page with the pictures' names, each with a link to its picture if that is drawn.
/// @param folder  path of the pictures' folder in links
std::vector<block> picture_blocks(const std::vector<picture>& pictures, const std::string& folder);

/// The rows that pictures name.
std::vector<std::string> pictured_rows();

}  // namespace demo
