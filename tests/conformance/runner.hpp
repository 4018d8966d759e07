// SPDX-License-Identifier: MIT
// Runs every case of every golden file of a folder; all of cordage_conformance except its main.
#pragma once

#include <filesystem>
#include <iosfwd>

namespace conformance {

/// Prints one line for each kind of each *.json under `folder`, in the order of names,
///
///   pass|fail|unsupported FILE/KIND cases=N worst=X tolerance=Y
///
/// where X is the error that comes nearest to its tolerance Y. A kind with cases that cordage does not support is
/// `unsupported`, also if the others pass; a file that cannot be read, or has no cases, is a failed kind named "file".
/// A reason for each failure and gap goes to `reasons`.
///
/// @return true if there was something to check and all of it passes
bool run(const std::filesystem::path& folder, std::ostream& lines, std::ostream& reasons);

}  // namespace conformance
