#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ratio.sh LIMIT "OUR HEADERS" "THEIR HEADERS" COMPILER [FLAGS]: how much longer a unit with our headers compiles than
# one with theirs. User time, the minimum of several runs each, since load only adds to it; at most 12 runs, until the
# ratio is within the limit.
set -euo pipefail
limit=$1 ours=$2 theirs=$3
shift 3

seconds() { # of a unit that includes the headers named in $1
    local headers=$1 TIMEFORMAT=%U
    shift
    { time "$@" - <<<"$(printf '#include <%s>\n' $headers)"; } 2>&1
}
lesser() { awk -v a="$1" -v b="$2" 'BEGIN { print a + 0 < b + 0 ? a : b }'; }

our_time=1e9 their_time=1e9
for turn in {1..12}; do
    our_time=$(lesser "$our_time" "$(seconds "$ours" "$@")")
    their_time=$(lesser "$their_time" "$(seconds "$theirs" "$@")")
    [[ $turn -ge 3 ]] || continue
    ratio=$(awk -v a="$our_time" -v b="$their_time" 'BEGIN { print a / b }')
    echo "after $turn turns: $ours $our_time s, $theirs $their_time s, ratio $ratio, at most $limit"
    if awk -v ratio="$ratio" -v limit="$limit" 'BEGIN { exit !(ratio > 0 && ratio <= limit) }'; then exit 0; fi
done
exit 1
