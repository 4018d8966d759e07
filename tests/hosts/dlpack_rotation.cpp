// SPDX-License-Identifier: MIT
// A rotation behind a C interface with DLPack tensors; test_dlpack.py calls it from Python.
#include <cstdio>

#include "cordage/host/dlpack/view.hpp"
#include "cordage/kernels.hpp"

namespace {

// [dlpack]
template <class Managed>
void rotate(Managed* x_handed_over, Managed* ids_handed_over, const double* inv_freq, cordage::index_t pairs,
            bool heads_first) {
    using namespace cordage;
    const dlpack::owned x(x_handed_over), position_ids(ids_handed_over);
    const basis b(std::vector<double>(inv_freq, inv_freq + pairs));
    const auto order = heads_first ? dlpack::axes::heads_tokens : dlpack::axes::tokens_heads;
    dlpack::for_element_type(x.tensor(), [&]<class T>(T) {
        dlpack::for_position_type(position_ids.tensor(), [&]<class P>(P) {
            rotate_forward<half_split>(exact_angles(b, dlpack::positions<P>(position_ids.tensor())),
                                       in_place(x.template view<T>(order)));
        });
    });
}
// [/dlpack]

template <class Call>
void report(char* error, std::size_t size, const Call& call) {
    try {
        call();
    } catch (const std::exception& problem) {
        std::snprintf(error, size, "%s", problem.what());
    }
}

}  // namespace

/// Takes ownership of both tensors, also if it returns an error.
extern "C" void rotate_versioned(cordage::dlpack::managed_tensor_versioned* x,
                                 cordage::dlpack::managed_tensor_versioned* position_ids, const double* inv_freq,
                                 std::int64_t pairs, int heads_first, char* error, std::size_t size) {
    report(error, size, [&] { rotate(x, position_ids, inv_freq, pairs, heads_first != 0); });
}
/// As above, for tensors before DLPack 1.0.
extern "C" void rotate_unversioned(cordage::dlpack::managed_tensor* x, cordage::dlpack::managed_tensor* position_ids,
                                   const double* inv_freq, std::int64_t pairs, int heads_first, char* error,
                                   std::size_t size) {
    report(error, size, [&] { rotate(x, position_ids, inv_freq, pairs, heads_first != 0); });
}
