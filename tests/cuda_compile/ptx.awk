# SPDX-License-Identifier: MIT
# Reads PTX: a kernel waits for the kernels before it before it reads; kernels of teams move runs of elements, and the
# rotation alone never single elements of 16 bits; none asks the device for an approximate sine.
function complain(text) {
    print kernel ": " text
    wrong = 1
}
function finish() {
    if (of_teams && !(loads && stores)) complain(loads " loads and " stores " stores of runs")
}
/^\.target sm_/ { waits = substr($2, 4) + 0 >= 90 }
/\.entry/ {
    finish()
    kernel = $0
    is_rotation = /rotation_kernel/
    of_teams = is_rotation || /heads_kernel|team_backward_kernel/
    team_kernels += of_teams
    loads = stores = computes = has_waited = 0
}
/griddepcontrol\.wait/ { has_waited = 1 }
/fma\.rn/ { computes = 1 }
/ld\.global/ && waits && !has_waited { complain("must wait before it reads: " $0) }
/ld\.global(\.v[24])?\.[ubf](32|64)/ && is_rotation && !loads && computes { complain("must load x before it computes angles") }
/ld\.global(\.v[24])?\.[ubf](32|64)/ { ++loads }
/st\.global(\.v[24])?\.[ubf](8|16|32|64)/ { ++stores }
/[ \t](ld|st)\.global\.[ub](8|16)/ && is_rotation { complain("moves single elements: " $0) }
/(sin|cos)\.approx/ { complain("approximates: " $0) }
/__local_depot/ && of_teams { complain("uses local memory: " $0) }
END {
    finish()
    if (team_kernels == 0) complain("no kernel of teams")
    print team_kernels " kernels of teams"
    exit wrong
}
