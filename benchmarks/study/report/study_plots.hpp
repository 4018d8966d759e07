// SPDX-License-Identifier: MIT
// The replication's pictures.
#pragma once

#include <filesystem>

#include "report/study_report.hpp"

namespace demo {

/// For each study NAME_perplexity and, as far as it has or shows that, NAME_losses, NAME_accuracy, NAME_recall and
/// NAME_bases. Each as .svg and .png.
/// @throws std::runtime_error
void plot_studies(const settings& s, const std::vector<study>& all, const std::vector<measured_row>& rows,
                  const std::filesystem::path& out);

}  // namespace demo
