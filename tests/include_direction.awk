# SPDX-License-Identifier: MIT
# Reads every header (paths from the folder include/) and reports includes in the wrong direction: a stage includes core/
# and stages to its left, and a dependency is included in one place only.
BEGIN {
    stages = split("core pair scaling schedule ode clex positions basis angles tensors backend rotate attention models/positions models models/config " \
                   "models/checkpoint host c", stage, " ")
    for (i = 1; i <= stages; ++i) rank[stage[i]] = i
    home["cuda_runtime.h"] = "^cordage/backend/cuda/"
    home["Eigen"] = "^cordage/clex/"
    home["xsimd"] = "^cordage/backend/simd/"
    home["immintrin.h"] = home["arm_neon.h"] = "^cordage/backend/simd/"
    # Slow to compile, and therefore in headers that the entry headers do not include (docs/performance.md).
    home["thread"] = "^cordage/core/threads[.]hpp"
    home["random"] = "^cordage/clex/initial_weights[.]hpp"
    by_itself = "^cordage/(core/threads|clex/initial_weights)[.]hpp$"
    home["ATen"] = home["torch"] = home["c10"] = "^cordage/host/aten/"
    home["nlohmann"] = "^cordage/models/(config|checkpoint)/"
}

FNR == 1 { header = FILENAME; exists[header] = 1 }

function complain(text) {
    print header ":" FNR ": " text
    wrong = 1
}

# The stage of a header: its folder, in models/ with the folder there.
function folder(path, parts, depth) {
    depth = split(path, parts, "/")
    return depth < 3 ? "entry" : parts[2] == "models" && depth > 3 ? "models/" parts[3] : parts[2]
}

# "cordage/stage/name.hpp"
match($0, /^ *# *include "[^"]+"/) {
    split($0, quoted, "\"")
    target = quoted[2]
    edges[header] = edges[header] " " target
    from = folder(header)
    to = folder(target)
    if (target == "cordage/version.hpp") next
    if (target !~ /^cordage\//) complain("'" target "' must be named from the root, as \"cordage/...\"")
    else if (to == "entry") {
        if (from !~ /^(host|entry)$/ || target !~ /^cordage\/(kernels\.hpp|cuda\.cuh)$/) complain("a stage must not include the entry header '" target "'")
    } else if (!(to in rank)) complain("'" to "' is no stage: add it to include_direction.awk")
    else if (from == "entry") next
    else if (!(from in rank)) complain("'" from "' is no stage: add it to include_direction.awk")
    else if (to == "backend" && from !~ /^(backend|rotate|host|c)$/) complain("only rotate/, host/ and c/ may include backend/")
    else if (to ~ /^models/ && from !~ /^(models|c$)/) complain("only c/ may include models/")
    else if (rank[to] > rank[from]) complain(from "/ must not include " to "/, which comes after it")
}

# <Eigen/Core>
match($0, /^ *# *include <[^>]+>/) {
    split($0, bracketed, /[<>]/)
    split(bracketed[2], parts, "/")
    if (parts[1] in home && header !~ home[parts[1]]) complain("<" bracketed[2] "> belongs in " substr(home[parts[1]], 2))
}

# Marks in `seen` the headers that `entry` includes, directly or not.
function reach(entry, seen, todo, names, count, i) {
    seen[entry] = 1
    count = split(edges[entry], names, " ")
    for (i = 1; i <= count; ++i) if (!(names[i] in seen)) reach(names[i], seen)
}

END {
    reach("cordage/kernels.hpp", by_kernels)
    for (name in by_kernels) if (name ~ /^cordage\/(clex|models|host|c)\//) {
        print "cordage/kernels.hpp reaches " name ", but engines must do without it"
        wrong = 1
    }
    if ("cordage/cordage.hpp" in exists) {
        reach("cordage/cordage.hpp", by_cordage)
        for (name in exists) {
            if (name ~ /^cordage\/(host|c)\/|\/cuda\/|\.cuh$|^cordage\/models\.hpp$/) continue
            if ((name in by_cordage) != (name !~ by_itself && name !~ /^cordage\/models\//)) {
                print "cordage/cordage.hpp must " (name in by_cordage ? "not " : "") "reach " name
                wrong = 1
            }
        }
    }
    if ("cordage/models.hpp" in exists) {
        reach("cordage/models.hpp", by_models)
        for (name in exists) if (name ~ /^cordage\/models\// && !(name in by_models)) {
            print "cordage/models.hpp must reach " name
            wrong = 1
        }
    }
    exit wrong
}
