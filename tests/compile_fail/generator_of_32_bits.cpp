// SPDX-License-Identifier: MIT
// Samplers use 64 random bits per call, so that a seed gives the same positions on every platform.
// expected: cordage samplers: Generator must return 64 random bits per call, as std::mt19937_64 does
#include <random>

#include "cordage/positions/sampler.hpp"

#ifdef CORDAGE_COMPILE_FAIL
using generator = std::mt19937;
#else
using generator = std::mt19937_64;
#endif

double draw(generator& source) { return cordage::sample_ratio(source, 4.0); }
