# SPDX-License-Identifier: MIT
# Reads every file that names the version and complains, FILE:LINE, about one that names another than -v version=X.Y.Z:
# version.hpp, the newest version in CHANGELOG.md, CITATION.cff, recipes of package managers (*.json, *.py), and wherever
# a page (*.md) asks for a version of cordage; and where CHANGELOG.md and CITATION.cff give it another date.
function names(text) {
    ++found[FILENAME]
    if (text == version) return
    print FILENAME ":" FNR ": version " text " must be " version ", the project's (include/cordage/version.hpp)"
    wrong = 1
}

# The numbers that end what the pattern finds; nothing if it finds nothing.
function number_after(pattern, text) {
    if (!match(text, pattern "[0-9]+(\\.[0-9]+)+")) return ""
    text = substr(text, RSTART, RLENGTH)
    match(text, /[0-9]+(\.[0-9]+)+$/)
    return substr(text, RSTART)
}

FNR == 1 { order[++files] = FILENAME }

/^#define CORDAGE_VERSION_(MAJOR|MINOR|PATCH) / { parts = (parts == "" ? "" : parts ".") $3 }
/^#define CORDAGE_VERSION_PATCH / { names(parts) }

FILENAME ~ /CHANGELOG\.md$/ {
    if (!found[FILENAME] && /^## / && $2 != "Unreleased") {
        names($2 ~ /,$/ ? substr($2, 1, length($2) - 1) : $2)
        date_in_changelog = $3
    }
    next
}
FILENAME ~ /CITATION\.cff$/ && /^version: / { names($2) }
FILENAME ~ /CITATION\.cff$/ && /^date-released: / {
    date_in_citation = $2
    citation = FILENAME ":" FNR
}
FILENAME ~ /\.(json|py)$/ && (number = number_after("^ *\"?version(-[a-z]+)?\"? *[:=] *\"", $0)) { names(number) }
FILENAME ~ /\.md$/ {
    if (number = number_after("GIT_TAG v?", $0)) names(number)
    if (number = number_after("find_package\\(cordage ", $0)) names(number == minor ? version : number)
    if (match($0, /cordage[ \/-]v?[0-9]+\.[0-9]+\.[0-9]+/)) names(number_after("", substr($0, RSTART, RLENGTH)))
}

BEGIN {
    minor = version
    sub(/\.[0-9]+$/, "", minor)
}
END {
    for (i = 1; i <= files; ++i) {
        if (!found[order[i]] && order[i] ~ /(version\.hpp|CHANGELOG\.md|CITATION\.cff)$/) {
            print order[i] ": must name the version, " version
            wrong = 1
        }
    }
    if (date_in_citation != date_in_changelog) {
        print citation ": date-released " date_in_citation " must be " date_in_changelog ", the date in CHANGELOG.md"
        wrong = 1
    }
    exit wrong
}
