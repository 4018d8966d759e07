// SPDX-License-Identifier: MIT
// The library's version, which the build reads from here; serves every stage.
#pragma once

#define CORDAGE_VERSION_MAJOR 0
#define CORDAGE_VERSION_MINOR 3
#define CORDAGE_VERSION_PATCH 0
