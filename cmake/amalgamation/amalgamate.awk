# SPDX-License-Identifier: MIT
# Prints headers with every header of the library that they include in its place, once each, and `vectors` in the place
# of xsimd; other includes stay. With -v bare=1 without comments and blank lines. Of a header before --host, NVRTC
# compiles all, with `standard` in the place of the standard library, and of the others nothing. A header that stands
# under a condition must not be included outside of it. Kernels that are chosen at run time are not in one file.
#   awk -v root=include -v version=X.Y.Z -v license=LICENSE -v standard=amalgamation/standard.hpp \
#       -v vectors=amalgamation/vectors.hpp -f amalgamate.awk [cordage/pair/phase.hpp ... --host] cordage/kernels.hpp ...
BEGIN {
    print "// cordage " version ", generated from its headers:"
    for (i = 1; i < ARGC; ++i) {
        if (ARGV[i] == "--host") for_nvrtc = 1
        else print "//   " ARGV[i]
    }
    if (bare) {
        print "// MIT license, https://opensource.org/license/mit"
    } else {
        print "//"
        while ((getline line < license) > 0) print line == "" ? "//" : "// " line
    }
    print "#pragma once"
    if (for_nvrtc) {
        print "#if defined(__CUDACC_RTC__)"
        inline("standard", standard)
        print "#endif"
    }
    for (i = 1; i < ARGC; ++i) {
        if (ARGV[i] == "--host") {
            for_nvrtc = 0
            print "\n#if !defined(__CUDACC_RTC__)"
            is_open = 1
        } else {
            inline(ARGV[i], root "/" ARGV[i])
        }
    }
    if (is_open) print "#endif"
    exit missing
}

function fail(text) {
    print "amalgamate: " text > "/dev/stderr"
    missing = 1
}

# conditions: the numbers of the conditions that are open, each before a "/"
function inline(name, path, line, status, quoted) {
    if (name in conditions_of) {
        if (index(conditions, conditions_of[name]) != 1) fail(name " is included under a condition first, and then without it")
        return
    }
    conditions_of[name] = conditions
    if (!bare) print "\n// " name
    while ((status = (getline line < path)) > 0) {
        sub(/ && __has_include\(<xsimd\/xsimd\.hpp>\)/, "", line)
        if (line ~ /^ *#(el|endif)/) sub(/[0-9]+\/$/, "", conditions)
        if (line ~ /^ *#(if|el)/) conditions = conditions (++condition) "/"
        if (line ~ /^#include "cordage\//) {
            split(line, quoted, "\"")
            if (quoted[2] == "cordage/backend/dispatched.hpp") {
                print "#error \"cordage: one file has no kernels to choose among: do not define CORDAGE_DISPATCH\""
                continue
            }
            inline(quoted[2], root "/" quoted[2])
        } else if (line == "#include <xsimd/xsimd.hpp>") {
            inline("vectors", vectors)
        } else if (for_nvrtc && line ~ /^#include </) {
            print "#if !defined(__CUDACC_RTC__)\n" line "\n#endif"
        } else if (line != "#pragma once" && line !~ /SPDX-License-Identifier/) {
            if (bare) sub(/^ *\/\/.*|  \/\/ .*/, "", line)
            if (!bare || line != "") print line
        }
    }
    close(path)
    if (status < 0) fail("cannot read " path)
}
