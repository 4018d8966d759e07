// SPDX-License-Identifier: MIT
#include "rotate/run.hpp"

template bool fuzz::run_rotation<double>(fuzz::input&);
