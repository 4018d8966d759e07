# SPDX-License-Identifier: MIT
# Prints the fence of a page that is in `language`, of which there must be one.
$0 == "```" language { inside = 1; ++count; next }
/^```/ { inside = 0 }
inside { print }
END {
    if (count != 1) {
        print FILENAME ": " count + 0 " fences in " language ", must be 1" > "/dev/stderr"
        exit 1
    }
}
