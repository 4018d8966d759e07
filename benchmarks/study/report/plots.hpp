// SPDX-License-Identifier: MIT
// The two pictures, drawn by gnuplot as SVG and PNG.
#pragma once

#include <filesystem>
#include <vector>

#include "report/table.hpp"

namespace demo {

/// perplexity.{svg,png}: perplexity over length, frozen and tuned rows side by side.
void plot_perplexity(const std::vector<row>& rows, const std::filesystem::path& folder);

/// NAME.{svg,png}: alpha of some pairs over t, for every row with frozen weights.
void plot_basis(const settings& s, const std::vector<row>& rows, const std::filesystem::path& folder,
                const std::string& name = "basis");

}  // namespace demo
