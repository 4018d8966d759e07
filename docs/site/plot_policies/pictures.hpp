// SPDX-License-Identifier: MIT
// Which pictures there are: alpha of every policy, and the companions of attention.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "chart.hpp"

struct picture {
    std::string name;  ///< of the file, without its ending
    std::vector<panel> panels;
    std::size_t columns = 2;  ///< panels in a row
};

std::vector<picture> pictures_of_policies();
/// What is learned, each from the same two bases.
std::vector<picture> pictures_of_learned_policies();
std::vector<picture> pictures_beside_the_rotation();
