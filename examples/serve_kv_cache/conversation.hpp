// SPDX-License-Identifier: MIT
// A conversation that grows to eight times the trained length, each output compared with recomputing everything.
#pragma once

#include "cordage/cordage.hpp"

struct conversation_result {
    cordage::index_t length;   ///< tokens at its end
    cordage::index_t changes;  ///< of the basis
    double worst;              ///< largest error relative to the recomputed outputs
    double reread;             ///< the same for one token after all others were read again as one prompt
    double reused;             ///< the same for one token after a chunk copied from the cache
};

/// @tparam T  element type of the cache: float or cordage::bfloat16
template <cordage::element T>
conversation_result converse();
extern template conversation_result converse<float>();
extern template conversation_result converse<cordage::bfloat16>();
