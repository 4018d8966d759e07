# SPDX-License-Identifier: MIT
"""Checks every link of the repository's pages (*.md) that stays within it: files, folders and headings; every page that the
site names; every figure that names its source (check_figures.py); and every table that names its record
(write_performance.py).

    python3 docs/site/check_links.py    # in the repository's root; exit code 1 and a line for each that is wrong
"""
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import check_figures
import write_performance

LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")


def lines_of(page):
    """Numbered lines, those of code fences left out."""
    fence = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        mark = re.match(r" *(```+|~~~+)", line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark.group(1)
        elif not fence:
            yield number, line


def anchors_of(page, known={}):
    """The anchors of a page's headings, as GitHub and the site make them."""
    if page not in known:
        known[page], count = set(), {}
        for _, line in lines_of(page):
            if heading := re.match(r"#{1,6} +(.*?) *#* *$", line):
                words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
                slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
                seen = count[slug] = count.get(slug, -1) + 1
                known[page].add(slug if seen == 0 else f"{slug}-{seen}")
    return known[page]


def what_is_wrong(page, link):
    if re.match(r"[a-z]+:", link):
        return ""
    path, _, anchor = link.partition("#")
    target = (page.parent / unquote(path)).resolve() if path else page.resolve()
    if not target.exists():
        return "no such file or folder"
    if not target.is_relative_to(Path.cwd()):
        return "leads out of the repository"
    if anchor and target.suffix == ".md" and unquote(anchor) not in anchors_of(target):
        return f"no heading '#{anchor}' in {target.relative_to(Path.cwd())}"
    return ""


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            capture_output=True, text=True, check=True).stdout.split()
    wrong = count = figures = tables = 0
    for page in filter(Path.exists, map(Path, listed)):
        text = page.read_text(encoding="utf-8")
        try:
            tables += len(write_performance.MARKED.findall(text))
            if write_performance.with_tables(text) != text:
                print(f"{page}: a table differs from its record; write it by docs/site/write_performance.py {page}")
                wrong += 1
        except (LookupError, OSError) as failure:
            print(f"{page}: a table's record: {failure!r}")
            wrong += 1
        for number, line in lines_of(page):
            for link in LINK.findall(re.sub(r"`[^`]*`", "``", line)):
                count += 1
                if reason := what_is_wrong(page, link):
                    print(f"{page}:{number}: link to {link}: {reason}")
                    wrong += 1
            for figure in check_figures.figures_of(line):
                figures += 1
                if reason := check_figures.what_is_wrong(*figure):
                    print(f"{page}:{number}: figure {reason}")
                    wrong += 1
    site = Path("docs/site/mkdocs.yml")
    for page in re.findall(r": (\S+\.md)$", site.read_text(encoding="utf-8"), re.MULTILINE):
        count += 1
        if not (Path("docs") / page).exists():
            print(f"{site}: no page docs/{page}")
            wrong += 1
    print(f"{len(listed)} pages, {count} links, {figures} figures, {tables} tables, {wrong} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
