// SPDX-License-Identifier: MIT
// The study's pictures, from observations and learned numbers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/study_report.hpp"

namespace demo {

struct picture {
    std::string name;  ///< of its files
    std::string says;  ///< what it shows, for readers without it
    bool is_drawn;     ///< false: no row that it shows has been run
};

/// match_over_distance, loss_over_length, bases and reach, none drawn.
std::vector<picture> study_pictures();

/// Writes NAME.gp, NAME.svg and NAME.png for each of them that has something to show.
/// @throws std::runtime_error  if gnuplot fails or a file cannot be written
std::vector<picture> draw_study(const study& what, const std::filesystem::path& folder);

/// Blocks of a page, named as the pictures, with a link to each that is drawn.
/// @param folder  of the pictures, as the page links to it
std::vector<block> picture_blocks(const std::vector<picture>& pictures, const std::string& folder);

/// The rows that pictures name.
std::vector<std::string> pictured_rows();

/// Where labels beside the ends of lines stand so that none is nearer than `gap` to another: as near as may be to
/// `wanted`, in the same order, from `lowest` up.
std::vector<double> spread(std::vector<double> wanted, double gap, double lowest, double highest);

}  // namespace demo
