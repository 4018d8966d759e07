# SPDX-License-Identifier: MIT
"""The commands, the program and its output in a section of docs/engines.md, for the tests that run them. What a page installs
is not fetched again: it is taken out of the environment that runs the test."""
import re
import shlex
import sys
import tomllib
import venv
from importlib.metadata import Distribution, PackagePath, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent.parent


def fences_of(section: str) -> list[tuple[str, str]]:
    """Language and text of the section's fences."""
    text = (ROOT / "docs/engines.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"```(\w+)\n(.*?)```", text, re.S)


def example_of(section: str) -> tuple[str, str]:
    """The program of the section and what it prints."""
    fences = dict(fences_of(section))
    return fences["python"], fences["text"]


def commands_of(section: str) -> str:
    """The section's first fence of commands."""
    return next(text for language, text in fences_of(section) if language == "sh")


def environment_of(commands: str, folder: Path) -> str:
    """The python of a new environment in `folder` with what the lines `pip install` name, what that depends on, and nothing
    else. A ValueError names the line that asks for another version than the tested one or for what is not there."""
    found: dict[tuple[str, str], Distribution] = {}
    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        try:
            for requirement in requirements(words[2:]) if words[:2] == ["pip", "install"] else []:
                add(requirement, found, "--no-deps" not in words)
        except (ValueError, LookupError, OSError, ImportError) as wrong:
            raise ValueError(f"{line}\n{wrong}") from wrong
    venv.create(folder, with_pip=False)
    packages = folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    names = {name for name, _ in found}
    others = {path.parts[0] for one in distributions() if canonicalize_name(one.name) not in names for path in one.files or []}
    for one in found.values():
        for path in one.files or []:
            whole = path if path.parts[0] in others else PackagePath(path.parts[0])  # a folder of several packages, or of these
            there = packages / whole
            if path.parts[0] != ".." and not there.is_symlink():  # "..": programs
                there.parent.mkdir(parents=True, exist_ok=True)
                there.symlink_to(one.locate_file(whole))
    return str(folder / "bin/python")


def requirements(words: list[str]) -> list[Requirement]:
    """Those of pip install's arguments."""
    found, words = [], iter(words)
    for word in words:
        if word == "-r":
            lines = (ROOT / next(words)).read_text().splitlines()
            found += [Requirement(line) for line in lines if line and not line.startswith("#")]
        elif word.startswith("./"):
            name = tomllib.loads((ROOT / word / "pyproject.toml").read_text())["project"]["name"]
            found.append(Requirement(name))
        elif word != "--no-deps":
            found.append(Requirement(word))  # raises for other options
    return found


def add(requirement: Requirement, found: dict[tuple[str, str], Distribution], with_dependencies: bool) -> None:
    """Into `found`, by name and extra."""
    one = distribution(requirement.name)
    if not requirement.specifier.contains(one.version, prereleases=True):
        raise ValueError(f"{requirement.name} must be {requirement.specifier}, and {one.version} is what was tested")
    for extra in {"", *requirement.extras}:
        key = canonicalize_name(requirement.name), extra
        if key in found:
            continue
        found[key] = one
        for needed in map(Requirement, one.requires or [] if with_dependencies else []):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                add(needed, found, True)


def debian_packages(commands: str) -> set[str]:
    """Of the lines `apt install`."""
    lines = (shlex.split(line, comments=True) for line in commands.splitlines())
    return {package for words in lines if words[:2] == ["apt", "install"] for package in words[2:]}


def needed_packages() -> set[str]:
    """What ./run installs of Debian before it compiles cordage_torch, but for Python itself and what ./run alone calls."""
    named = re.search(r"^hosts_packages=\((.*?)\)", (ROOT / "tests/run/python.sh").read_text(), re.M)[1].split()
    return set(named) - {"cmake", "python3", "python3-venv"}
