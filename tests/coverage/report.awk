# SPDX-License-Identifier: MIT
# Reads llvm-cov's lcov export: prints the lines that no test reaches, then the coverage of each folder of include/. Fails
# if the total is below `least` percent.
/^SF:/ {
    file = substr($0, 4)
    sub(/^.*include\/cordage\//, "", file)
    folder = file ~ /\// ? file : "."
    sub(/\/[^\/]*$/, "", folder)
}
/^DA:/ {
    split(substr($0, 4), line, ",")
    ++lines[folder]
    if (line[2] + 0 == 0) {
        ++missed[folder]
        missed_lines[file] = missed_lines[file] " " line[1]
    }
}
END {
    for (file in missed_lines) print file ":" missed_lines[file] | "sort"
    close("sort")
    for (folder in lines) {
        all += lines[folder]
        all_missed += missed[folder]
        printf "%-16s %5.1f %% of %d lines\n", folder, 100 * (1 - missed[folder] / lines[folder]), lines[folder] | "sort"
    }
    close("sort")
    if (all == 0) exit 1
    reached = 100 * (1 - all_missed / all)
    printf "%-16s %5.1f %% of %d lines, must be %d %%\n", "include/", reached, all, least
    exit reached < least
}
