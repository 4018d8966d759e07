# SPDX-License-Identifier: MIT
# Reads `cuobjdump -sass`: counts loads and stores of 128 bits, a line a kernel; complains of local memory.
function finish() {
    if (kernel != "") printf "%3d LDG.128 %3d STG.128  %s\n", loads, stores, kernel
}
/Function :/ {
    finish()
    kernel = $NF
    loads = stores = 0
}
/ LDG[A-Z.]*\.128/ { ++loads }
/ STG[A-Z.]*\.128/ { ++stores }
/ (LDL|STL)[. ]/ {
    print kernel " uses local memory: " $0
    wrong = 1
}
END {
    finish()
    exit wrong || kernel == ""
}
