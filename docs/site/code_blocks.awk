# SPDX-License-Identifier: MIT
# Doxygen's filter of a header: formulas and code of a comment, which are indented there by three spaces after an empty
# line, are indented so far that Markdown keeps their lines. The number of lines stays.
/^ *\/\/\/$/ { begins = 1; print; next }
/^ *\/\/\/   / && (begins || is_code) {
    sub(/\/\/\/ /, "///     ")
    is_code = 1
    begins = 0
    print
    next
}
{ begins = is_code = 0; print }
