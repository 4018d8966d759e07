// SPDX-License-Identifier: MIT
// Samplers take 64 random bits a call, so that the same seed gives the same positions everywhere.
// expected: cordage samplers: Generator must give 64 random bits a call, as std::mt19937_64 does
#include <random>

#include "cordage/positions/sampler.hpp"

#ifdef CORDAGE_COMPILE_FAIL
using generator = std::mt19937;
#else
using generator = std::mt19937_64;
#endif

double draw(generator& source) { return cordage::sample_ratio(source, 4.0); }
