#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares docs/names.md, the list of all public names, with the headers and with the programs of the pages.

Every listed name must be declared at namespace scope in its header, and be listed once. Every name of the library that a
program of a page or an example uses must be listed. `--write` makes the list of those names and of the listed ones.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "cordage"
PAGE = ROOT / "docs" / "names.md"
NAMESPACES = ("cordage", "cordage::hf", "cordage::aten", "cordage::dlpack", "cordage::ggml")
MOST = 330
KEYWORDS = {"int", "requires", "noexcept", "sizeof", "operator", "double", "float", "bool", "void"}


def without_comments(text):
    text = re.sub(r'"(\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', lambda m: '""' if m[0][0] == '"' else "", text, flags=re.S)
    return re.sub(r"^\s*#(\\\n|[^\n])*$", "", text, flags=re.M)


def declarations(text):
    """(namespace, text before its `{` or `;`) of every declaration at namespace scope."""
    scopes, begin = [], 0
    text = without_comments(text)
    for at in re.finditer(r"[{};]", text):
        before = " ".join(text[begin:at.start()].split())
        begin = at.end()
        is_outside = all(scope is not None for scope in scopes)
        if at[0] == "}":
            if scopes:  # programs of the pages may be parts
                scopes.pop()
            continue
        name = re.search(r"\bnamespace ([\w:]+)$", before)
        if at[0] == "{" and name:
            scopes.append(name[1])
            continue
        if is_outside:
            yield "::".join(scopes), before
        if at[0] == "{":
            scopes.append(None)


def without_template(text):
    while text.startswith("template <"):
        depth = 0
        for i, char in enumerate(text):
            depth += (char == "<") - (char == ">" and text[i - 1] != "-")
            if char == ">" and depth == 0:
                text = text[i + 1:].strip()
                break
        else:
            return ""
    return text


def name_of(declaration):
    text = without_template(declaration)
    if re.match(r"(using namespace|using \w+::|static_assert|friend|extern template)", text):
        return None
    for pattern in (r"(?:struct|class|enum class|union) (?:alignas\(\w+\) )?(\w+)", r"concept (\w+)", r"using (\w+) ="):
        if found := re.match(pattern, text):
            return found[1]
    call = re.search(r"(?<![\w:])(\w+) ?\(", re.sub(r"(requires|__attribute__|alignas|decltype|noexcept) ?\(", "", text))
    value = re.search(r"(\w+)(?:<[^=]*>)? (?==)|(\w+)$", text)
    if call and not (value and value[1] and value.start(1) < call.start(1)):
        return call[1]
    return (value[1] or value[2]) if value else None


def names_of_headers():
    """{name: [header, ...]} of the public namespaces; names of the inner ones as hf::read_config."""
    found = collections.defaultdict(list)
    for header in sorted(INCLUDE.rglob("*"), key=lambda path: (path.suffix != ".hpp", path)):
        if header.suffix not in (".hpp", ".cuh"):
            continue
        for namespace, declaration in declarations(header.read_text()):
            name = name_of(declaration) if namespace in NAMESPACES else None
            if not name or name in KEYWORDS or name[0].isdigit():
                continue
            name = f"{namespace}::{name}".removeprefix("cordage::")
            if (path := str(header.relative_to(INCLUDE))) not in found[name]:
                found[name].append(path)
    return found


def programs():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        if page.name not in ("CHANGELOG.md", "upgrading.md"):
            yield from re.findall(r"```cpp\n(.*?)```", page.read_text(), flags=re.S)
    for source in (ROOT / "examples").rglob("*"):
        if source.suffix in (".cpp", ".hpp", ".cu") and "tests" not in source.parts:
            yield source.read_text()


def used_names(known):
    """Names that programs spell as the library's: cordage::name, hf::name, or name< or name( of what they do not declare."""
    used = set()
    for program in programs():
        program = without_comments(program)
        own = {name for _, text in declarations(program) if (name := name_of(text))}
        calls = set(re.findall(r"(?<![\w.>:])(\w+)(?=[<({])", program)) if "cordage" in program else set()
        of_library = set(re.findall(r"(?<!\w)(?:cordage::)?((?:hf|aten|dlpack|ggml)::\w+)|\bcordage::(\w+)", program))
        used |= ((calls - own) | {name for both in of_library for name in both}) & known.keys()
    return used


def listed_names():
    rows = re.findall(r"^\| `([\w/.]+)` \| (.*) \|$", PAGE.read_text(), flags=re.M) if PAGE.exists() else []
    return [(name, header) for header, names in rows for name in re.findall(r"`([\w:]+)`", names)]


def main():
    known, listed = names_of_headers(), listed_names()
    used = used_names(known)
    if "--write" in sys.argv:
        rows = collections.defaultdict(list)
        for name in sorted(used | {name for name, _ in listed if name in known}):
            header = next((of for one, of in listed if one == name and of in known[name]), known[name][0])
            rows[header].append(name)
        table = "".join(f"| `{header}` | {', '.join(f'`{name}`' for name in rows[header])} |\n" for header in sorted(rows))
        head = PAGE.read_text().split("| header |")[0]
        PAGE.write_text(f"{head}| header | names |\n|---|---|\n{table}")
        print(f"{sum(map(len, rows.values()))} names")
        return 0
    faults = [f"{name}: {header} does not declare it" for name, header in listed if header not in known.get(name, [])]
    counts = collections.Counter(name for name, _ in listed)
    faults += [f"{name}: listed {count} times" for name, count in counts.items() if count > 1]
    faults += [f"{name} of {known[name][0]}: a page or an example uses it, but it is not listed"
               for name in sorted(used - counts.keys())]
    if len(listed) > MOST:
        faults.append(f"{len(listed)} names are public, must be at most {MOST}")
    print("\n".join(f"docs/names.md: {fault}" for fault in faults) or f"{len(listed)} public names")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
