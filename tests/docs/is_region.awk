# SPDX-License-Identifier: MIT
# Succeeds if the first file equals, but for indentation, one of the regions marked "// [name]" ... "// [/name]" in the
# other files.
FNR == 1 { ++files; inside = 0 }
files == 1 { wanted = wanted $0 "\n"; next }
/^ *\/\/ \[\/[a-z_0-9]+\]$/ {
    if (inside && region == wanted) found = 1
    inside = 0
    next
}
/^ *\/\/ \[[a-z_0-9]+\]$/ {
    inside = 1
    region = ""
    match($0, /^ */)
    indent = RLENGTH
    next
}
inside { region = region substr($0, match($0, /^ */) && RLENGTH >= indent ? indent + 1 : RLENGTH + 1) "\n" }
END { exit !found }
