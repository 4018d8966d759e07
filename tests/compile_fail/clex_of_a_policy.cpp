// SPDX-License-Identifier: MIT
// clex solves a field; a policy is only the prior of a field.
// expected: cordage::clex: Field must be paper_field<Prior>, log_length_field<Prior>, released_field<> or a
// expected: differentiable field of your own
#include "cordage/clex/clex.hpp"

#ifdef CORDAGE_COMPILE_FAIL
using policy = cordage::clex<cordage::linear>;
#else
using policy = cordage::clex<cordage::paper_field<cordage::linear>>;
#endif

inline constexpr auto size_of_policy = sizeof(policy);
