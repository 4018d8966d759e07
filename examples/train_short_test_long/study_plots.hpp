// SPDX-License-Identifier: MIT
// The replication's pictures.
#pragma once

#include <filesystem>

#include "study_report.hpp"

namespace demo {

/// For each study NAME_perplexity; for those that show recall, NAME_recall; for those that train, NAME_losses. Each as
/// .svg and .png.
/// @throws std::runtime_error
void plot_studies(const std::vector<study>& all, const std::vector<measured_row>& rows,
                  const std::filesystem::path& out);

}  // namespace demo
