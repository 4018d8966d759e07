# SPDX-License-Identifier: MIT
# Reads what ctest prints and writes `N passed, N failed`. A test that could not run has failed, unless it says that it was
# skipped; and so has a run that did not come to its end.
/^ *[0-9]+\/[0-9]+ Test +#/ {
    if (/ Passed +[0-9.]+ sec$/) ++passed
    else if (/\*\*\*Skipped|\(Disabled\)/) ++skipped
    else ++failed
}
/^[0-9]+% tests passed, [0-9]+ tests failed out of / { is_complete = 1 }
END {
    if (skipped) printf "%d skipped\n", skipped
    if (!is_complete || passed + failed == 0) {
        print "the tests did not run to their end"
        ++failed
    }
    printf "%d passed, %d failed\n", passed, failed
    exit failed > 0
}
