// SPDX-License-Identifier: MIT
// cos and sin of a product of two doubles by MPFR, used only here; the reference of the oracle.
#pragma once

#include <mpfr.h>

namespace oracle {

/// cos and sin of position * theta in 80 bits: the product of two doubles is exact in 106 bits, and MPFR rounds
/// correctly for any argument. Reused, since its numbers are allocated once.
class exact_cos_sin {
 public:
    exact_cos_sin() {
        mpfr_init2(angle_, 106);
        for (auto* x : {&cos_, &sin_}) mpfr_init2(*x, 80);
        mpfr_init2(difference_, 80);
    }
    exact_cos_sin(const exact_cos_sin&) = delete;
    ~exact_cos_sin() { mpfr_clears(angle_, cos_, sin_, difference_, static_cast<mpfr_ptr>(nullptr)); }

    void set(double position, double theta) {
        mpfr_set_d(angle_, position, MPFR_RNDN);
        mpfr_mul_d(angle_, angle_, theta, MPFR_RNDN);
        mpfr_sin_cos(sin_, cos_, angle_, MPFR_RNDN);
    }
    /// The larger of the errors of a cos and a sin.
    double error_of(double cos, double sin) {
        const double of_cos = distance(cos_, cos), of_sin = distance(sin_, sin);
        return of_cos > of_sin ? of_cos : of_sin;
    }

 private:
    double distance(const mpfr_t& exact, double found) {
        mpfr_sub_d(difference_, exact, found, MPFR_RNDN);
        mpfr_abs(difference_, difference_, MPFR_RNDN);
        return mpfr_get_d(difference_, MPFR_RNDU);
    }

    mpfr_t angle_, cos_, sin_, difference_;
};

}  // namespace oracle
