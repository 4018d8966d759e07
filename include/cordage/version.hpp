// SPDX-License-Identifier: MIT
// The library's version, the single source that the build reads too; serves every stage.
#pragma once

#define CORDAGE_VERSION_MAJOR 0
#define CORDAGE_VERSION_MINOR 1
#define CORDAGE_VERSION_PATCH 0
