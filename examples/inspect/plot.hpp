// SPDX-License-Identifier: MIT
// Plots a rule: the wavelength of every pair at several t.
#pragma once

#include <filesystem>

#include "inspection.hpp"

namespace inspect {

/// Draws wavelengths over pairs at t = 1, at the inspected t and at 2 and 4 times that, and the lengths of these t as
/// lines. The band between the inspected length and the longest is the self-extending range. Needs gnuplot.
/// @param picture  ends in .svg or .png; overwritten
/// @throws cordage::value_error  for any other ending; cordage::error if gnuplot fails
void draw_wavelengths(const inspection& seen, const std::filesystem::path& picture);

}  // namespace inspect
