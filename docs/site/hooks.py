# SPDX-License-Identifier: MIT
"""mkdocs' hooks. A link to a file outside docs/ leads to a page made of that file, so that the site is whole. Formulas, $...$
in a line or a ```math fence, as GitHub reads them, become MathML when the site is built."""
import posixpath
import re
import subprocess
from pathlib import Path

from latex2mathml.converter import convert
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".cuh": "cpp", ".cu": "cpp", ".py": "python", ".json": "json", ".sh": "bash",
             ".cmake": "cmake", ".toml": "toml", ".cff": "yaml"}
LONGEST = 100_000  # characters of a file that is shown
FUNCTION = r"(?:<msub>)?<mi>(?:ln|log|exp|sin|cos|tanh)</mi>(?:<mi>\w+</mi></msub>)?"
BEFORE_FUNCTION = re.compile(rf"(</(?:mi|mn|mtext|msub)>)(?={FUNCTION})")
AFTER_FUNCTION = re.compile(rf"({FUNCTION})(?!<mo|</)")
THIN_SPACE = r'\1<mspace width="0.167em" />'


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


def formula(source, display="inline"):
    """MathML, with thin spaces around the names of functions, which latex2mathml leaves out."""
    return AFTER_FUNCTION.sub(THIN_SPACE, BEFORE_FUNCTION.sub(THIN_SPACE, convert(source, display=display)))


def formula_of_fence(source, language, css_class, options, md, **kwargs):
    return formula(source.strip(), "block")


class InlineFormula(InlineProcessor):
    def handleMatch(self, match, data):
        return self.md.htmlStash.store(formula(match.group(1))), match.start(0), match.end(0)


class Formulas(Extension):
    def extendMarkdown(self, md):
        # Before escapes and emphasis, after code.
        md.inlinePatterns.register(InlineFormula(r"\$([^$\n]+?)\$", md), "formula", 185)


def on_config(config):
    config.markdown_extensions.append(Formulas())
    config.mdx_configs["pymdownx.superfences"] = {
        "custom_fences": [{"name": "math", "class": "math", "format": formula_of_fence}]}
    return config


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
