# SPDX-License-Identifier: MIT
# Doxygen's filter of a header. The number of lines stays.
# - What stands in namespace cordage goes to the group of its folder (docs/site/api.dox defines the groups).
# - The inner namespace `backend` of a header is hidden.
# - Formulas and code of a comment, which are indented there by three spaces after an empty line, are indented so far that
#   Markdown keeps their lines.
FNR == 1 {
    group = FILENAME
    sub(/.*include\/cordage\//, "", group)
    sub(/^host\//, "", group)
    sub(/\/.*/, "", group)
    if (group ~ /\./) group = "" # the headers that include others
}
/^namespace cordage[a-z_:]* \{$/ && !/_detail/ && group { print $0 " /** @stage{" group "} */"; next }
/^}  \/\/ namespace cordage[a-z_:]*$/ && !/_detail/ && group { print "/** @} */ " $0; next }
/^namespace backend \{$/ { print $0 " /** @cond internal */"; next }
/^}  \/\/ namespace backend$/ { print "/** @endcond */ " $0; next }
/^ *\/\/\/$/ { begins = 1; print; next }
/^ *\/\/\/   / && (begins || is_code) {
    sub(/\/\/\/ /, "///     ")
    is_code = 1
    begins = 0
    print
    next
}
{ begins = is_code = 0; print }
