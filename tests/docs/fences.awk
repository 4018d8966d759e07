# SPDX-License-Identifier: MIT
# Writes each fence of a page in one of the languages, as in cpp|cmake, to a file of its own, PREFIX_LINE.cpp if it holds
# a main, else PREFIX_LINE.region.
$0 ~ "^```(" languages ")" { inside = 1; text = ""; line = NR; next }
/^```/ && inside {
    inside = 0
    file = prefix "_" line (text ~ /int main\(/ ? ".cpp" : ".region")
    printf "%s", text > file
    close(file)
    next
}
inside { text = text $0 "\n" }
END {
    if (inside) {
        print FILENAME ":" line ": fence without an end" > "/dev/stderr"
        exit 1
    }
}
