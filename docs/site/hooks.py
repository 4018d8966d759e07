# SPDX-License-Identifier: MIT
"""mkdocs' hooks: a link to a file outside docs/ leads to a page made of that file, so that the site is whole."""
import posixpath
import re
import subprocess
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".cuh": "cpp", ".cu": "cpp", ".py": "python", ".json": "json", ".sh": "bash",
             ".cmake": "cmake", ".toml": "toml", ".cff": "yaml"}
LONGEST = 100_000  # characters of a file that is shown


def outside_fences(markdown, change):
    """The page with `change` applied to each of its links, code left alone."""
    out, end = [], 0
    for fence in FENCE.finditer(markdown):
        out += [LINK.sub(change, markdown[end:fence.start()]), fence.group()]
        end = fence.end()
    return "".join(out + [LINK.sub(change, markdown[end:])])


def is_external(link):
    return link.startswith("#") or re.match(r"[a-z]+:", link)


def page_of(path):
    """Where a file or folder of the repository stands in the site."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def with_links_of_site(markdown, path, seen):
    """A page of the repository with its links as the site needs them; what lies outside docs/ is added to seen."""
    here = posixpath.dirname(page_of(path))

    def change(match):
        link, _, anchor = match.group(2).partition("#")
        if is_external(match.group(2)):
            return match.group()
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
        if not target.startswith("docs/"):
            seen.append(target)
        there = posixpath.relpath(page_of(target), here or ".")
        return match.group(1) + there + ("#" + anchor if anchor else "") + match.group(3)

    return outside_fences(markdown, change)


def shown(path, seen):
    """The page of a file or folder outside docs/."""
    where = ROOT / path
    hidden = "---\nsearch:\n  exclude: true\n---\n"
    if where.is_dir():
        listed = subprocess.run(["git", "ls-files", path], cwd=ROOT, capture_output=True, text=True, check=True)
        up = posixpath.dirname(path) or "."
        rows = [f"- [{posixpath.relpath(name, path)}]({posixpath.relpath(name, up)})" for name in listed.stdout.split()]
        return hidden + with_links_of_site(f"# {path}\n\n" + "\n".join(rows), path, seen)
    text = where.read_text(encoding="utf-8", errors="replace")
    if path.endswith(".md"):
        return hidden + with_links_of_site(text, path, seen)
    if len(text) > LONGEST:
        return f"{hidden}# {path}\n\n{len(text)} characters, not shown here.\n"
    fence = "`" * 8  # longer than any within the file
    return f"{hidden}# {path}\n\n{fence}{LANGUAGES.get(where.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def on_files(files, config):
    seen = []
    for file in files.documentation_pages():
        with_links_of_site(file.content_string, f"docs/{file.src_uri}", seen)
    made = set()
    while seen:
        path = seen.pop()
        if path not in made and (ROOT / path).exists():
            made.add(path)
            files.append(File.generated(config, page_of(path), content=shown(path, seen)))
    # Doxygen writes its pages after mkdocs.
    files.append(File.generated(config, "api/index.html", content=""))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri.startswith("source/"):
        return markdown
    return with_links_of_site(markdown, f"docs/{page.file.src_uri}", [])
