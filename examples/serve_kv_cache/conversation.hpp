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
    double dropped;            ///< the same for some tokens after others were dropped from the middle
};

/// Errors of scores of a window's 16 remaining keys in bfloat16, relative to their root mean square.
struct window_errors {
    double as_stored;        ///< keys stay as stored, and the query is rotated ahead
    double moved_once;       ///< keys move to their present positions once, at the end
    double moved_each_time;  ///< after every drop
};

/// Drops the first token of a sequence so many times.
window_errors slide(cordage::index_t drops);

/// @tparam T  element type of the cache: float or cordage::bfloat16
template <cordage::element T>
conversation_result converse();
extern template conversation_result converse<float>();
extern template conversation_result converse<cordage::bfloat16>();
