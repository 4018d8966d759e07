# SPDX-License-Identifier: MIT
# Succeeds if the first file equals, but for indentation, one of the regions marked "// [name]" ... "// [/name]" in the
# other files ("# [name]" in CMake's). Of a region that begins alike it says where it differs.
FNR == 1 { ++files; inside = 0 }
files == 1 { wanted[++size] = $0; next }
/^ *(\/\/|#) \[\/[a-z_0-9]+\]$/ {
    if (inside && !differs_at && line == size) found = 1
    else if (inside && differs_at != 1) hint = hint sprintf("%s:%d\n", FILENAME, start + (differs_at ? differs_at : line + 1))
    inside = 0
    next
}
/^ *(\/\/|#) \[[a-z_0-9]+\]$/ {
    inside = 1
    start = FNR
    line = differs_at = 0
    match($0, /^ */)
    indent = RLENGTH
    next
}
inside {
    text = substr($0, match($0, /^ */) && RLENGTH >= indent ? indent + 1 : RLENGTH + 1)
    if (text != wanted[++line] && !differs_at) differs_at = line
}
END {
    if (!found) printf "no region of a built file has this text; similar ones first differ at:\n%s", hint
    exit !found
}
