# SPDX-License-Identifier: MIT
# Prints a door with every header of the library that it includes in its place, once each; other includes stay.
#   awk -v root=include -v version=0.1.0 -v license=LICENSE -f amalgamate.awk cordage/kernels.hpp
BEGIN {
    print "// cordage " version ": " ARGV[1] " and all of cordage that it includes. Generated; change the headers instead."
    print "//"
    while ((getline line < license) > 0) print line == "" ? "//" : "// " line
    print "#pragma once"
    inline(ARGV[1])
    exit missing
}

function inline(name, path, line, status, quoted) {
    if (name in done) return
    done[name] = 1
    path = root "/" name
    print "\n// " name
    while ((status = (getline line < path)) > 0) {
        if (line ~ /^#include "cordage\//) {
            split(line, quoted, "\"")
            inline(quoted[2])
        } else if (line != "#pragma once" && line !~ /SPDX-License-Identifier/) {
            print line
        }
    }
    close(path)
    if (status < 0) {
        print "amalgamate: cannot read " path > "/dev/stderr"
        missing = 1
    }
}
