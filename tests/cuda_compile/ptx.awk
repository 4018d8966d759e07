# SPDX-License-Identifier: MIT
# Reads PTX: kernels by pieces (a template argument `true`, Lb1E in their names) move tensors 16 bytes at a time and
# nothing else is stored but doubles, which are sums; a rotation asks for its pairs before it makes their angles; from
# 9.0 on a kernel waits for the kernels before it before it reads; none asks the device for an approximate sine.
function complain(text) {
    print kernel ": " text
    wrong = 1
}
function finish() {
    if (by_pieces && !(loads && stores)) complain(loads " loads and " stores " stores of 16 bytes")
}
/^\.target sm_/ { waits = substr($2, 4) + 0 >= 90 }
/\.entry/ {
    finish()
    kernel = $0
    by_pieces = /Lb1E/
    piece_kernels += by_pieces
    loads = stores = computes = has_waited = 0
}
/griddepcontrol\.wait/ { has_waited = 1 }
/fma\.rn/ { computes = 1 }
/ld\.global/ && waits && !has_waited { complain("must wait before it reads: " $0) }
/ld\.global.*\.v4\./ && !loads && computes && kernel ~ /rotation/ { complain("must load x before it computes angles") }
/ld\.global.*\.v4\./ { ++loads }
/st\.global.*\.v4\./ { ++stores }
/[ \t]st\.(global\.)?[ufb](8|16|32)/ && by_pieces { complain("stores by elements: " $0) }
/(sin|cos)\.approx/ { complain("approximates: " $0) }
END {
    finish()
    if (piece_kernels == 0) complain("no kernel by pieces")
    print piece_kernels " kernels by pieces"
    exit wrong
}
