// SPDX-License-Identifier: MIT
// The code of the kernels of the CUDA backward pass; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/backward.hpp"
#include "cordage/backend/cuda/general_backward.cuh"
#include "cordage/backend/cuda/team_backward.cuh"
